//! What is stored of one sequence, and what the model says should be: the same rows, written in the same words.

use std::fmt::Display;

use assent::clock::Timestamp;
use sqlx::{Connection as _, PgConnection, SqliteConnection};

use super::act::Text;
use super::state::{DeviceState, Model, Refresh, TurnState, names};
use crate::support::database::{Database, Kind};

/// Everything that is stored of the callers `$1` and `$2` and the Users `$3` and `$4` at the Brand `$5`: assertions since
/// `$6`, and what the audit log has grown by since its row `$7`. Each row is a line `kind|key|grant|rest`, and all of them
/// are one text: a row for each would cost more than finding them.
macro_rules! rows {
    ($aggregate:literal) => {
        concat!("SELECT ", $aggregate, " FROM (", "
SELECT 'device|' || d.user_code_mac || '|' || COALESCE(d.grant_id, '') || '|' || d.pa_issuer || ' ' || d.pa_sub || ' '
    || d.state || ' [' || d.scopes || '] [' || COALESCE(d.granted, '') || '] ' || d.expires_at || ' '
    || COALESCE(CAST(d.state_at AS TEXT), '-') AS line FROM device_authorization d WHERE d.pa_sub IN ($1, $2)
UNION ALL SELECT 'step-up|' || d.user_code_mac || '|' || d.step_up_grant_id || '|' FROM device_authorization d
    WHERE d.pa_sub IN ($1, $2) AND d.step_up_grant_id IS NOT NULL
UNION ALL SELECT 'grant||' || g.id || '|' || g.brand_user || ' ' || g.pa_issuer || ' ' || g.pa_sub || ' [' || g.scopes
    || '] ' || g.version || ' ' || g.decided_at || ' ' || g.expires_at || ' ' || COALESCE(CAST(g.last_used_at AS TEXT), '-')
    || ' ' || COALESCE(g.ended_by, '-') || ' ' || COALESCE(CAST(g.ended_at AS TEXT), '-')
    FROM delegation_grant g WHERE g.pa_sub IN ($1, $2)
UNION ALL SELECT 'token|' || t.digest || '|' || f.grant_id || '|' || t.created_at || ' '
    || COALESCE(CAST(t.used_at AS TEXT), '-') || ' [' || t.token_scopes || '] ' || COALESCE(CAST(f.revoked_at AS TEXT), '-')
    FROM delegation_grant g JOIN refresh_family f ON f.grant_id = g.id JOIN refresh_token t ON t.family_id = f.id
    WHERE g.pa_sub IN ($1, $2)
UNION ALL SELECT 'two leaves|' || f.id || '|' || f.grant_id || '|' FROM delegation_grant g
    JOIN refresh_family f ON f.grant_id = g.id WHERE g.pa_sub IN ($1, $2)
    AND (SELECT COUNT(*) FROM refresh_token t WHERE t.family_id = f.id AND t.used_at IS NULL) > 1
UNION ALL SELECT 'context|' || c.id || '|' || COALESCE(c.grant_id, '') || '|' || c.pa_issuer || ' ' || c.pa_sub || ' '
    || COALESCE(c.brand_user, '-') || ' ' || COALESCE(CAST(c.closed_at AS TEXT), '-') || ' ' || c.last_turn_at
    FROM context c WHERE c.pa_sub IN ($1, $2)
UNION ALL SELECT 'turn|' || t.context_id || ' ' || t.message_id || '|' || COALESCE(t.grant_id, '') || '|' || t.state || ' '
    || t.fence || ' ' || t.step_ups || ' ' || COALESCE(CAST(t.lease_until AS TEXT), '-') || ' ['
    || COALESCE(t.missing_scopes, '') || '] ' || COALESCE(d.user_code_mac, '-') || ' '
    || COALESCE(substr(t.reply, 1, 100), '-') FROM context c JOIN turn t ON t.context_id = c.id
    LEFT JOIN device_authorization d ON d.id = t.device_authorization_id WHERE c.pa_sub IN ($1, $2)
UNION ALL SELECT 'receipt|' || r.context_id || ' ' || r.message_id || '|' || r.grant_id || '|' || r.created_at
    FROM delegation_grant g JOIN receipt r ON r.grant_id = g.id WHERE g.pa_sub IN ($1, $2)
UNION ALL SELECT 'evidence|' || e.brand_user || ' ' || e.pa_issuer || ' ' || e.pa_sub || '|' || COALESCE(e.grant_id, '')
    || '|' || e.decision || ' [' || e.granted || '] ' || e.decided_at FROM consent_evidence e WHERE e.pa_sub IN ($1, $2)
UNION ALL SELECT 'page|' || p.digest || '|' || COALESCE(p.grant_id, '') || '|' || p.brand_user || ' '
    || COALESCE(d.user_code_mac, '-') || ' ' || COALESCE(CAST(p.grant_version AS TEXT), '-') || ' ' || p.expires_at
    FROM consent_page p LEFT JOIN device_authorization d ON d.id = p.device_authorization_id
    WHERE p.brand_user IN ($3, $4)
UNION ALL SELECT 'session|' || s.digest || '||' || s.brand_user || ' ' || s.expires_at FROM browser_session s
    WHERE s.brand_id = $5 AND s.brand_user IN ($3, $4)
UNION ALL SELECT 'jti|' || j.jti || '||' || j.forget_at FROM assertion_jti j WHERE j.forget_at >= $6
UNION ALL SELECT 'audit|' || a.action || '||' || COUNT(*) FROM audit a
    WHERE a.brand_id = $5 AND a.sequence > $7 GROUP BY a.action", ") AS found")
    };
}

const SQLITE: &str = rows!("group_concat(line, char(10))");
const POSTGRES: &str = rows!("string_agg(line, chr(10))");

const AUDIT_HEAD: &str = "SELECT COALESCE(MAX(sequence), 0) FROM audit WHERE brand_id = $1";

/// Indexes of the test's own: the product never asks by these columns alone.
const INDEXES: [&str; 6] = [
    "CREATE INDEX model_device ON device_authorization (pa_sub)",
    "CREATE INDEX model_grant ON delegation_grant (pa_sub)",
    "CREATE INDEX model_token ON refresh_token (family_id)",
    "CREATE INDEX model_context ON context (pa_sub)",
    "CREATE INDEX model_evidence ON consent_evidence (pa_sub)",
    "CREATE INDEX model_page ON consent_page (brand_user)",
];

/// One row: its kind, its key, the grant it names, and the rest in words.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Row {
    pub(crate) kind: String,
    pub(crate) key: String,
    pub(crate) rest: String,
    pub(crate) grant: Option<String>,
}

impl Row {
    /// From `kind|key|grant|rest`.
    fn parse(line: &str) -> Self {
        let mut parts = line.splitn(4, '|').map(str::to_owned);
        let mut next = || parts.next().unwrap();
        let (kind, key, grant, rest) = (next(), next(), next(), next());
        Self { kind, key, rest, grant: Some(grant).filter(|grant| !grant.is_empty()) }
    }
}

/// One row that the model expects.
struct Expected {
    kind: &'static str,
    key: String,
    rest: String,
    grant: Option<usize>,
}

/// A connection to look through.
pub(crate) enum Window {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

/// Which rows are of a sequence.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    pub(crate) brand: &'static str,
    pub(crate) since: Timestamp,
    pub(crate) audit_head: i64,
}

impl Window {
    pub(crate) async fn open(db: &Database) -> Self {
        for index in INDEXES {
            db.statement(index).await.unwrap();
        }
        match db.kind {
            Kind::Sqlite => Self::Sqlite(SqliteConnection::connect(&db.url).await.unwrap()),
            Kind::Postgres => {
                let mut connection = PgConnection::connect(&db.url).await.unwrap();
                // One plan, made once, for a statement that is asked a hundred thousand times.
                for setting in ["SET plan_cache_mode = force_generic_plan", "SET enable_seqscan = off", "SET jit = off"]
                {
                    sqlx::query(setting).execute(&mut connection).await.unwrap();
                }
                Self::Postgres(connection)
            }
        }
    }

    pub(crate) async fn audit_head(&mut self, brand: &str) -> i64 {
        let head = match self {
            Self::Sqlite(connection) => sqlx::query_scalar(AUDIT_HEAD).bind(brand).fetch_one(connection).await,
            Self::Postgres(connection) => sqlx::query_scalar(AUDIT_HEAD).bind(brand).fetch_one(connection).await,
        };
        head.unwrap()
    }

    /// The rows of a sequence, sorted.
    pub(crate) async fn look(&mut self, model: &Model, scope: &Scope) -> Vec<Row> {
        macro_rules! look {
            ($sql:expr, $connection:expr) => {
                sqlx::query_scalar::<_, Option<String>>($sql)
                    .bind(&model.names.subs[0])
                    .bind(&model.names.subs[1])
                    .bind(&model.names.users[0])
                    .bind(&model.names.users[1])
                    .bind(scope.brand)
                    .bind(scope.since.millis())
                    .bind(scope.audit_head)
                    .fetch_one($connection)
                    .await
            };
        }
        let lines = match self {
            Self::Sqlite(connection) => look!(SQLITE, connection),
            Self::Postgres(connection) => look!(POSTGRES, connection),
        };
        let mut rows: Vec<Row> = lines.unwrap().unwrap_or_default().lines().map(Row::parse).collect();
        rows.sort_unstable();
        rows
    }
}

fn or_dash(value: Option<impl Display>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

fn millis(at: Option<Timestamp>) -> String {
    or_dash(at.map(Timestamp::millis))
}

impl Model {
    /// The rows that there should be, sorted.
    fn expected(&self) -> Vec<Expected> {
        let mut rows = Vec::with_capacity(96);
        let mut row = |kind, key, grant, rest| rows.push(Expected { kind, key, rest, grant });
        for device in self.devices.iter().filter(|device| !device.swept) {
            let (state, grant, granted, at) = match device.state {
                DeviceState::Pending => ("pending", None, 0, None),
                DeviceState::Approved { grant, granted, at } => ("approved", Some(grant), granted, Some(at)),
                DeviceState::Denied { at } => ("denied", None, 0, Some(at)),
                DeviceState::Redeemed { grant, granted, at } => ("redeemed", Some(grant), granted, Some(at)),
            };
            let (requested, expires) = (names(device.requested), device.expires.millis());
            let owner = self.names.caller(device.caller);
            let rest = format!("{owner} {state} [{requested}] [{}] {expires} {}", names(granted), millis(at));
            row("device", device.mac.to_string(), grant, rest);
            if device.step_up.is_some() {
                row("step-up", device.mac.to_string(), device.step_up, String::new());
            }
        }
        for (index, grant) in self.grants.iter().enumerate() {
            let owner = format!("{} {}", self.names.users[grant.user], self.names.caller(grant.caller));
            let (decided, expires) = (grant.decided.millis(), grant.expires.millis());
            let ended = (or_dash(grant.ended.map(|(_, by)| by)), millis(grant.ended.map(|(at, _)| at)));
            let (scopes, version, used) = (names(grant.scopes), grant.version, millis(grant.used));
            let rest = format!("{owner} [{scopes}] {version} {decided} {expires} {used} {} {}", ended.0, ended.1);
            row("grant", String::new(), Some(index), rest);
        }
        for Refresh { digest, family, created, used, scopes, .. } in &self.refreshes {
            let family = &self.families[*family];
            let (created, used, revoked) = (created.millis(), millis(*used), millis(family.revoked));
            let rest = format!("{created} {used} [{}] {revoked}", names(*scopes));
            row("token", digest.to_string(), Some(family.grant), rest);
        }
        for context in self.contexts.iter().filter(|context| !context.swept) {
            let user = or_dash(context.user.map(|user| &self.names.users[user]));
            let (owner, last_turn) = (self.names.caller(context.caller), context.last_turn.millis());
            let rest = format!("{owner} {user} {} {last_turn}", millis(context.closed));
            row("context", context.id.to_string(), context.grant, rest);
        }
        for turn in self.turns.iter().filter(|turn| !self.contexts[turn.context].swept) {
            let device = |device: usize| &self.devices[device];
            let (state, until, missing, device, reply) = match &turn.state {
                TurnState::Running { until } => ("running", Some(*until), 0, None, None),
                TurnState::Answered { reply } => ("answered", None, 0, None, Some(reply)),
                TurnState::StepUp { reply, missing, device: code } => {
                    let code = code.map(device).filter(|device| !device.swept).map(|device| &device.mac);
                    ("step_up", None, *missing, code, Some(reply))
                }
                TurnState::Released => ("released", None, 0, None, None),
            };
            let reply = or_dash(reply.map(|reply| reply.chars().take(100).collect::<String>()));
            let (fence, step_ups, until, device) = (turn.fence, turn.step_ups, millis(until), or_dash(device));
            let rest = format!("{state} {fence} {step_ups} {until} [{}] {device} {reply}", names(missing));
            row("turn", format!("{} m-{}", self.contexts[turn.context].id, turn.message), turn.grant, rest);
        }
        for page in self.pages.iter().filter(|page| !page.swept) {
            let device = &self.devices[page.device];
            let device = if device.swept { "-" } else { &device.mac };
            let (user, version) = (&self.names.users[page.user], or_dash(page.grant.map(|(_, version)| version)));
            let rest = format!("{user} {device} {version} {}", page.expires.millis());
            row("page", page.digest.to_string(), page.grant.map(|(grant, _)| grant), rest);
        }
        for session in self.sessions.iter().filter(|session| !session.swept) {
            let rest = format!("{} {}", self.names.users[session.user], session.expires.millis());
            row("session", session.digest.to_string(), None, rest);
        }
        for (jti, forget_at) in &self.spent {
            row("jti", jti.to_string(), None, forget_at.millis().to_string());
        }
        for kept in &self.kept {
            row(kept.kind, kept.key.clone(), kept.grant, kept.rest.clone());
        }
        for (action, count) in &self.audit {
            row("audit", (*action).to_owned(), None, count.to_string());
        }
        rows.sort_unstable_by(|a, b| (a.kind, &a.key, &a.rest).cmp(&(b.kind, &b.key, &b.rest)));
        rows
    }

    /// Compares what is expected with `rows`, which are sorted, and learns from them what new grants are called.
    ///
    /// # Errors
    /// The lines that differ: `-` for what is expected and not there, `+` for what is there and not expected.
    pub(crate) fn compare(&mut self, rows: &[Row]) -> Result<(), Vec<String>> {
        let expected = self.expected();
        let words = |row: &Row| format!("{} {} {}", row.kind, row.key, row.rest);
        let same = |(expected, row): (&Expected, &Row)| {
            expected.kind == row.kind && expected.key == row.key && expected.rest == row.rest
        };
        if expected.len() != rows.len() || !expected.iter().zip(rows).all(same) {
            let wanted: Vec<String> =
                expected.iter().map(|row| format!("{} {} {}", row.kind, row.key, row.rest)).collect();
            let found: Vec<String> = rows.iter().map(words).collect();
            let missing = wanted.iter().filter(|line| !found.contains(line)).map(|line| format!("- {line}"));
            let surplus = found.iter().filter(|line| !wanted.contains(line)).map(|line| format!("+ {line}"));
            return Err(missing.chain(surplus).collect());
        }
        // A code names its grant beyond doubt, so codes come first.
        let pairs = || expected.iter().zip(rows);
        let codes = pairs().filter(|(expected, _)| expected.kind == "device");
        for (expected, row) in codes.chain(pairs().filter(|(expected, _)| expected.kind != "device")) {
            let agree = match (expected.grant, &row.grant) {
                (None, None) => true,
                (Some(grant), Some(id)) if expected.kind == "device" => self.is_called(grant, &Text::from(id.as_str())),
                // Rows that say the same may stand in another order.
                (Some(grant), Some(_)) => {
                    let alike = |row: &&Row| same((expected, row));
                    let named = self.grants[grant].id.as_deref();
                    rows.iter().filter(alike).any(|row| row.grant.as_deref() == named)
                }
                _ => false,
            };
            if !agree {
                let grant = expected.grant.map(|grant| &self.grants[grant].id);
                return Err(vec![format!("{} names another grant than {grant:?}: {:?}", words(row), row.grant)]);
            }
        }
        Ok(())
    }
}
