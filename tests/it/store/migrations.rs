//! The schema: made once, by however many processes at the same instant.

use std::fs;
use std::path::Path;

use assent::config::DatabaseConfig;
use assent::store::{Schema, Store};
use futures_util::future::join_all;

use crate::support::database::{Kind, on_both_databases};

/// How many migrations a database of this kind gets.
fn migrations(kind: Kind) -> usize {
    let own = match kind {
        Kind::Sqlite => "sqlite",
        Kind::Postgres => "postgres",
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    ["common", own].map(|folder| fs::read_dir(root.join(folder)).unwrap().count()).iter().sum()
}

on_both_databases! {
    #[empty]
    async fn what_is_missing_is_counted_and_then_there(db: Database) {
        assert_eq!(db.schema().await.unwrap(), Schema::Behind(migrations(db.kind)));
        assert!(db.ping().await.is_err());
        db.migrate().await.unwrap();
        assert_eq!(db.schema().await.unwrap(), Schema::Current);
        db.ping().await.unwrap();
    }

    #[empty]
    async fn migrating_again_changes_nothing(db: Database) {
        db.migrate().await.unwrap();
        db.with_directory().await;
        let before = db.contents().await;
        db.migrate().await.unwrap();
        assert_eq!(db.contents().await, before);
        assert_eq!(db.schema().await.unwrap(), Schema::Current);
    }

    #[empty]
    async fn nodes_that_migrate_at_the_same_instant_do_not_disturb_each_other(db: Database) {
        let bounds = DatabaseConfig::default();
        let stores = join_all((0..4).map(|_| Store::open(&db.url, &bounds))).await;
        let stores: Vec<Store> = stores.into_iter().map(Result::unwrap).collect();
        for migrated in join_all(stores.iter().map(Store::migrate)).await {
            migrated.unwrap();
        }
        assert_eq!(db.schema().await.unwrap(), Schema::Current);
        db.with_directory().await;
        for store in stores {
            store.close().await;
        }
    }

    #[empty]
    async fn a_database_of_a_newer_version_is_refused(db: Database) {
        db.migrate().await.unwrap();
        db.statement(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
            SELECT 9999, description, success, checksum, execution_time FROM _sqlx_migrations WHERE version = 1",
        )
        .await
        .unwrap();
        let before = db.contents().await;
        assert_eq!(db.schema().await.unwrap(), Schema::Ahead);
        assert!(!db.migrate().await.unwrap_err().is_passing());
        assert_eq!(db.contents().await, before);
    }
}
