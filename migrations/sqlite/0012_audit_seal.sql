-- The seal and what a row vouches for are as fixed as the rest of it; a chain's head moves on and is never removed.

DROP TRIGGER audit_no_update;
CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit
WHEN NOT (
    NEW.payload IS NULL AND NEW.brand_id = OLD.brand_id AND NEW.sequence = OLD.sequence AND NEW.at = OLD.at
    AND NEW.actor_kind = OLD.actor_kind AND NEW.actor = OLD.actor AND NEW.action = OLD.action
    AND NEW.subject = OLD.subject AND NEW.request_id = OLD.request_id
    AND NEW.payload_digest = OLD.payload_digest AND NEW.digest = OLD.digest
    AND NEW.seal IS OLD.seal AND NEW.bound_id IS OLD.bound_id AND NEW.bound_digest IS OLD.bound_digest
)
BEGIN SELECT RAISE(ABORT, 'audit is append-only'); END;

CREATE TRIGGER audit_head_no_delete BEFORE DELETE ON audit_head
BEGIN SELECT RAISE(ABORT, 'audit_head is append-only'); END;
