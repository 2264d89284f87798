-- Device authorizations, grants and what is issued under them. Codes and tokens are stored as SHA-256 only.

CREATE TABLE delegation_grant (
    id TEXT PRIMARY KEY,
    brand_id TEXT NOT NULL REFERENCES brand (id),
    brand_user TEXT NOT NULL,
    pa_issuer TEXT NOT NULL,
    pa_sub TEXT NOT NULL,
    scopes TEXT NOT NULL,
    version BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    decided_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    last_used_at BIGINT,
    state TEXT NOT NULL CHECK (state IN ('live', 'ended')),
    ended_at BIGINT,
    ended_by TEXT CHECK (ended_by IN ('user', 'personal_agent', 'administrator', 'brand_change', 'expiry')),
    CHECK ((state = 'ended') = (ended_at IS NOT NULL)),
    CHECK ((ended_at IS NULL) = (ended_by IS NULL))
);
CREATE UNIQUE INDEX delegation_grant_one_live
    ON delegation_grant (brand_id, brand_user, pa_issuer, pa_sub) WHERE state = 'live';
CREATE INDEX delegation_grant_pa ON delegation_grant (pa_issuer, state);

CREATE TABLE device_authorization (
    id TEXT PRIMARY KEY,
    brand_id TEXT NOT NULL REFERENCES brand (id),
    pa_issuer TEXT NOT NULL,
    pa_sub TEXT NOT NULL,
    -- NULL for a step-up, which has a user code alone
    device_code_digest TEXT UNIQUE,
    -- HMAC under a key derived from the master key
    user_code_mac TEXT NOT NULL,
    scopes TEXT NOT NULL,
    step_up_grant_id TEXT REFERENCES delegation_grant (id),
    sealed_user_code TEXT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'redeemed')),
    state_at BIGINT,
    grant_id TEXT REFERENCES delegation_grant (id),
    granted TEXT,
    CHECK ((state = 'pending') = (state_at IS NULL)),
    CHECK ((state IN ('approved', 'redeemed')) = (grant_id IS NOT NULL)),
    CHECK ((grant_id IS NULL) = (granted IS NULL)),
    CHECK ((device_code_digest IS NULL) = (step_up_grant_id IS NOT NULL)),
    CHECK ((step_up_grant_id IS NULL) = (sealed_user_code IS NULL)),
    UNIQUE (brand_id, user_code_mac)
);
CREATE INDEX device_authorization_live ON device_authorization (pa_issuer, pa_sub, brand_id, expires_at);
CREATE INDEX device_authorization_step_up ON device_authorization (step_up_grant_id, expires_at);
CREATE INDEX device_authorization_expiry ON device_authorization (expires_at);

CREATE TABLE refresh_family (
    id TEXT PRIMARY KEY,
    grant_id TEXT NOT NULL REFERENCES delegation_grant (id),
    created_at BIGINT NOT NULL,
    revoked_at BIGINT
);
CREATE INDEX refresh_family_grant ON refresh_family (grant_id);

CREATE TABLE refresh_token (
    digest TEXT PRIMARY KEY,
    family_id TEXT NOT NULL REFERENCES refresh_family (id),
    created_at BIGINT NOT NULL,
    -- when its successor was born; NULL while it is live
    used_at BIGINT,
    -- the delegation token that was issued beside it
    token_id TEXT NOT NULL,
    token_scopes TEXT NOT NULL,
    token_expires_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX refresh_token_one_live ON refresh_token (family_id) WHERE used_at IS NULL;

CREATE TABLE assertion_jti (
    brand_id TEXT NOT NULL REFERENCES brand (id),
    jti TEXT NOT NULL,
    forget_at BIGINT NOT NULL,
    PRIMARY KEY (brand_id, jti)
);
CREATE INDEX assertion_jti_forget ON assertion_jti (forget_at);

-- A browser that came through the Brand's login.
CREATE TABLE browser_session (
    digest TEXT PRIMARY KEY,
    brand_id TEXT NOT NULL REFERENCES brand (id),
    brand_user TEXT NOT NULL,
    -- the code that the User signed in for
    device_authorization_id TEXT NOT NULL,
    -- JSON: the verified assertion
    assertion TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX browser_session_user ON browser_session (brand_id, brand_user, expires_at);
CREATE INDEX browser_session_expiry ON browser_session (expires_at);

-- A consent page that was shown: what its hidden field `session` stands for.
CREATE TABLE consent_page (
    digest TEXT PRIMARY KEY,
    brand_id TEXT NOT NULL REFERENCES brand (id),
    brand_user TEXT NOT NULL,
    device_authorization_id TEXT NOT NULL,
    -- JSON: each scope's id and words, in the order shown
    shown TEXT NOT NULL,
    language TEXT NOT NULL,
    -- JSON: the verified assertion
    assertion TEXT NOT NULL,
    -- under the master key, since the page may have to be shown anew
    sealed_user_code TEXT NOT NULL,
    grant_id TEXT,
    grant_version BIGINT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    CHECK ((grant_id IS NULL) = (grant_version IS NULL))
);
CREATE INDEX consent_page_expiry ON consent_page (expires_at);

-- What an auditor asks for a year later. Append-only.
CREATE TABLE consent_evidence (
    device_authorization_id TEXT PRIMARY KEY,
    brand_id TEXT NOT NULL REFERENCES brand (id),
    brand_user TEXT NOT NULL,
    pa_issuer TEXT NOT NULL,
    pa_sub TEXT NOT NULL,
    -- the grant that the decision made, changed or ended
    grant_id TEXT,
    decision TEXT NOT NULL CHECK (decision IN ('approved', 'approved_without_page', 'denied', 'withdrawn')),
    shown TEXT NOT NULL,
    language TEXT NOT NULL,
    granted TEXT NOT NULL,
    assertion TEXT NOT NULL,
    decided_at BIGINT NOT NULL
);
CREATE INDEX consent_evidence_grant ON consent_evidence (grant_id);
