-- What administrators list, count and take away.

-- A Brand that was removed is not served any more. Its row stays, since grants, receipts and the audit log name it, and its
-- id is not given to another.
ALTER TABLE brand ADD COLUMN removed_at BIGINT CHECK (removed_at IS NULL OR delegation IS NULL);

-- Lists, newest or oldest first, by what narrows them most.
CREATE INDEX delegation_grant_created ON delegation_grant (created_at, id);
CREATE INDEX delegation_grant_brand_created ON delegation_grant (brand_id, created_at, id);
CREATE INDEX delegation_grant_user_created ON delegation_grant (brand_user, created_at, id);
CREATE INDEX delegation_grant_pa_created ON delegation_grant (pa_issuer, created_at, id);
-- A revocation of many grants goes through the live ones of one Brand after another.
CREATE INDEX delegation_grant_live ON delegation_grant (brand_id, id, expires_at) WHERE state = 'live';
CREATE INDEX receipt_created ON receipt (created_at, id);
CREATE INDEX receipt_brand_created ON receipt (brand_id, created_at, id);
CREATE INDEX refresh_token_family_created ON refresh_token (family_id, created_at);
CREATE INDEX consent_evidence_decided ON consent_evidence (decided_at);
