-- The last look at an engine for its runs: when it was, when one succeeded, and why the last one did not.
CREATE TABLE engine_looks (
    engine TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES engines (name) ON DELETE CASCADE,
    looked_at BIGINT NOT NULL,
    answered_at BIGINT,
    message TEXT COLLATE "C"
);
