-- The seal and what a row vouches for are as fixed as the rest of it; a chain's head moves on and is never removed.

DROP TRIGGER audit_no_update ON audit;
CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit FOR EACH ROW
WHEN (NOT (
    NEW.payload IS NULL AND NEW.brand_id = OLD.brand_id AND NEW.sequence = OLD.sequence AND NEW.at = OLD.at
    AND NEW.actor_kind = OLD.actor_kind AND NEW.actor = OLD.actor AND NEW.action = OLD.action
    AND NEW.subject = OLD.subject AND NEW.request_id = OLD.request_id
    AND NEW.payload_digest = OLD.payload_digest AND NEW.digest = OLD.digest
    AND NEW.seal IS NOT DISTINCT FROM OLD.seal AND NEW.bound_id IS NOT DISTINCT FROM OLD.bound_id
    AND NEW.bound_digest IS NOT DISTINCT FROM OLD.bound_digest
))
EXECUTE FUNCTION append_only();

CREATE TRIGGER audit_head_no_delete BEFORE DELETE ON audit_head FOR EACH ROW EXECUTE FUNCTION append_only();
CREATE TRIGGER audit_head_no_truncate BEFORE TRUNCATE ON audit_head FOR EACH STATEMENT EXECUTE FUNCTION append_only();
