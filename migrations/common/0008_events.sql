-- What a Brand is still to be told of its grants. A row is written with the change that it tells of and leaves once the
-- Brand has acknowledged it.

ALTER TABLE brand ADD COLUMN sends_events BOOLEAN NOT NULL DEFAULT FALSE;

CREATE TABLE event (
    -- the `jti`: the grant's id and the version that the change gave it
    id TEXT PRIMARY KEY,
    brand_id TEXT NOT NULL,
    grant_id TEXT NOT NULL,
    -- grows with each change of the grant: the order in which its events are sent
    grant_version BIGINT NOT NULL,
    what TEXT NOT NULL CHECK (what IN ('created', 'changed', 'ended')),
    ended_by TEXT,
    brand_user TEXT NOT NULL,
    pa_issuer TEXT NOT NULL,
    scopes TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    happened_at BIGINT NOT NULL,
    -- how often a node has taken it to send it
    attempts BIGINT NOT NULL,
    -- when it may be taken next; while a node has it, the end of that node's lease
    due_at BIGINT NOT NULL,
    CHECK ((what = 'ended') = (ended_by IS NOT NULL)),
    UNIQUE (grant_id, grant_version)
);
CREATE INDEX event_due ON event (due_at, brand_id);
CREATE INDEX event_brand ON event (brand_id, due_at);
CREATE INDEX event_happened ON event (happened_at);
