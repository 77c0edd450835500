-- An answer that is kept while its request still waits for the end of what it began: until then a repeat waits, too.
ALTER TABLE idempotency_keys ADD COLUMN waits_until BIGINT;
