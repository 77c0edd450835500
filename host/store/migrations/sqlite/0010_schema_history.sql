-- What became of tables' schemas. The version is that of the table after the entry; `undo` is what it takes to go back
-- to the version before.
ALTER TABLE tables ADD COLUMN schema_version INTEGER NOT NULL DEFAULT 0;

CREATE TABLE schema_history (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    table_id INTEGER NOT NULL REFERENCES tables (id) ON DELETE CASCADE,
    version INTEGER NOT NULL,
    source TEXT NOT NULL CHECK (source IN ('sync', 'change', 'catalogue')),
    changed_by TEXT,
    changes TEXT NOT NULL,
    undo TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX schema_history_by_table ON schema_history (table_id, version);
CREATE INDEX schema_history_by_time ON schema_history (at);
