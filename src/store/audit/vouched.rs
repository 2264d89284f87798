//! What the log must vouch for, held against it: receipts and the evidence of decisions column by column, and that nothing
//! is there whose making the log does not know.

use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, query_as};

use super::verify::{PAGE, is_unreadable};
use crate::clock::Timestamp;
use crate::domain::audit::Chain;
use crate::domain::audit::chain::{Finding, Problem, Report, Thing};
use crate::domain::audit::recorded::{EvidenceColumns, ReceiptColumns};
use crate::store::dialect::read;
use crate::store::{Store, StoreError};

#[derive(FromRow)]
struct ReceiptRow {
    id: String,
    brand_id: String,
    grant_id: String,
    context_id: String,
    message_id: String,
    jws: String,
    created_at: i64,
    sequence: Option<i64>,
    bound_digest: Option<String>,
}

impl ReceiptRow {
    fn digest(&self) -> String {
        let columns = ReceiptColumns {
            id: &self.id,
            brand: &self.brand_id,
            grant: &self.grant_id,
            context: &self.context_id,
            message: &self.message_id,
            jws: &self.jws,
            created_at: Timestamp::from_millis(self.created_at),
        };
        columns.digest().to_hex()
    }
}

#[derive(FromRow)]
struct EvidenceRow {
    device_authorization_id: String,
    brand_id: String,
    brand_user: String,
    pa_issuer: String,
    pa_sub: String,
    grant_id: Option<String>,
    decision: String,
    shown: String,
    language: String,
    granted: String,
    assertion: String,
    decided_at: i64,
    sequence: Option<i64>,
    bound_digest: Option<String>,
}

impl EvidenceRow {
    fn digest(&self) -> String {
        let columns = EvidenceColumns {
            device: &self.device_authorization_id,
            brand: &self.brand_id,
            brand_user: &self.brand_user,
            pa_issuer: &self.pa_issuer,
            pa_sub: &self.pa_sub,
            grant: self.grant_id.as_deref(),
            decision: &self.decision,
            shown: &self.shown,
            language: &self.language,
            granted: &self.granted,
            assertion: &self.assertion,
            decided_at: Timestamp::from_millis(self.decided_at),
        };
        columns.digest().to_hex()
    }
}

/// A row that has an id, in a chain, and what was found of it there.
#[derive(FromRow)]
struct MadeRow {
    id: String,
    chain: String,
    is_known: bool,
    is_at_odds: bool,
}

/// What is to be looked at, by pages behind an id: `$1` is that id, `$2` the chain where there is only one. `next` is the id
/// behind `$1`, and the chain, of a row whose other cells may hold anything.
struct Asked {
    thing: Thing,
    rows: &'static str,
    next: &'static str,
}

const RECEIPTS: Asked = Asked {
    thing: Thing::Receipt,
    rows: "SELECT r.id, r.brand_id, r.grant_id, r.context_id, r.message_id, r.jws, r.created_at, a.sequence,
        a.bound_digest FROM receipt r LEFT JOIN audit a ON a.bound_id = r.id AND a.brand_id = r.brand_id
            AND a.action = 'receipt_signed' AND a.sequence > 0
        WHERE r.id > $1 AND (CAST($2 AS TEXT) IS NULL OR r.brand_id = $2) ORDER BY r.id LIMIT $3",
    next: "SELECT CAST(id AS TEXT), CAST(brand_id AS TEXT) FROM receipt
        WHERE id > $1 AND (CAST($2 AS TEXT) IS NULL OR brand_id = $2) ORDER BY id LIMIT 1",
};
const EVIDENCE: Asked = Asked {
    thing: Thing::Evidence,
    rows: "SELECT c.device_authorization_id, c.brand_id, c.brand_user, c.pa_issuer, c.pa_sub, c.grant_id, c.decision,
        c.shown, c.language, c.granted, c.assertion, c.decided_at, a.sequence, a.bound_digest
        FROM consent_evidence c LEFT JOIN audit a ON a.bound_id = c.device_authorization_id
            AND a.brand_id = c.brand_id AND a.action <> 'receipt_signed' AND a.sequence > 0
        WHERE c.device_authorization_id > $1 AND (CAST($2 AS TEXT) IS NULL OR c.brand_id = $2)
        ORDER BY c.device_authorization_id LIMIT $3",
    next: "SELECT CAST(device_authorization_id AS TEXT), CAST(brand_id AS TEXT) FROM consent_evidence
        WHERE device_authorization_id > $1 AND (CAST($2 AS TEXT) IS NULL OR brand_id = $2)
        ORDER BY device_authorization_id LIMIT 1",
};
/// A grant has ended when, and only when, its Brand's log says so.
const GRANTS: Asked = Asked {
    thing: Thing::Grant,
    rows: "SELECT g.id, g.brand_id AS chain,
        EXISTS (SELECT 1 FROM audit a WHERE a.brand_id = g.brand_id AND a.subject = g.id
            AND a.action = 'grant_created' AND a.sequence > 0) AS is_known,
        (g.state = 'live') = EXISTS (SELECT 1 FROM audit a WHERE a.brand_id = g.brand_id AND a.subject = g.id
            AND a.action = 'grant_ended' AND a.sequence > 0) AS is_at_odds
        FROM delegation_grant g WHERE g.id > $1 AND (CAST($2 AS TEXT) IS NULL OR g.brand_id = $2)
        ORDER BY g.id LIMIT $3",
    next: "SELECT CAST(id AS TEXT), CAST(brand_id AS TEXT) FROM delegation_grant
        WHERE id > $1 AND (CAST($2 AS TEXT) IS NULL OR brand_id = $2) ORDER BY id LIMIT 1",
};
const KEYS: Asked = Asked {
    thing: Thing::Key,
    rows: "SELECT k.kid AS id, k.brand_id AS chain,
        EXISTS (SELECT 1 FROM audit a WHERE a.brand_id = k.brand_id AND a.subject = k.kid
            AND a.action = 'key_created' AND a.sequence > 0) AS is_known,
        (k.state <> 'compromised' AND EXISTS (SELECT 1 FROM audit a WHERE a.brand_id = k.brand_id AND a.subject = k.kid
            AND a.action = 'key_compromised' AND a.sequence > 0)) AS is_at_odds
        FROM signing_key k WHERE k.kid > $1 AND (CAST($2 AS TEXT) IS NULL OR k.brand_id = $2) ORDER BY k.kid LIMIT $3",
    next: "SELECT CAST(kid AS TEXT), CAST(brand_id AS TEXT) FROM signing_key
        WHERE kid > $1 AND (CAST($2 AS TEXT) IS NULL OR brand_id = $2) ORDER BY kid LIMIT 1",
};
const RESOURCE_SERVER_KEYS: Asked = Asked {
    thing: Thing::ResourceServerKey,
    rows: "SELECT k.id, k.brand_id AS chain,
        EXISTS (SELECT 1 FROM audit a WHERE a.brand_id = k.brand_id AND a.subject = k.id
            AND a.action = 'resource_server_key_created' AND a.sequence > 0) AS is_known,
        (k.revoked_at IS NULL) = EXISTS (SELECT 1 FROM audit a WHERE a.brand_id = k.brand_id AND a.subject = k.id
            AND a.action = 'resource_server_key_revoked' AND a.sequence > 0) AS is_at_odds
        FROM resource_server_key k WHERE k.id > $1 AND (CAST($2 AS TEXT) IS NULL OR k.brand_id = $2)
        ORDER BY k.id LIMIT $3",
    next: "SELECT CAST(id AS TEXT), CAST(brand_id AS TEXT) FROM resource_server_key
        WHERE id > $1 AND (CAST($2 AS TEXT) IS NULL OR brand_id = $2) ORDER BY id LIMIT 1",
};
/// The row that made an agent says that there was none before. One that was disabled stays so until a row says otherwise.
const AGENTS: Asked = Asked {
    thing: Thing::PersonalAgent,
    rows: "SELECT p.issuer AS id, '' AS chain,
        EXISTS (SELECT 1 FROM audit a WHERE a.brand_id = '' AND a.subject = p.issuer AND a.sequence > 0
            AND (a.action = 'personal_agent_registered' OR (a.action = 'personal_agent_applied'
                AND (a.payload IS NULL OR a.payload LIKE '%\"before\":null%')))) AS is_known,
        (p.enabled = TRUE AND COALESCE((SELECT a.action FROM audit a WHERE a.brand_id = '' AND a.subject = p.issuer
            AND a.sequence > 0 AND a.action IN ('personal_agent_registered', 'personal_agent_applied',
                'personal_agent_enabled', 'personal_agent_disabled')
            ORDER BY a.sequence DESC LIMIT 1), '') = 'personal_agent_disabled') AS is_at_odds
        FROM personal_agent p WHERE p.issuer > $1 AND (CAST($2 AS TEXT) IS NULL OR $2 = '')
        ORDER BY p.issuer LIMIT $3",
    next: "SELECT CAST(issuer AS TEXT), '' FROM personal_agent WHERE issuer > $1
        AND (CAST($2 AS TEXT) IS NULL OR $2 = '') ORDER BY issuer LIMIT 1",
};
/// A name may be given anew after it was taken away: the latest of these rows counts.
const ADMINISTRATORS: Asked = Asked {
    thing: Thing::Administrator,
    rows: "SELECT n.name AS id, '' AS chain,
        COALESCE((SELECT a.action FROM audit a WHERE a.brand_id = '' AND a.subject = n.name AND a.sequence > 0
            AND a.action IN ('administrator_created', 'administrator_removed')
            ORDER BY a.sequence DESC LIMIT 1), '') = 'administrator_created' AS is_known, FALSE AS is_at_odds
        FROM administrator n WHERE n.name > $1 AND (CAST($2 AS TEXT) IS NULL OR $2 = '') ORDER BY n.name LIMIT $3",
    next: "SELECT CAST(name AS TEXT), '' FROM administrator WHERE name > $1
        AND (CAST($2 AS TEXT) IS NULL OR $2 = '') ORDER BY name LIMIT 1",
};
const API_KEYS: Asked = Asked {
    thing: Thing::ApiKey,
    rows: "SELECT k.id, '' AS chain,
        EXISTS (SELECT 1 FROM audit a WHERE a.brand_id = '' AND a.subject = k.id AND a.action = 'api_key_created'
            AND a.sequence > 0) AS is_known,
        (k.revoked_at IS NULL) = EXISTS (SELECT 1 FROM audit a WHERE a.brand_id = '' AND a.subject = k.id
            AND a.action = 'api_key_revoked' AND a.sequence > 0) AS is_at_odds
        FROM api_key k WHERE k.id > $1 AND (CAST($2 AS TEXT) IS NULL OR $2 = '') ORDER BY k.id LIMIT $3",
    next: "SELECT CAST(id AS TEXT), '' FROM api_key WHERE id > $1
        AND (CAST($2 AS TEXT) IS NULL OR $2 = '') ORDER BY id LIMIT 1",
};

/// Something that is looked at.
trait Looked: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin {
    fn id(&self) -> &str;
    /// What is wrong with it, and in which chain.
    fn judge(self, thing: Thing) -> Option<(String, Problem)>;
}

impl Looked for ReceiptRow {
    fn id(&self) -> &str {
        &self.id
    }

    fn judge(self, thing: Thing) -> Option<(String, Problem)> {
        let digest = self.digest();
        compare(thing, self.brand_id, self.id, self.sequence.is_some(), self.bound_digest == Some(digest))
    }
}

impl Looked for EvidenceRow {
    fn id(&self) -> &str {
        &self.device_authorization_id
    }

    fn judge(self, thing: Thing) -> Option<(String, Problem)> {
        let (digest, id) = (self.digest(), self.device_authorization_id);
        compare(thing, self.brand_id, id, self.sequence.is_some(), self.bound_digest == Some(digest))
    }
}

impl Looked for MadeRow {
    fn id(&self) -> &str {
        &self.id
    }

    fn judge(self, thing: Thing) -> Option<(String, Problem)> {
        match (self.is_known, self.is_at_odds) {
            (false, _) => Some((self.chain, Problem::Unvouched(thing, self.id))),
            (true, true) => Some((self.chain, Problem::AtOdds(thing, self.id))),
            (true, false) => None,
        }
    }
}

fn compare(thing: Thing, chain: String, id: String, is_known: bool, is_vouched: bool) -> Option<(String, Problem)> {
    match (is_known, is_vouched) {
        (false, _) => Some((chain, Problem::Unvouched(thing, id))),
        (true, false) => Some((chain, Problem::NotAsVouched(thing, id))),
        (true, true) => None,
    }
}

impl Store {
    /// Looks at everything that the log must vouch for, of all chains or of `only` one.
    pub(super) async fn verify_vouched(
        &self,
        only: Option<&Chain>,
        tell: &mut impl FnMut(Report),
    ) -> Result<(), StoreError> {
        let only = only.map(Chain::column);
        let mut wrong = |(chain, problem)| tell(Report::Wrong(Finding { chain, rows: None, problem }));
        self.look::<ReceiptRow>(&RECEIPTS, only, &mut wrong).await?;
        self.look::<EvidenceRow>(&EVIDENCE, only, &mut wrong).await?;
        for asked in [&GRANTS, &KEYS, &RESOURCE_SERVER_KEYS, &AGENTS, &ADMINISTRATORS, &API_KEYS] {
            self.look::<MadeRow>(asked, only, &mut wrong).await?;
        }
        Ok(())
    }

    async fn look<R: Looked>(
        &self,
        asked: &Asked,
        only: Option<&str>,
        wrong: &mut impl FnMut((String, Problem)),
    ) -> Result<(), StoreError> {
        let (mut after, mut most) = (String::new(), PAGE);
        loop {
            let rows = read!(self, c => query_as::<_, R>(asked.rows).bind(&after).bind(only).bind(most).fetch_all(c));
            match rows {
                Ok(rows) => {
                    let Some(last) = rows.last() else { return Ok(()) };
                    last.id().clone_into(&mut after);
                    rows.into_iter().filter_map(|row| row.judge(asked.thing)).for_each(&mut *wrong);
                }
                // What comes behind a row that cannot be read is looked at one by one.
                Err(error) if is_unreadable(&error) && most > 1 => most = 1,
                Err(error) if is_unreadable(&error) => {
                    let next = read!(self, c => query_as::<_, (String, String)>(asked.next)
                        .bind(&after)
                        .bind(only)
                        .fetch_optional(c));
                    let (id, chain) = match next {
                        Ok(Some(next)) => next,
                        Ok(None) => return Ok(()),
                        Err(error) if is_unreadable(&error) => (String::new(), only.unwrap_or_default().to_owned()),
                        Err(error) => return Err(error.into()),
                    };
                    wrong((chain, Problem::NotAsVouched(asked.thing, id.clone())));
                    // An id that is no text stands behind all that are, and so does what comes after it.
                    if id <= after {
                        return Ok(());
                    }
                    after = id;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}
