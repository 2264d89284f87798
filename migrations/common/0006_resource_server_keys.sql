-- Keys with which a Brand's own account API asks whether a delegation token is good. Stored as SHA-256 only.
CREATE TABLE resource_server_key (
    id TEXT PRIMARY KEY,
    brand_id TEXT NOT NULL REFERENCES brand (id),
    -- for people
    name TEXT NOT NULL,
    digest TEXT NOT NULL UNIQUE,
    created_at BIGINT NOT NULL,
    -- NULL for one that is good until it is revoked
    expires_at BIGINT,
    revoked_at BIGINT
);
CREATE INDEX resource_server_key_brand ON resource_server_key (brand_id, created_at);
