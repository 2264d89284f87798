-- Who carries out a request under an `Idempotency-Key`: that one alone stores its answer, as a JWE under the master key,
-- bound to the row, since it may hold a secret that is shown once. From `held_until` on it counts as dead, and nobody
-- knows what it had done.

ALTER TABLE api_idempotency ADD COLUMN run TEXT NOT NULL DEFAULT '';
ALTER TABLE api_idempotency ADD COLUMN held_until BIGINT NOT NULL DEFAULT 0;
