-- Schedulers that workflows are deployed to: a plugin with a configuration. The secrets are one JSON object, as the
-- store's key encrypted it; their names are a JSON array.
CREATE TABLE engines (
    name TEXT NOT NULL PRIMARY KEY,
    plugin TEXT NOT NULL,
    config TEXT NOT NULL DEFAULT '{}',
    secrets BLOB,
    secret_names TEXT NOT NULL DEFAULT '[]',
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

-- How far the runs of an engine have been seen; a bucket is a stretch of workflows' ids.
CREATE TABLE engine_watches (
    engine TEXT NOT NULL,
    bucket INTEGER NOT NULL,
    cursor TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (engine, bucket)
) STRICT;

-- Runs of workflows: asked for here (they have a key, and no instance before the engine's answer), or seen in the
-- engine. One that has no ended_at is looked after. The version grows with each write.
CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    engine TEXT NOT NULL,
    workflow_id INTEGER NOT NULL,
    workflow_name TEXT NOT NULL,
    key TEXT UNIQUE,
    trigger_code TEXT,
    instance_id TEXT,
    state TEXT NOT NULL CHECK (state IN ('asked', 'queued', 'running', 'paused', 'stopping', 'success', 'failed',
        'stopped', 'unknown')),
    cause TEXT NOT NULL CHECK (cause IN ('manual', 'schedule', 'backfill')),
    business_time INTEGER,
    asked_at INTEGER NOT NULL,
    started_at INTEGER,
    ended_at INTEGER,
    message TEXT,
    version INTEGER NOT NULL DEFAULT 0,
    UNIQUE (engine, instance_id)
) STRICT;

CREATE INDEX runs_open ON runs (engine, id) WHERE ended_at IS NULL;
CREATE INDEX runs_by_end ON runs (ended_at) WHERE ended_at IS NOT NULL;

-- What became of a task in a run: one row for all its tries, whose ids are a JSON array. `at` is when the latest try
-- began, or when it was first seen.
CREATE TABLE executions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    task_key TEXT NOT NULL,
    engine TEXT NOT NULL,
    instance_id TEXT NOT NULL,
    workflow_id INTEGER NOT NULL,
    workflow_name TEXT NOT NULL,
    task_id INTEGER,
    task_name TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('pending', 'running', 'success', 'failed', 'killed', 'paused')),
    trigger_type TEXT NOT NULL CHECK (trigger_type IN ('manual', 'schedule', 'backfill')),
    schedule_time INTEGER,
    attempt INTEGER NOT NULL,
    start_time INTEGER,
    end_time INTEGER,
    duration INTEGER,
    error_message TEXT,
    rows_affected INTEGER,
    tries TEXT NOT NULL,
    at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (run_id, task_key)
) STRICT;

CREATE INDEX executions_by_task ON executions (task_id, id);
CREATE INDEX executions_by_workflow ON executions (workflow_id, id);
CREATE INDEX executions_by_status ON executions (status, id);
CREATE INDEX executions_by_time ON executions (at);
