-- A backfill is one row, with its dates in the order of their runs and its workflows as JSON. A run of it is a row once
-- it is begun: one for each workflow at a position of the dates. Its key is the key of the row in runs.
CREATE TABLE backfills (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    workflow_id INTEGER NOT NULL,
    workflow_name TEXT NOT NULL,
    code TEXT,
    state TEXT NOT NULL CHECK (state IN ('running', 'stopping', 'success', 'failed', 'cancelled')),
    workflows TEXT NOT NULL,
    dates TEXT NOT NULL,
    total INTEGER NOT NULL,
    parallelism INTEGER NOT NULL,
    failure_strategy TEXT NOT NULL CHECK (failure_strategy IN ('CONTINUE', 'END')),
    requested_by TEXT NOT NULL,
    requested_at INTEGER NOT NULL,
    ended_at INTEGER,
    error_code TEXT,
    message TEXT
) STRICT;

CREATE INDEX backfills_open ON backfills (id) WHERE ended_at IS NULL;
CREATE INDEX backfills_by_code ON backfills (code) WHERE code IS NOT NULL;
CREATE INDEX backfills_by_end ON backfills (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE backfill_runs (
    backfill_id INTEGER NOT NULL REFERENCES backfills (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    place INTEGER NOT NULL,
    key TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL CHECK (state IN ('running', 'success', 'failed', 'cancelled')),
    instance_id TEXT,
    message TEXT,
    PRIMARY KEY (backfill_id, position, place)
) STRICT, WITHOUT ROWID;

CREATE INDEX runs_by_business_time ON runs (workflow_id, business_time) WHERE state = 'success';
