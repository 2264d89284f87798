//! What the log must vouch for, held against it: receipts and the evidence of decisions column by column, and that nothing
//! is there whose making the log does not know.

use sqlx::{FromRow, query_as};

use super::verify::PAGE;
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

/// What is to be looked at is asked for by pages behind an id; `$1` is that id, `$2` the chain where there is only one.
const RECEIPTS: &str =
    "SELECT r.id, r.brand_id, r.grant_id, r.context_id, r.message_id, r.jws, r.created_at, a.sequence,
    a.bound_digest FROM receipt r
    LEFT JOIN audit a ON a.bound_id = r.id AND a.brand_id = r.brand_id AND a.action = 'receipt_signed'
    WHERE r.id > $1 AND (CAST($2 AS TEXT) IS NULL OR r.brand_id = $2) ORDER BY r.id LIMIT $3";
const EVIDENCE: &str = "SELECT c.device_authorization_id, c.brand_id, c.brand_user, c.pa_issuer, c.pa_sub, c.grant_id,
    c.decision, c.shown, c.language, c.granted, c.assertion, c.decided_at, a.sequence, a.bound_digest
    FROM consent_evidence c LEFT JOIN audit a ON a.bound_id = c.device_authorization_id AND a.brand_id = c.brand_id
        AND a.action <> 'receipt_signed'
    WHERE c.device_authorization_id > $1 AND (CAST($2 AS TEXT) IS NULL OR c.brand_id = $2)
    ORDER BY c.device_authorization_id LIMIT $3";
/// A grant that its Brand's log ended is ended, and one that is ended was, unless it had run out.
const GRANTS: &str = "SELECT g.id, g.brand_id AS chain,
    EXISTS (SELECT 1 FROM audit a WHERE a.brand_id = g.brand_id AND a.subject = g.id AND a.action = 'grant_created')
        AS is_known,
    (CASE WHEN g.state = 'live' THEN EXISTS (SELECT 1 FROM audit a WHERE a.brand_id = g.brand_id AND a.subject = g.id
            AND a.action = 'grant_ended')
        ELSE g.ended_by <> 'expiry' AND NOT EXISTS (SELECT 1 FROM audit a WHERE a.brand_id = g.brand_id
            AND a.subject = g.id AND a.action = 'grant_ended') END) AS is_at_odds
    FROM delegation_grant g WHERE g.id > $1 AND (CAST($2 AS TEXT) IS NULL OR g.brand_id = $2) ORDER BY g.id LIMIT $3";
const KEYS: &str = "SELECT k.kid AS id, k.brand_id AS chain,
    EXISTS (SELECT 1 FROM audit a WHERE a.brand_id = k.brand_id AND a.subject = k.kid AND a.action = 'key_created')
        AS is_known, FALSE AS is_at_odds
    FROM signing_key k WHERE k.kid > $1 AND (CAST($2 AS TEXT) IS NULL OR k.brand_id = $2) ORDER BY k.kid LIMIT $3";
const AGENTS: &str = "SELECT p.issuer AS id, '' AS chain,
    EXISTS (SELECT 1 FROM audit a WHERE a.brand_id = '' AND a.subject = p.issuer AND a.action LIKE 'personal%') AS is_known,
    FALSE AS is_at_odds
    FROM personal_agent p WHERE p.issuer > $1 AND (CAST($2 AS TEXT) IS NULL OR $2 = '') ORDER BY p.issuer LIMIT $3";

impl Store {
    /// Looks at everything that the log must vouch for, of all chains or of `only` one.
    pub(super) async fn verify_vouched(
        &self,
        only: Option<&Chain>,
        tell: &mut impl FnMut(Report),
    ) -> Result<(), StoreError> {
        let only = only.map(Chain::column);
        let mut wrong = |chain: &str, problem| {
            tell(Report::Wrong(Finding { chain: chain.to_owned(), rows: None, problem }));
        };
        let mut after = String::new();
        loop {
            let rows =
                read!(self, c => query_as::<_, ReceiptRow>(RECEIPTS).bind(&after).bind(only).bind(PAGE).fetch_all(c))?;
            let Some(last) = rows.last() else { break };
            after.clone_from(&last.id);
            for row in rows {
                let (is_known, is_vouched) = (row.sequence.is_some(), row.bound_digest.as_ref() == Some(&row.digest()));
                compare(Thing::Receipt, &row.brand_id, row.id, is_known, is_vouched, &mut wrong);
            }
        }
        after.clear();
        loop {
            let rows =
                read!(self, c => query_as::<_, EvidenceRow>(EVIDENCE).bind(&after).bind(only).bind(PAGE).fetch_all(c))?;
            let Some(last) = rows.last() else { break };
            after.clone_from(&last.device_authorization_id);
            for row in rows {
                let (is_known, is_vouched) = (row.sequence.is_some(), row.bound_digest.as_ref() == Some(&row.digest()));
                let id = row.device_authorization_id;
                compare(Thing::Evidence, &row.brand_id, id, is_known, is_vouched, &mut wrong);
            }
        }
        for (thing, sql) in [(Thing::Grant, GRANTS), (Thing::Key, KEYS), (Thing::PersonalAgent, AGENTS)] {
            after.clear();
            loop {
                let rows =
                    read!(self, c => query_as::<_, MadeRow>(sql).bind(&after).bind(only).bind(PAGE).fetch_all(c))?;
                let Some(last) = rows.last() else { break };
                after.clone_from(&last.id);
                for row in rows {
                    if !row.is_known {
                        wrong(&row.chain, Problem::Unvouched(thing, row.id));
                    } else if row.is_at_odds {
                        wrong(&row.chain, Problem::GrantState(row.id));
                    }
                }
            }
        }
        Ok(())
    }
}

fn compare(
    thing: Thing,
    chain: &str,
    id: String,
    is_known: bool,
    is_vouched: bool,
    wrong: &mut impl FnMut(&str, Problem),
) {
    if !is_known {
        wrong(chain, Problem::Unvouched(thing, id));
    } else if !is_vouched {
        wrong(chain, Problem::NotAsVouched(thing, id));
    }
}
