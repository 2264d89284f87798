-- Seals under a key derived from the master key: whoever can write here and has not that key cannot make one.

-- Over the row's place and digest. NULL in rows from before there were seals
ALTER TABLE audit ADD COLUMN seal TEXT;
-- The receipt or the evidence of a decision that was stored together with the row, and the digest of all its columns
ALTER TABLE audit ADD COLUMN bound_id TEXT;
ALTER TABLE audit ADD COLUMN bound_digest TEXT;
-- Over the chain's length and latest digest, so that its newest row cannot go unnoticed either
ALTER TABLE audit_head ADD COLUMN seal TEXT;

CREATE INDEX audit_bound ON audit (bound_id);
CREATE INDEX audit_at ON audit (at, brand_id, sequence);
