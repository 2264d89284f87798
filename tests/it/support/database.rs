//! A database of its own for each storage test: a file of SQLite, or a database on a PostgreSQL server.
//!
//! `ASSENT_TEST_POSTGRES` names the server, as an address of a user who may create databases. A storage test without one
//! fails: the two databases are tested alike or not at all. `ASSENT_STORAGE_TEST_LOG` names a file that each test adds
//! its line to, so that a run can count them.

use std::fs;
use std::io::Write as _;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::path::Path;

use assent::config::DatabaseConfig;
use assent::crypto::seal::MasterKey;
use assent::entropy::Entropy;
use assent::store::Store;
use futures_util::FutureExt as _;
use sqlx::{Connection as _, PgConnection, Postgres, QueryBuilder, query, query_scalar};
use tempfile::TempDir;
use url::Url;

use super::build::Build;
use super::world::MASTER_KEY;

/// Makes two tests of one: `on_both_databases! { async fn a_spent_code_is_refused(db: Database) { … } }` becomes
/// `a_spent_code_is_refused::sqlite` and `a_spent_code_is_refused::postgres`. `#[empty]` before it asks for a database
/// that was not migrated.
macro_rules! on_both_databases {
    ($(async fn $name:ident($db:ident: Database) $body:block)*) => {
        $(on_both_databases!(@one Migrated $name $db $body);)*
    };
    ($(#[empty] async fn $name:ident($db:ident: Database) $body:block)*) => {
        $(on_both_databases!(@one Empty $name $db $body);)*
    };
    (@one $start:ident $name:ident $db:ident $body:block) => {
        async fn $name($db: $crate::support::database::Database) $body

        mod $name {
            use $crate::support::database::{Kind, Start, test};

            #[test]
            fn sqlite() {
                test(module_path!(), Kind::Sqlite, Start::$start, super::$name);
            }

            #[test]
            fn postgres() {
                test(module_path!(), Kind::Postgres, Start::$start, super::$name);
            }
        }
    };
}

pub(crate) use on_both_databases;

/// Which database.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
}

/// Whether the schema is there when a test begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Start {
    Migrated,
    Empty,
}

/// A database that is there for one test.
#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) store: Store,
    pub(crate) kind: Kind,
    pub(crate) url: String,
    /// Values for this test, the same in each run.
    pub(crate) build: Build,
}

impl Deref for Database {
    type Target = Store;
    fn deref(&self) -> &Store {
        &self.store
    }
}

/// What removes a database once its test has ended.
enum Remains {
    Directory(TempDir),
    OnServer { server: Url, name: String },
}

/// Runs `body` on a database of its own, which goes afterwards whatever happens.
pub(crate) fn test<F>(module: &str, kind: Kind, start: Start, body: impl FnOnce(Database) -> F)
where
    F: Future<Output = ()>,
{
    announce(module, kind);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let outcome = runtime.block_on(async {
        let (url, remains) = match kind {
            Kind::Sqlite => on_file(),
            Kind::Postgres => on_server(start).await,
        };
        let store = Store::open(&url, &DatabaseConfig::default()).await.unwrap();
        let store = store.sealing_with(MasterKey::parse(MASTER_KEY).unwrap().audit_key().clone());
        if kind == Kind::Sqlite && start == Start::Migrated {
            store.migrate().await.unwrap();
        }
        let database = Database { store: store.clone(), kind, url, build: Build::default() };
        let outcome = AssertUnwindSafe(body(database)).catch_unwind().await;
        store.close().await;
        match remains {
            Remains::Directory(directory) => directory.close().unwrap(),
            Remains::OnServer { server, name } => {
                let mut admin = PgConnection::connect(server.as_str()).await.unwrap();
                statement(&mut admin, format!("DROP DATABASE {name} WITH (FORCE)")).await;
            }
        }
        outcome
    });
    if let Err(panic) = outcome {
        resume_unwind(panic);
    }
}

fn announce(module: &str, kind: Kind) {
    let name = module.rsplit("::").next().unwrap();
    let database = match kind {
        Kind::Sqlite => "sqlite",
        Kind::Postgres => "postgres",
    };
    let line = format!("storage test {name} on {database}");
    println!("{line}");
    if let Some(path) = std::env::var_os("ASSENT_STORAGE_TEST_LOG") {
        let mut log = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        log.write_all(format!("{line}\n").as_bytes()).unwrap();
    }
}

fn on_file() -> (String, Remains) {
    // In memory, where there is a file system for that: nothing here outlives its test.
    let memory = Path::new("/dev/shm");
    let directory = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    let directory = directory.unwrap();
    let path = directory.path().join("assent.db");
    (format!("sqlite://{}", path.display()), Remains::Directory(directory))
}

async fn on_server(start: Start) -> (String, Remains) {
    let server = std::env::var_os("ASSENT_TEST_POSTGRES").expect(
        "storage tests run on both databases: start them with tests/run, or name a PostgreSQL server in \
         ASSENT_TEST_POSTGRES",
    );
    let server = Url::parse(server.to_str().unwrap()).unwrap();
    let name = format!("assent_test_{}", Entropy::operating_system().uuid().simple());
    let mut admin = PgConnection::connect(server.as_str()).await.unwrap();
    let template = match start {
        Start::Migrated => template(&mut admin, &server).await,
        Start::Empty => "template0".to_owned(),
    };
    statement(&mut admin, format!("CREATE DATABASE {name} TEMPLATE {template}")).await;
    (with_name(&server, &name), Remains::OnServer { server, name })
}

/// The name of a migrated database, which the first test of all processes makes.
async fn template(admin: &mut PgConnection, server: &Url) -> String {
    const LOCK: i64 = 0x6173_7365_6e74;
    let name = format!("assent_template_{}", migrations_digest());
    query("SELECT pg_advisory_lock($1)").bind(LOCK).execute(&mut *admin).await.unwrap();
    let there: i64 = query_scalar("SELECT COUNT(*) FROM pg_database WHERE datname = $1")
        .bind(&name)
        .fetch_one(&mut *admin)
        .await
        .unwrap();
    if there == 0 {
        // It gets its name when it is whole: a process that dies half-way leaves no half template.
        let unfinished = format!("{name}_unfinished");
        statement(admin, format!("DROP DATABASE IF EXISTS {unfinished} WITH (FORCE)")).await;
        statement(admin, format!("CREATE DATABASE {unfinished} TEMPLATE template0")).await;
        let store = Store::open(&with_name(server, &unfinished), &DatabaseConfig::default()).await.unwrap();
        store.migrate().await.unwrap();
        store.close().await;
        statement(admin, format!("ALTER DATABASE {unfinished} RENAME TO {name}")).await;
    }
    query("SELECT pg_advisory_unlock($1)").bind(LOCK).execute(&mut *admin).await.unwrap();
    name
}

/// Twelve digits that change with any migration.
fn migrations_digest() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    let mut files: Vec<_> = ["common", "postgres"]
        .into_iter()
        .flat_map(|folder| fs::read_dir(root.join(folder)).unwrap())
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let mut hash = openssl::sha::Sha256::new();
    for file in files {
        hash.update(&fs::read(file).unwrap());
    }
    hash.finish().iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

fn with_name(server: &Url, name: &str) -> String {
    let mut url = server.clone();
    url.set_path(name);
    url.into()
}

async fn statement(admin: &mut PgConnection, sql: String) {
    QueryBuilder::<Postgres>::new(sql).build().persistent(false).execute(admin).await.unwrap();
}
