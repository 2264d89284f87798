-- Contexts, turns and receipts. Message texts are not stored; replies are, while their context lives.

CREATE TABLE context (
    id TEXT PRIMARY KEY,
    brand_id TEXT NOT NULL REFERENCES brand (id),
    pa_issuer TEXT NOT NULL,
    pa_sub TEXT NOT NULL,
    -- bound when the first turn under delegation is reserved
    brand_user TEXT,
    -- the latest grant it ran under; the context ends with it
    grant_id TEXT REFERENCES delegation_grant (id),
    closed_at BIGINT,
    created_at BIGINT NOT NULL,
    last_turn_at BIGINT NOT NULL,
    CHECK ((brand_user IS NULL) = (grant_id IS NULL))
);
CREATE INDEX context_last_turn ON context (last_turn_at);

CREATE TABLE turn (
    context_id TEXT NOT NULL REFERENCES context (id),
    message_id TEXT NOT NULL,
    fence BIGINT NOT NULL,
    step_ups BIGINT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('running', 'answered', 'step_up', 'released')),
    lease_until BIGINT,
    reply TEXT,
    grant_id TEXT REFERENCES delegation_grant (id),
    missing_scopes TEXT,
    device_authorization_id TEXT,
    PRIMARY KEY (context_id, message_id),
    CHECK ((state = 'running') = (lease_until IS NOT NULL)),
    CHECK ((state IN ('answered', 'step_up')) = (reply IS NOT NULL)),
    CHECK ((state = 'step_up') = (missing_scopes IS NOT NULL)),
    CHECK ((missing_scopes IS NULL) = (device_authorization_id IS NULL))
);

-- Every receipt that was signed. Append-only.
CREATE TABLE receipt (
    id TEXT PRIMARY KEY,
    brand_id TEXT NOT NULL REFERENCES brand (id),
    grant_id TEXT NOT NULL REFERENCES delegation_grant (id),
    context_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    jws TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX receipt_grant ON receipt (grant_id, created_at);
