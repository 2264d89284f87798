-- The audit log: append-only, chained per Brand over digests. The empty brand_id is the Provider's own chain.

CREATE TABLE audit_head (
    brand_id TEXT PRIMARY KEY,
    sequence BIGINT NOT NULL,
    digest TEXT NOT NULL
);

CREATE TABLE audit (
    brand_id TEXT NOT NULL,
    sequence BIGINT NOT NULL,
    at BIGINT NOT NULL,
    actor_kind TEXT NOT NULL CHECK (actor_kind IN ('user', 'personal_agent', 'administrator', 'assent')),
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    request_id TEXT NOT NULL,
    -- JSON; NULL once erased
    payload TEXT,
    payload_digest TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (brand_id, sequence)
);
CREATE INDEX audit_subject ON audit (brand_id, subject);
