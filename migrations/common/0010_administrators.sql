-- Administrators, their sessions, and API keys. Passwords are stored as argon2id, everything random as SHA-256 only.

CREATE TABLE administrator (
    name TEXT PRIMARY KEY,
    -- a PHC string
    password_hash TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('owner', 'operator', 'auditor')),
    -- `*`, or the ids of Brands with a space between them
    reach TEXT NOT NULL,
    -- a JWE under the master key, bound to the name; NULL without a second factor
    sealed_totp TEXT,
    -- the latest time step whose code was accepted: each is accepted once
    totp_step BIGINT,
    -- grows with every change but a log-in
    version BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    changed_at BIGINT NOT NULL,
    logged_in_at BIGINT,
    disabled_at BIGINT,
    CHECK (totp_step IS NULL OR sealed_totp IS NOT NULL)
);

CREATE TABLE administrator_session (
    digest TEXT PRIMARY KEY,
    administrator TEXT NOT NULL REFERENCES administrator (name) ON DELETE CASCADE,
    -- one that waits for its second factor lets nobody do anything
    stage TEXT NOT NULL CHECK (stage IN ('second_factor', 'live')),
    created_at BIGINT NOT NULL,
    last_seen_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX administrator_session_administrator ON administrator_session (administrator);
CREATE INDEX administrator_session_expiry ON administrator_session (expires_at);

CREATE TABLE api_key (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    digest TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL CHECK (role IN ('owner', 'operator', 'auditor')),
    reach TEXT NOT NULL,
    -- as the audit log names who made it
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    -- to a quarter of an hour
    last_used_at BIGINT,
    revoked_at BIGINT
);

-- What was answered to a write of the JSON API under an `Idempotency-Key`: it is answered again, not done again.
CREATE TABLE api_idempotency (
    api_key_id TEXT NOT NULL REFERENCES api_key (id),
    key_digest TEXT NOT NULL,
    request_digest TEXT NOT NULL,
    -- NULL while the first request is under way
    status BIGINT,
    body TEXT,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (api_key_id, key_digest),
    CHECK ((status IS NULL) = (body IS NULL))
);
CREATE INDEX api_idempotency_age ON api_idempotency (created_at);
