-- What every change leaves for those who must follow it: other replicas, and this one's own memory. The number
-- is taken inside the change's transaction and under a lock, so that numbers are in the order of the commits.
CREATE TABLE change_counter (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    number INTEGER NOT NULL
) STRICT;

INSERT INTO change_counter (id, number) VALUES (1, 0);

CREATE TABLE changes (
    number INTEGER NOT NULL PRIMARY KEY,
    topic TEXT NOT NULL,
    key TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;

CREATE INDEX changes_by_time ON changes (at);

-- Who may do a piece of work, until when. The epoch grows with each new owner: a write that names an old one
-- changes nothing.
CREATE TABLE leases (
    name TEXT NOT NULL PRIMARY KEY,
    owner TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;

-- Tokens by the digest of their text; the text itself is shown once and kept nowhere. Datasources and scopes are
-- JSON arrays of names; no datasources: all.
CREATE TABLE tokens (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('viewer', 'editor', 'approver', 'admin')),
    digest TEXT NOT NULL UNIQUE,
    datasources TEXT,
    scopes TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT;

CREATE UNIQUE INDEX tokens_by_name ON tokens (name) WHERE revoked_at IS NULL;

-- Every change and every refused one; rows are only added, and purged by age alone.
CREATE TABLE audit_log (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    actor_kind TEXT NOT NULL,
    operation TEXT NOT NULL,
    resource TEXT NOT NULL,
    resource_id TEXT,
    outcome TEXT NOT NULL,
    status INTEGER NOT NULL,
    before_digest TEXT,
    after_digest TEXT,
    request_id TEXT NOT NULL
) STRICT;

CREATE INDEX audit_log_by_time ON audit_log (at);
CREATE INDEX audit_log_by_resource ON audit_log (resource, resource_id, id);
CREATE INDEX audit_log_by_actor ON audit_log (actor, id);

CREATE TRIGGER audit_log_is_not_edited BEFORE UPDATE ON audit_log BEGIN
    SELECT RAISE(ABORT, 'rows of audit_log are only added');
END;

-- First answers of requests that name an Idempotency-Key. No status: the first still runs, until expires_at.
CREATE TABLE idempotency_keys (
    caller TEXT NOT NULL,
    method TEXT NOT NULL,
    path TEXT NOT NULL,
    key TEXT NOT NULL,
    body_digest TEXT NOT NULL,
    claim TEXT NOT NULL,
    status INTEGER,
    headers TEXT,
    body BLOB,
    encrypted INTEGER NOT NULL DEFAULT 0 CHECK (encrypted IN (0, 1)),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (caller, method, path, key)
) STRICT;

CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (expires_at);

-- Physical databases. The addresses are without passwords; the secret columns hold these as the store's key
-- encrypted them. The one named `lakeport` is this store.
CREATE TABLE datasources (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    url TEXT NOT NULL,
    read_url TEXT,
    secret BLOB,
    read_secret BLOB,
    options TEXT NOT NULL DEFAULT '{}',
    is_default INTEGER NOT NULL DEFAULT 0 CHECK (is_default IN (0, 1)),
    sync_cron TEXT,
    next_sync_at INTEGER,
    last_sync_time INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX datasources_default ON datasources (is_default) WHERE is_default = 1;

-- One row for each reading of a data source into the catalogue. What was found is counted as it is written, in
-- the same transactions.
CREATE TABLE datasource_syncs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    datasource_id INTEGER NOT NULL REFERENCES datasources (id) ON DELETE CASCADE,
    state TEXT NOT NULL CHECK (state IN ('running', 'success', 'failed', 'cancelled')),
    tables_total INTEGER,
    tables_done INTEGER NOT NULL DEFAULT 0,
    tables_new INTEGER NOT NULL DEFAULT 0,
    tables_updated INTEGER NOT NULL DEFAULT 0,
    tables_missing INTEGER NOT NULL DEFAULT 0,
    fields_new INTEGER NOT NULL DEFAULT 0,
    fields_updated INTEGER NOT NULL DEFAULT 0,
    fields_missing INTEGER NOT NULL DEFAULT 0,
    errors TEXT NOT NULL DEFAULT '[]',
    started_at INTEGER NOT NULL,
    finished_at INTEGER
) STRICT;

CREATE INDEX datasource_syncs_by_datasource ON datasource_syncs (datasource_id, id);
CREATE UNIQUE INDEX datasource_syncs_running ON datasource_syncs (datasource_id) WHERE state = 'running';

-- Definitions of tables. Without a data source: cluster_id is null.
CREATE TABLE tables (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    cluster_id INTEGER REFERENCES datasources (id),
    db_name TEXT NOT NULL,
    table_name TEXT NOT NULL,
    table_comment TEXT,
    layer TEXT,
    business_domain TEXT,
    data_domain TEXT,
    owner TEXT,
    table_model TEXT,
    distribution_column TEXT,
    bucket_num INTEGER,
    replica_num INTEGER,
    key_columns TEXT,
    partition_column TEXT,
    status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'deprecated')),
    physical INTEGER NOT NULL DEFAULT 0 CHECK (physical IN (0, 1)),
    row_count INTEGER,
    data_size INTEGER,
    index_size INTEGER,
    statistics_time INTEGER,
    origin_table_name TEXT,
    deprecated_at INTEGER,
    purge_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX tables_by_name ON tables (coalesce(cluster_id, 0), db_name, table_name)
    WHERE status = 'active';
CREATE INDEX tables_by_cluster ON tables (cluster_id, db_name, table_name);

CREATE TABLE fields (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    table_id INTEGER NOT NULL REFERENCES tables (id) ON DELETE CASCADE,
    field_name TEXT NOT NULL,
    field_type TEXT NOT NULL,
    field_comment TEXT,
    is_primary_key INTEGER NOT NULL DEFAULT 0 CHECK (is_primary_key IN (0, 1)),
    is_nullable INTEGER NOT NULL DEFAULT 1 CHECK (is_nullable IN (0, 1)),
    default_value TEXT,
    field_order INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (table_id, field_name)
) STRICT;
