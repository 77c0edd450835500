-- Queries that were run for somebody: one row for each table that one read, or one without a table. The names are
-- those of then; a table that is not in `tables` is a view of the data source `lakeport`.
CREATE TABLE query_log (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    query_id TEXT COLLATE "C" NOT NULL,
    datasource_id BIGINT NOT NULL,
    table_id BIGINT,
    table_name TEXT COLLATE "C",
    asked_by TEXT COLLATE "C" NOT NULL,
    origin TEXT COLLATE "C" NOT NULL,
    outcome TEXT COLLATE "C" NOT NULL CHECK (outcome IN ('success', 'failed', 'cancelled')),
    at BIGINT NOT NULL
);

CREATE INDEX query_log_by_time ON query_log (at);
CREATE INDEX query_log_by_table ON query_log (table_id, at) WHERE table_id IS NOT NULL;
