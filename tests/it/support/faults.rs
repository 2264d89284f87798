//! Databases that fail in the middle of a unit of work, as one on a full disk does; and ones that are gone.

use sqlx::{Connection as _, Executor as _, PgConnection, Postgres, QueryBuilder, Sqlite, SqliteConnection};
use url::Url;

use super::database::{Database, Kind};

/// What a write meets, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// A full disk, at once: the codes are those with which the two databases say so themselves.
    Full,
    /// Nothing until the transaction commits: then PostgreSQL has a full disk, and SQLite, which has no trigger for that
    /// moment, a row that refers to nothing.
    AtCommit,
}

impl Fault {
    /// What makes `write` fail, and what mends it.
    fn statements(self, kind: Kind, write: &str) -> (Vec<String>, Vec<String>) {
        let table = write.rsplit(' ').next().unwrap();
        let text = |statements: &[&str]| statements.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        match kind {
            Kind::Sqlite => {
                let (mut make, row) = match self {
                    // Above the largest row id there is no room (SQLITE_FULL).
                    Self::Full => {
                        let table = "CREATE TABLE fault (id INTEGER PRIMARY KEY AUTOINCREMENT)";
                        (text(&[table, "INSERT INTO fault VALUES (9223372036854775807)"]), "(id) VALUES (NULL)")
                    }
                    Self::AtCommit => {
                        let refers = "INTEGER REFERENCES fault (id) DEFERRABLE INITIALLY DEFERRED";
                        let table = format!("CREATE TABLE fault (id INTEGER PRIMARY KEY, other {refers})");
                        (vec![table], "(other) VALUES (0)")
                    }
                };
                make.push(format!("CREATE TRIGGER faulty AFTER {write} BEGIN INSERT INTO fault {row}; END"));
                (make, text(&["DROP TRIGGER faulty", "DROP TABLE fault"]))
            }
            Kind::Postgres => {
                let raise = "BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END";
                let function =
                    format!("CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS '{}'", quoted(raise));
                let (constraint, deferred) = match self {
                    Self::Full => ("", ""),
                    Self::AtCommit => (" CONSTRAINT", " DEFERRABLE INITIALLY DEFERRED"),
                };
                let trigger = format!(
                    "CREATE{constraint} TRIGGER faulty AFTER {write}{deferred} FOR EACH ROW EXECUTE FUNCTION fault()"
                );
                (
                    vec![function, trigger],
                    vec![format!("DROP TRIGGER faulty ON {table}"), "DROP FUNCTION fault".to_owned()],
                )
            }
        }
    }
}

fn quoted(text: &str) -> String {
    text.replace('\'', "''")
}

impl Database {
    /// Runs `ask` while each `write`, such as `UPDATE ON turn`, meets `fault`.
    pub(crate) async fn with_fault<T>(&self, fault: Fault, write: &str, ask: impl AsyncFnOnce() -> T) -> T {
        let (make, mend) = fault.statements(self.kind, write);
        self.alter(&make).await;
        let answer = ask().await;
        self.alter(&mend).await;
        answer
    }

    async fn alter(&self, statements: &[String]) {
        match self.kind {
            Kind::Sqlite => {
                let mut connection = SqliteConnection::connect(&self.url).await.unwrap();
                for sql in statements {
                    QueryBuilder::<Sqlite>::new(sql).build().persistent(false).execute(&mut connection).await.unwrap();
                }
                connection.close().await.unwrap();
            }
            Kind::Postgres => {
                let mut connection = PgConnection::connect(&self.url).await.unwrap();
                for sql in statements {
                    QueryBuilder::<Postgres>::new(sql)
                        .build()
                        .persistent(false)
                        .execute(&mut connection)
                        .await
                        .unwrap();
                }
                connection.close().await.unwrap();
            }
        }
    }

    /// Runs `ask` while somebody else holds what `table` is written with: all of SQLite, this table of PostgreSQL.
    pub(crate) async fn locked<T>(&self, table: &str, ask: impl AsyncFnOnce() -> T) -> T {
        match self.kind {
            Kind::Sqlite => {
                let mut other = SqliteConnection::connect(&self.url).await.unwrap();
                other.execute("BEGIN IMMEDIATE").await.unwrap();
                let answer = ask().await;
                other.close().await.unwrap();
                answer
            }
            Kind::Postgres => {
                let mut other = PgConnection::connect(&self.url).await.unwrap();
                other.execute("BEGIN").await.unwrap();
                let lock = format!("LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE");
                QueryBuilder::<Postgres>::new(lock).build().execute(&mut other).await.unwrap();
                let answer = ask().await;
                other.close().await.unwrap();
                answer
            }
        }
    }

    /// The same database, whose PostgreSQL gives up on a lock after a tenth of a second and is entered with `password`
    /// where it asks for none. SQLite waits for its five seconds, and has no password.
    pub(crate) fn hasty(mut self, password: &str) -> Self {
        if self.kind == Kind::Postgres {
            let mut url = Url::parse(&self.url).unwrap();
            if url.password().is_none() {
                url.set_password(Some(password)).unwrap();
            }
            url.query_pairs_mut().append_pair("options[lock_timeout]", "100");
            self.url = url.into();
        }
        self
    }

    /// Takes the database away from whoever has it open: PostgreSQL ends all connections and admits no more; SQLite's file
    /// is in this process, so that its pools are closed.
    pub(crate) async fn take_away(&self, store: &assent::store::Store) {
        if self.kind == Kind::Sqlite {
            return store.close().await;
        }
        let mut server = Url::parse(&self.url).unwrap();
        let name = server.path().trim_start_matches('/').to_owned();
        server.set_path("postgres");
        let mut admin = PgConnection::connect(server.as_str()).await.unwrap();
        for sql in [
            format!("ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false"),
            format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"),
        ] {
            QueryBuilder::<Postgres>::new(sql).build().persistent(false).execute(&mut admin).await.unwrap();
        }
        admin.close().await.unwrap();
    }
}
