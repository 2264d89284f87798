//! Audit rows as they are stored, whatever they say, and the digest that each must have.

use openssl::sha::Sha256;

use super::super::id::Digest;
use crate::clock::Timestamp;

/// A row as it is stored. Its words are not parsed: a row that was altered must still be readable, to be named.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recorded {
    /// Whose chain; empty for the Provider's own.
    pub brand: String,
    /// Its place in the chain, from 1.
    pub sequence: i64,
    /// When.
    pub at: Timestamp,
    /// The kind of who did it: `user`, `personal_agent`, `administrator` or `assent`.
    pub actor_kind: String,
    /// Which one of the kind.
    pub actor: String,
    /// What was done, by its name.
    pub action: String,
    /// To what: an id.
    pub subject: String,
    /// During which request.
    pub request: String,
    /// JSON; `None` once it was erased.
    pub payload: Option<String>,
    /// SHA-256 of the payload as it was written, in hexadecimal.
    pub payload_digest: String,
    /// SHA-256 over the row before it and all of the above but the payload itself, in hexadecimal.
    pub digest: String,
    /// Under the master key; `None` for a row from before there were seals.
    pub seal: Option<String>,
    /// The id of the receipt, or of the code whose decision is kept, that was stored together with this row.
    pub bound_id: Option<String>,
    /// The digest of all columns of that.
    pub bound_digest: Option<String>,
}

/// What a row vouches for: something that was stored in the same transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bound {
    /// Its id.
    pub id: String,
    /// The digest of all its columns.
    pub digest: Digest,
}

impl Recorded {
    /// The digest that this row must have after the row whose digest is `previous`.
    ///
    /// Every field is preceded by its length, so that no two rows are written alike.
    pub fn computed_digest(&self, previous: &str) -> Digest {
        let mut hash = Sha256::new();
        let mut field = |text: &str| hash.update(lengthened(text).as_bytes());
        field(previous);
        field(&self.brand);
        field(&self.sequence.to_string());
        field(&self.at.millis().to_string());
        field(&self.actor_kind);
        field(&self.actor);
        field(&self.action);
        field(&self.subject);
        field(&self.request);
        field(&self.payload_digest);
        if self.bound_id.is_some() || self.bound_digest.is_some() {
            field(self.bound_id.as_deref().unwrap_or_default());
            field(self.bound_digest.as_deref().unwrap_or_default());
        }
        Digest::new(hash.finish())
    }
}

/// A text with its length before it.
pub(super) fn lengthened(text: &str) -> String {
    format!("{}:{text}", text.len())
}

/// SHA-256 over columns in their order, each preceded by its length; `-` stands for NULL.
fn columns_digest(columns: &[Option<&str>]) -> Digest {
    let mut hash = Sha256::new();
    for column in columns {
        match column {
            Some(text) => hash.update(lengthened(text).as_bytes()),
            None => hash.update(b"-"),
        }
    }
    Digest::new(hash.finish())
}

/// A receipt as it is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceiptColumns<'a> {
    /// Its id.
    pub id: &'a str,
    /// Whose.
    pub brand: &'a str,
    /// Under which grant.
    pub grant: &'a str,
    /// In which context.
    pub context: &'a str,
    /// Of which message.
    pub message: &'a str,
    /// The receipt itself.
    pub jws: &'a str,
    /// When.
    pub created_at: Timestamp,
}

impl ReceiptColumns<'_> {
    /// The digest that its audit row vouches for.
    pub fn digest(&self) -> Digest {
        let at = self.created_at.millis().to_string();
        let Self { id, brand, grant, context, message, jws, created_at: _ } = *self;
        columns_digest(&[id, brand, grant, context, message, jws, &at].map(Some))
    }
}

/// The evidence of a decision as it is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EvidenceColumns<'a> {
    /// Of which code.
    pub device: &'a str,
    /// At which Brand.
    pub brand: &'a str,
    /// By whom.
    pub brand_user: &'a str,
    /// For which personal agent.
    pub pa_issuer: &'a str,
    /// For whom there.
    pub pa_sub: &'a str,
    /// The grant that it made, changed or ended.
    pub grant: Option<&'a str>,
    /// What was decided.
    pub decision: &'a str,
    /// The texts that were shown, as JSON.
    pub shown: &'a str,
    /// Their language.
    pub language: &'a str,
    /// What was granted.
    pub granted: &'a str,
    /// The verified login, as JSON.
    pub assertion: &'a str,
    /// When.
    pub decided_at: Timestamp,
}

impl EvidenceColumns<'_> {
    /// The digest that its audit row vouches for.
    pub fn digest(&self) -> Digest {
        let at = self.decided_at.millis().to_string();
        columns_digest(&[
            Some(self.device),
            Some(self.brand),
            Some(self.brand_user),
            Some(self.pa_issuer),
            Some(self.pa_sub),
            self.grant,
            Some(self.decision),
            Some(self.shown),
            Some(self.language),
            Some(self.granted),
            Some(self.assertion),
            Some(&at),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Timestamp = Timestamp::from_seconds(1_767_225_600);

    #[test]
    fn every_column_of_a_receipt_enters_its_digest() {
        let receipt =
            ReceiptColumns { id: "i", brand: "b", grant: "g", context: "c", message: "m", jws: "j", created_at: AT };
        let others = [
            ReceiptColumns { id: "x", ..receipt },
            ReceiptColumns { brand: "x", ..receipt },
            ReceiptColumns { grant: "x", ..receipt },
            ReceiptColumns { context: "x", ..receipt },
            ReceiptColumns { message: "x", ..receipt },
            ReceiptColumns { jws: "x", ..receipt },
            ReceiptColumns { created_at: Timestamp::from_millis(1), ..receipt },
        ];
        assert!(others.iter().all(|other| other.digest() != receipt.digest()));
    }

    #[test]
    fn every_column_of_evidence_enters_its_digest_and_no_grant_is_not_an_empty_one() {
        let evidence = EvidenceColumns {
            device: "d",
            brand: "b",
            brand_user: "u",
            pa_issuer: "i",
            pa_sub: "s",
            grant: None,
            decision: "denied",
            shown: "{}",
            language: "en",
            granted: "",
            assertion: "{}",
            decided_at: AT,
        };
        let others = [
            EvidenceColumns { device: "x", ..evidence },
            EvidenceColumns { brand: "x", ..evidence },
            EvidenceColumns { brand_user: "x", ..evidence },
            EvidenceColumns { pa_issuer: "x", ..evidence },
            EvidenceColumns { pa_sub: "x", ..evidence },
            EvidenceColumns { grant: Some(""), ..evidence },
            EvidenceColumns { decision: "x", ..evidence },
            EvidenceColumns { shown: "x", ..evidence },
            EvidenceColumns { language: "x", ..evidence },
            EvidenceColumns { granted: "x", ..evidence },
            EvidenceColumns { assertion: "x", ..evidence },
            EvidenceColumns { decided_at: Timestamp::from_millis(1), ..evidence },
        ];
        assert!(others.iter().all(|other| other.digest() != evidence.digest()));
    }
}
