-- Rows that are evidence cannot be changed or removed; an audit row's payload can be erased, once.

CREATE FUNCTION append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END
$$;

CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit FOR EACH ROW
WHEN (NOT (
    NEW.payload IS NULL AND NEW.brand_id = OLD.brand_id AND NEW.sequence = OLD.sequence AND NEW.at = OLD.at
    AND NEW.actor_kind = OLD.actor_kind AND NEW.actor = OLD.actor AND NEW.action = OLD.action
    AND NEW.subject = OLD.subject AND NEW.request_id = OLD.request_id
    AND NEW.payload_digest = OLD.payload_digest AND NEW.digest = OLD.digest
))
EXECUTE FUNCTION append_only();
CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit FOR EACH ROW EXECUTE FUNCTION append_only();

CREATE TRIGGER receipt_no_change BEFORE UPDATE OR DELETE ON receipt FOR EACH ROW EXECUTE FUNCTION append_only();
CREATE TRIGGER consent_evidence_no_change BEFORE UPDATE OR DELETE ON consent_evidence
FOR EACH ROW EXECUTE FUNCTION append_only();

-- Row triggers do not see TRUNCATE.
CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER receipt_no_truncate BEFORE TRUNCATE ON receipt FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER consent_evidence_no_truncate BEFORE TRUNCATE ON consent_evidence
FOR EACH STATEMENT EXECUTE FUNCTION append_only();
