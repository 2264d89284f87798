-- Rows that are evidence cannot be changed or removed; an audit row's payload can be erased, once.

CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit
WHEN NOT (
    NEW.payload IS NULL AND NEW.brand_id = OLD.brand_id AND NEW.sequence = OLD.sequence AND NEW.at = OLD.at
    AND NEW.actor_kind = OLD.actor_kind AND NEW.actor = OLD.actor AND NEW.action = OLD.action
    AND NEW.subject = OLD.subject AND NEW.request_id = OLD.request_id
    AND NEW.payload_digest = OLD.payload_digest AND NEW.digest = OLD.digest
)
BEGIN SELECT RAISE(ABORT, 'audit is append-only'); END;
CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'audit is append-only'); END;

CREATE TRIGGER receipt_no_update BEFORE UPDATE ON receipt
BEGIN SELECT RAISE(ABORT, 'receipt is append-only'); END;
CREATE TRIGGER receipt_no_delete BEFORE DELETE ON receipt
BEGIN SELECT RAISE(ABORT, 'receipt is append-only'); END;

CREATE TRIGGER consent_evidence_no_update BEFORE UPDATE ON consent_evidence
BEGIN SELECT RAISE(ABORT, 'consent_evidence is append-only'); END;
CREATE TRIGGER consent_evidence_no_delete BEFORE DELETE ON consent_evidence
BEGIN SELECT RAISE(ABORT, 'consent_evidence is append-only'); END;
