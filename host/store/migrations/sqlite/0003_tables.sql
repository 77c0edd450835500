-- Physical changes, statistics and what else belongs to tables.

-- How the database differs from what a change should have given, as JSON; null: it does not.
ALTER TABLE tables ADD COLUMN drift TEXT;

-- Changes of physical tables. The names are those that the change begins with and ends with, so that nobody else
-- takes either meanwhile. Claimed: a server has begun, and what is in the database is to be looked at.
CREATE TABLE table_changes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    table_id INTEGER NOT NULL REFERENCES tables (id) ON DELETE CASCADE,
    cluster_id INTEGER NOT NULL,
    db_name TEXT NOT NULL,
    table_name TEXT NOT NULL,
    new_name TEXT NOT NULL,
    kind TEXT NOT NULL,
    wanted TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('running', 'success', 'failed')),
    claimed INTEGER NOT NULL DEFAULT 0 CHECK (claimed IN (0, 1)),
    statements TEXT NOT NULL DEFAULT '[]',
    notes TEXT NOT NULL DEFAULT '[]',
    drift TEXT NOT NULL DEFAULT '[]',
    error TEXT,
    requested_by TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    finished_at INTEGER
) STRICT;

CREATE INDEX table_changes_by_table ON table_changes (table_id, id);
CREATE INDEX table_changes_by_end ON table_changes (finished_at);
CREATE UNIQUE INDEX table_changes_running ON table_changes (table_id) WHERE state = 'running';

-- One row for each time that a table was measured.
CREATE TABLE table_statistics (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    table_id INTEGER NOT NULL REFERENCES tables (id) ON DELETE CASCADE,
    cluster_id INTEGER NOT NULL,
    row_count INTEGER,
    data_size INTEGER,
    index_size INTEGER,
    partition_count INTEGER,
    exact INTEGER NOT NULL CHECK (exact IN (0, 1)),
    collected_at INTEGER NOT NULL
) STRICT;

CREATE INDEX table_statistics_by_table ON table_statistics (table_id, collected_at, id);
CREATE INDEX table_statistics_by_time ON table_statistics (collected_at);
