-- The last look at an engine for its runs: when it was, when one succeeded, and why the last one did not.
CREATE TABLE engine_looks (
    engine TEXT NOT NULL PRIMARY KEY REFERENCES engines (name) ON DELETE CASCADE,
    looked_at INTEGER NOT NULL,
    answered_at INTEGER,
    message TEXT
) STRICT;
