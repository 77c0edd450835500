-- Workflows, tasks, their versions and publications.

-- A workflow as it stands now. Content is what it is besides its tasks, as JSON; parts the sum of its tasks'
-- digests. Its versions count every change; changed_version is the last one that changed more than the schedule,
-- schedule_version the last one that set it. What begins with engine is what the engine knows of it. One that was
-- deleted stays, for its publications.
CREATE TABLE workflows (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    name_folded TEXT NOT NULL,
    scheduler_engine TEXT NOT NULL,
    content TEXT NOT NULL,
    version INTEGER NOT NULL,
    changed_version INTEGER NOT NULL,
    schedule_version INTEGER NOT NULL,
    parts TEXT NOT NULL,
    task_count INTEGER NOT NULL,
    binding_count INTEGER NOT NULL,
    text_bytes INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('draft', 'offline', 'online')),
    publication TEXT NOT NULL CHECK (publication IN ('none', 'pending', 'failed')),
    published_version INTEGER,
    engine TEXT,
    engine_name TEXT,
    engine_code TEXT,
    engine_project TEXT,
    engine_revision TEXT,
    engine_state TEXT,
    created_by TEXT NOT NULL,
    updated_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER
) STRICT;

CREATE UNIQUE INDEX workflows_by_name ON workflows (name) WHERE deleted_at IS NULL;
CREATE INDEX workflows_by_engine ON workflows (engine, id) WHERE engine IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX workflows_by_scheduler_engine ON workflows (scheduler_engine) WHERE deleted_at IS NULL;

-- One row for each change. No content: that of the version before.
CREATE TABLE workflow_versions (
    workflow_id INTEGER NOT NULL REFERENCES workflows (id),
    version INTEGER NOT NULL,
    source TEXT NOT NULL CHECK (source IN ('create', 'update', 'task', 'rollback', 'import')),
    comment TEXT,
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    digest TEXT NOT NULL,
    content TEXT,
    PRIMARY KEY (workflow_id, version)
) STRICT, WITHOUT ROWID;

CREATE INDEX workflow_versions_with_content ON workflow_versions (workflow_id, version) WHERE content IS NOT NULL;

-- Without a workflow: the task was left when its workflow was deleted.
CREATE TABLE tasks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    workflow_id INTEGER REFERENCES workflows (id),
    task_name TEXT NOT NULL,
    name_folded TEXT NOT NULL,
    task_type TEXT NOT NULL,
    datasource_id INTEGER REFERENCES datasources (id),
    sql_content TEXT,
    priority TEXT NOT NULL,
    timeout INTEGER NOT NULL,
    retry_times INTEGER NOT NULL,
    retry_interval INTEGER NOT NULL,
    inputs_given INTEGER NOT NULL CHECK (inputs_given IN (0, 1)),
    outputs_given INTEGER NOT NULL CHECK (outputs_given IN (0, 1)),
    digest TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX tasks_by_name ON tasks (workflow_id, task_name) WHERE workflow_id IS NOT NULL;
CREATE INDEX tasks_by_workflow ON tasks (workflow_id, id);
CREATE INDEX tasks_by_datasource ON tasks (datasource_id) WHERE datasource_id IS NOT NULL;

-- Which tables a task reads and writes, in the order they were given. Source and target make steps of it, from a
-- table to the tasks that read it and from a task to what it writes: a table by its id, a task by its id's negative.
CREATE TABLE task_tables (
    task_id INTEGER NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    direction TEXT NOT NULL CHECK (direction IN ('input', 'output')),
    table_id INTEGER NOT NULL REFERENCES tables (id),
    place INTEGER NOT NULL,
    workflow_id INTEGER,
    source INTEGER GENERATED ALWAYS AS (CASE direction WHEN 'input' THEN table_id ELSE -task_id END) STORED,
    target INTEGER GENERATED ALWAYS AS (CASE direction WHEN 'input' THEN -task_id ELSE table_id END) STORED,
    PRIMARY KEY (task_id, direction, table_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX task_tables_by_table ON task_tables (table_id);
CREATE INDEX task_tables_by_source ON task_tables (workflow_id, source, target) WHERE workflow_id IS NOT NULL;

-- What a task was, from one version of its workflow up to another; no to_version: it still is. Beside is what does
-- not count as a change: the names that it referred to, and which lists were given. The data source stands in the
-- content, too; here it is found.
CREATE TABLE task_versions (
    workflow_id INTEGER NOT NULL REFERENCES workflows (id),
    task_id INTEGER NOT NULL,
    from_version INTEGER NOT NULL,
    to_version INTEGER,
    content TEXT NOT NULL,
    beside TEXT NOT NULL,
    digest TEXT NOT NULL,
    datasource_id INTEGER,
    PRIMARY KEY (workflow_id, task_id, from_version)
) STRICT;

CREATE INDEX task_versions_by_datasource ON task_versions (datasource_id) WHERE datasource_id IS NOT NULL;

-- One row for each submission. It is deployed once it is approved; deployment_state pending is the work that a
-- server picks up.
CREATE TABLE publications (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    workflow_id INTEGER NOT NULL REFERENCES workflows (id),
    version INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('PENDING', 'APPROVED', 'REJECTED')),
    comment TEXT,
    submitted_by TEXT NOT NULL,
    submitter TEXT NOT NULL,
    submitted_at INTEGER NOT NULL,
    decided_by TEXT,
    decided_at INTEGER,
    decision_comment TEXT,
    deployment_state TEXT CHECK (deployment_state IN ('pending', 'success', 'failed')),
    deployment_code TEXT,
    deployment_error TEXT,
    deployment_started_at INTEGER,
    deployment_finished_at INTEGER
) STRICT;

CREATE UNIQUE INDEX publications_pending ON publications (workflow_id) WHERE status = 'PENDING';
CREATE UNIQUE INDEX publications_deploying ON publications (workflow_id) WHERE deployment_state = 'pending';
CREATE INDEX publications_by_workflow ON publications (workflow_id, id);
CREATE INDEX publications_by_submission ON publications (submitted_at);
CREATE INDEX publications_by_decision ON publications (decided_at);
CREATE INDEX publications_by_deployment ON publications (deployment_finished_at);
