//! Faults: which ones pass by waiting, and which row is to blame.

use assent::config::DatabaseConfig;
use assent::domain::administrator::Reach;
use assent::domain::audit::Action;
use assent::domain::page::{Direction, Paging};
use assent::store::{GrantSort, Opens, SignIn, SignedIn, Store, StoreError};
use sqlx::{Connection as _, Executor as _, PgConnection, SqliteConnection};

use crate::support::build::{NOW, after, caller, entry, jane, message, reserve, shop};
use crate::support::database::{Kind, on_both_databases};

/// What an error says of the row that it names.
fn named(error: StoreError) -> (&'static str, String) {
    assert!(!error.is_passing());
    match error {
        StoreError::Inconsistent { table, key } => (table, key),
        other => panic!("{other}"),
    }
}

on_both_databases! {
    async fn a_store_says_which_database_it_is_and_that_it_lives(db: Database) {
        db.ping().await.unwrap();
        let expected = if db.kind == Kind::Sqlite { "sqlite" } else { "postgres" };
        assert_eq!(db.store.kind(), expected);
    }

    async fn a_closed_store_is_a_passing_fault(db: Database) {
        db.close().await;
        assert!(db.ping().await.unwrap_err().is_passing());
        assert!(db.record(&entry(Action::SignedIn)).await.unwrap_err().is_passing());
    }

    async fn a_locked_database_is_a_passing_fault_and_nothing_was_done(db: Database) {
        let fault = match db.kind {
            Kind::Sqlite => {
                let mut other = SqliteConnection::connect(&db.url).await.unwrap();
                other.execute("BEGIN IMMEDIATE").await.unwrap();
                let fault = db.record(&entry(Action::SignedIn)).await.unwrap_err();
                other.close().await.unwrap();
                fault
            }
            Kind::Postgres => {
                let hasty = Store::open(&format!("{}?options[lock_timeout]=100", db.url), &DatabaseConfig::default()).await.unwrap();
                let mut other = PgConnection::connect(&db.url).await.unwrap();
                other.execute("BEGIN; LOCK TABLE audit_head IN ACCESS EXCLUSIVE MODE").await.unwrap();
                let fault = hasty.record(&entry(Action::SignedIn)).await.unwrap_err();
                other.close().await.unwrap();
                hasty.close().await;
                fault
            }
        };
        assert!(fault.is_passing(), "{fault}");
        assert_eq!(db.count("SELECT digest FROM audit").await, 0);
        db.record(&entry(Action::SignedIn)).await.unwrap();
    }

    async fn what_the_schema_refuses_does_not_pass_by_waiting(db: Database) {
        // No Brand is there for the code to belong to.
        let device = db.build.device();
        let new = assent::store::NewDeviceAuthorization {
            most_live: 20,
            device: &device,
            device_code: Some(db.build.digest()),
            user_code: db.build.digest(),
        };
        let before = db.contents().await;
        let refused = db.create_device_authorization(&new).await.unwrap_err();
        assert!(!refused.is_passing(), "{refused}");
        assert_eq!(db.contents().await, before);
    }

    async fn an_inconsistent_device_authorization_is_named(db: Database) {
        db.with_directory().await;
        let device = db.requested().await;
        db.statement("UPDATE device_authorization SET scopes = 'a\"b'").await.unwrap();
        let expected = ("device_authorization", device.id.to_string());
        assert_eq!(named(db.device(device.id).await.unwrap_err()), expected);
    }

    async fn an_inconsistent_grant_is_named(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        db.statement("UPDATE delegation_grant SET pa_sub = ''").await.unwrap();
        let expected = ("delegation_grant", grant.id.to_string());
        assert_eq!(named(db.grant(&grant.id).await.unwrap_err()), expected);
        let all = assent::store::GrantFilter::default();
        let paging = Paging::new(GrantSort::Created, Direction::Descending, 10, None).unwrap();
        assert_eq!(named(db.grants(&all, &Reach::All, &paging, NOW).await.unwrap_err()), expected);
    }

    async fn an_inconsistent_session_or_page_is_named_by_its_code(db: Database) {
        db.with_directory().await;
        let device = db.requested().await;
        let (session_digest, page_digest) = (db.build.digest(), db.build.digest());
        let signed_in = db
            .sign_in(&SignIn {
                jti: ("assertion-1", after(600)),
                session: (session_digest, &db.build.session(&device, &jane())),
                opens: Opens::Page(page_digest, &db.build.page(&device, &jane(), None)),
                entry: &entry(Action::SignedIn),
            })
            .await;
        assert_eq!(signed_in.unwrap(), SignedIn::Done);
        db.statement("UPDATE browser_session SET assertion = '{'").await.unwrap();
        db.statement("UPDATE consent_page SET shown = '{}'").await.unwrap();
        let session = db.browser_session(&shop().id, session_digest, NOW).await.unwrap_err();
        assert_eq!(named(session), ("browser_session", device.id.to_string()));
        let page = db.consent_page(&shop().id, page_digest).await.unwrap_err();
        assert_eq!(named(page), ("consent_page", device.id.to_string()));
    }

    async fn an_inconsistent_family_is_named(db: Database) {
        db.with_directory().await;
        let (_, family, tokens) = db.redeemed_by(&jane()).await;
        db.statement(
            "INSERT INTO delegation_grant (id, brand_id, brand_user, pa_issuer, pa_sub, scopes, version, created_at,
                decided_at, expires_at, state, ended_at, ended_by)
            SELECT 'no-grant-id', brand_id, brand_user, pa_issuer, pa_sub, scopes, 1, 0, 0, 0, 'ended', 0, 'user'
            FROM delegation_grant",
        )
        .await
        .unwrap();
        db.statement("UPDATE refresh_family SET grant_id = 'no-grant-id'").await.unwrap();
        let error = db.refresh_token(tokens.refresh).await.unwrap_err();
        assert_eq!(named(error), ("refresh_family", family.to_string()));
    }

    async fn an_inconsistent_context_or_turn_is_named(db: Database) {
        db.with_directory().await;
        let (brand, caller, first) = (shop().id, caller(), message("m-1"));
        let context = db.build.context();
        let choice = assent::store::ContextChoice::New(context);
        db.running(&reserve(&brand, &caller, choice, &first, None, NOW)).await;
        let impossible = db.statement("UPDATE turn SET state = 'released'").await.unwrap_err();
        assert!(impossible.to_lowercase().contains("check"), "{impossible}");
        let grant = db.approved_by(&jane()).await.1;
        db.statement(
            "UPDATE turn SET state = 'step_up', lease_until = NULL, reply = '', missing_scopes = 'y',
            device_authorization_id = 'x'",
        )
        .await
        .unwrap();
        let here = assent::store::ContextChoice::Existing(context);
        let authority = crate::support::build::authority(&grant);
        let again = reserve(&brand, &caller, here, &first, Some(&authority), NOW);
        assert_eq!(named(db.reserve_turn(&again).await.unwrap_err()), ("turn", "m-1".to_owned()));
        db.statement("UPDATE context SET brand_user = '', grant_id = (SELECT id FROM delegation_grant)").await.unwrap();
        assert_eq!(named(db.reserve_turn(&again).await.unwrap_err()), ("context", context.to_string()));
    }

    async fn an_inconsistent_row_of_the_directory_is_named(db: Database) {
        db.with_directory().await;
        let agent = crate::support::build::other_agent().issuer.to_string();
        db.statement("UPDATE personal_agent SET jwks_uri = 'x' WHERE issuer = 'https://other.example.com'")
            .await
            .unwrap();
        assert_eq!(named(db.directory().await.unwrap_err()), ("personal_agent", agent));
        db.statement("UPDATE brand SET profile = '{}' WHERE name = 'Example Shop'").await.unwrap();
        assert_eq!(named(db.directory().await.unwrap_err()), ("brand", shop().id.to_string()));
    }
}

#[test]
fn an_address_of_neither_database_is_refused() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for wrong in ["mysql://localhost/assent", "assent.db", ""] {
        let refused = runtime.block_on(Store::open(wrong, &DatabaseConfig::default())).unwrap_err();
        assert!(matches!(refused, StoreError::UnknownDatabase), "{wrong}: {refused}");
        assert!(!refused.is_passing());
    }
}
