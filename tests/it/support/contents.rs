//! Looking at a database past the store: what is in its tables, and what its triggers refuse.

use sqlx::{Column as _, Connection as _, Executor as _, PgConnection, Row as _, SqliteConnection};

use super::database::{Database, Kind};

/// All tables of the schema.
const TABLES: [&str; 24] = [
    "SELECT * FROM directory_revision",
    "SELECT * FROM brand",
    "SELECT * FROM personal_agent",
    "SELECT * FROM signing_key",
    "SELECT * FROM delegation_grant",
    "SELECT * FROM device_authorization",
    "SELECT * FROM refresh_family",
    "SELECT * FROM refresh_token",
    "SELECT * FROM assertion_jti",
    "SELECT * FROM browser_session",
    "SELECT * FROM consent_page",
    "SELECT * FROM grants_page",
    "SELECT * FROM consent_evidence",
    "SELECT * FROM context",
    "SELECT * FROM turn",
    "SELECT * FROM receipt",
    "SELECT * FROM audit",
    "SELECT * FROM audit_head",
    "SELECT * FROM administrator",
    "SELECT * FROM administrator_session",
    "SELECT * FROM api_key",
    "SELECT * FROM api_idempotency",
    "SELECT * FROM resource_server_key",
    "SELECT * FROM event",
];

/// One row as `column=value` words.
macro_rules! written {
    ($row:expr) => {
        $row.columns()
            .iter()
            .map(|column| {
                let index = column.ordinal();
                let value = if let Ok(text) = $row.try_get::<Option<String>, _>(index) {
                    text
                } else if let Ok(number) = $row.try_get::<Option<i64>, _>(index) {
                    number.map(|number| number.to_string())
                } else {
                    $row.try_get::<Option<bool>, _>(index).unwrap().map(|flag| flag.to_string())
                };
                format!("{}={}", column.name(), value.unwrap_or_else(|| "NULL".to_owned()))
            })
            .collect::<Vec<_>>()
            .join(" ")
    };
}

impl Database {
    /// The rows that a query finds, each as `column=value` words.
    pub(crate) async fn rows(&self, sql: &'static str) -> Vec<String> {
        self.tables(&[sql]).await.remove(0)
    }

    /// The rows that each of these queries finds, over one connection.
    async fn tables(&self, queries: &[&'static str]) -> Vec<Vec<String>> {
        let mut found = Vec::new();
        match self.kind {
            Kind::Sqlite => {
                let mut connection = SqliteConnection::connect(&self.url).await.unwrap();
                for sql in queries {
                    let rows = connection.fetch_all(*sql).await.unwrap();
                    found.push(rows.iter().map(|row| written!(row)).collect());
                }
                connection.close().await.unwrap();
            }
            Kind::Postgres => {
                let mut connection = PgConnection::connect(&self.url).await.unwrap();
                for sql in queries {
                    let rows = connection.fetch_all(*sql).await.unwrap();
                    found.push(rows.iter().map(|row| written!(row)).collect());
                }
                connection.close().await.unwrap();
            }
        }
        found
    }

    /// How many rows a query finds.
    pub(crate) async fn count(&self, sql: &'static str) -> usize {
        self.rows(sql).await.len()
    }

    /// Runs a statement past the store; how many rows it changed, or the database's refusal.
    pub(crate) async fn statement(&self, sql: &'static str) -> Result<u64, String> {
        let done = match self.kind {
            Kind::Sqlite => {
                let mut connection = SqliteConnection::connect(&self.url).await.unwrap();
                connection.execute(sql).await.map(|done| done.rows_affected())
            }
            Kind::Postgres => {
                let mut connection = PgConnection::connect(&self.url).await.unwrap();
                connection.execute(sql).await.map(|done| done.rows_affected())
            }
        };
        done.map_err(|error| error.to_string())
    }

    /// Everything that is stored, to be compared with a later look: a refusal changes nothing.
    pub(crate) async fn contents(&self) -> Vec<String> {
        self.contents_but(&[]).await
    }

    /// The same without these tables, where a refusal keeps something: the page that it shows, or that a turn was tried.
    pub(crate) async fn contents_but(&self, left_out: &[&str]) -> Vec<String> {
        let tables: Vec<_> =
            TABLES.into_iter().filter(|sql| !left_out.iter().any(|name| sql.ends_with(&format!(" {name}")))).collect();
        assert_eq!(tables.len() + left_out.len(), TABLES.len(), "{left_out:?}");
        let mut all = Vec::new();
        for (table, mut rows) in tables.iter().zip(self.tables(&tables).await) {
            rows.sort();
            all.push((*table).to_owned());
            all.extend(rows);
        }
        all
    }
}
