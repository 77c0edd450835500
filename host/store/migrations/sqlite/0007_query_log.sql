-- Queries that were run for somebody: one row for each table that one read, or one without a table. The names are
-- those of then; a table that is not in `tables` is a view of the data source `lakeport`.
CREATE TABLE query_log (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    query_id TEXT NOT NULL,
    datasource_id INTEGER NOT NULL,
    table_id INTEGER,
    table_name TEXT,
    asked_by TEXT NOT NULL,
    origin TEXT NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('success', 'failed', 'cancelled')),
    at INTEGER NOT NULL
) STRICT;

CREATE INDEX query_log_by_time ON query_log (at);
CREATE INDEX query_log_by_table ON query_log (table_id, at) WHERE table_id IS NOT NULL;
