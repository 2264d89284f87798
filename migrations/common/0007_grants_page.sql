-- The User's own page: who signed in to see what they allowed, without a code to decide on.

-- Rows live 15 minutes, so nobody misses them; those signed in sign in again.
DROP TABLE browser_session;
CREATE TABLE browser_session (
    digest TEXT PRIMARY KEY,
    brand_id TEXT NOT NULL REFERENCES brand (id),
    brand_user TEXT NOT NULL,
    -- the code that the User signed in for; NULL for who came to see their grants
    device_authorization_id TEXT,
    -- JSON: the verified assertion
    assertion TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX browser_session_user ON browser_session (brand_id, brand_user, expires_at);
CREATE INDEX browser_session_expiry ON browser_session (expires_at);

-- A list of grants that was shown: what the hidden field `session` of its forms stands for.
CREATE TABLE grants_page (
    digest TEXT PRIMARY KEY,
    brand_id TEXT NOT NULL REFERENCES brand (id),
    brand_user TEXT NOT NULL,
    -- JSON: the id and version of each grant that can be revoked from it
    shown TEXT NOT NULL,
    -- JSON: the verified assertion
    assertion TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX grants_page_expiry ON grants_page (expires_at);

CREATE INDEX delegation_grant_user ON delegation_grant (brand_id, brand_user, state);
