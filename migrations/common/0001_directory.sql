-- What a node may cache: Brands, personal agents and keys. Times are milliseconds since the Unix epoch.

-- Grows with every change below; nodes that see it grow read everything anew.
CREATE TABLE directory_revision (
    only_row BIGINT PRIMARY KEY CHECK (only_row = 1),
    revision BIGINT NOT NULL
);
INSERT INTO directory_revision (only_row, revision) VALUES (1, 0);

CREATE TABLE brand (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    -- JSON: description, version, skills, agent
    profile TEXT NOT NULL,
    -- JSON, NULL for a Brand of the Identity profile alone
    delegation TEXT,
    -- the origin inside delegation, where two Brands must not meet
    auth_origin TEXT UNIQUE,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    CHECK (auth_origin IS NULL OR delegation IS NOT NULL)
);

CREATE TABLE personal_agent (
    issuer TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    jwks_uri TEXT NOT NULL,
    enabled BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE TABLE signing_key (
    kid TEXT PRIMARY KEY,
    brand_id TEXT NOT NULL REFERENCES brand (id),
    alg TEXT NOT NULL CHECK (alg IN ('ES256', 'RS256')),
    public_jwk TEXT NOT NULL,
    -- a JWE under the master key, bound to brand_id and kid
    sealed_private TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('live', 'retired', 'compromised')),
    -- when the key starts to sign, was retired, or was given up
    state_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX signing_key_brand ON signing_key (brand_id);
