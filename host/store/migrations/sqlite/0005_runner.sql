-- The embedded scheduler. Definitions as JSON; a run ends with the one that it began with.
CREATE TABLE runner_revisions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    workflow_id INTEGER NOT NULL,
    revision TEXT NOT NULL,
    definition TEXT NOT NULL,
    used_at INTEGER NOT NULL,
    UNIQUE (workflow_id, revision)
) STRICT;

-- A workflow as it is now; what it runs stands in its revisions.
CREATE TABLE runner_workflows (
    id INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    revision_id INTEGER NOT NULL REFERENCES runner_revisions (id),
    is_online INTEGER NOT NULL DEFAULT 0 CHECK (is_online IN (0, 1)),
    cron TEXT,
    time_zone TEXT,
    start_at INTEGER,
    end_at INTEGER,
    failure_strategy TEXT,
    next_fire_at INTEGER,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE INDEX runner_workflows_due ON runner_workflows (next_fire_at) WHERE next_fire_at IS NOT NULL;

-- Runs. The key names a start, and no other. One that does again what another did is named by nothing else.
CREATE TABLE runner_runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    workflow_id INTEGER NOT NULL,
    revision_id INTEGER NOT NULL REFERENCES runner_revisions (id),
    key TEXT NOT NULL UNIQUE,
    retry_of INTEGER UNIQUE,
    cause TEXT NOT NULL,
    business_at INTEGER NOT NULL,
    time_zone TEXT NOT NULL,
    params TEXT NOT NULL,
    failure_strategy TEXT NOT NULL CHECK (failure_strategy IN ('CONTINUE', 'END')),
    state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'stopping', 'success', 'failed', 'stopped')),
    message TEXT,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    ended_at INTEGER,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE INDEX runner_runs_open ON runner_runs (state, id) WHERE state IN ('queued', 'running', 'stopping');
CREATE INDEX runner_runs_by_change ON runner_runs (updated_at, id);
CREATE INDEX runner_runs_by_end ON runner_runs (ended_at);
CREATE INDEX runner_runs_by_revision ON runner_runs (revision_id);
CREATE INDEX runner_runs_by_workflow ON runner_runs (workflow_id, id);

-- Tasks that a run need not run: the run that it does again had done them.
CREATE TABLE runner_taken_over (
    run_id INTEGER NOT NULL REFERENCES runner_runs (id) ON DELETE CASCADE,
    task_id INTEGER NOT NULL,
    PRIMARY KEY (run_id, task_id)
) STRICT;

-- Tries of tasks. Lost: its server ended while it ran, which is no failure of its own. Tried again: it failed, and
-- its task has retries left.
CREATE TABLE runner_task_runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id INTEGER NOT NULL REFERENCES runner_runs (id) ON DELETE CASCADE,
    task_id INTEGER NOT NULL,
    task_name TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('running', 'success', 'failed', 'stopped')),
    is_lost INTEGER NOT NULL DEFAULT 0 CHECK (is_lost IN (0, 1)),
    is_tried_again INTEGER NOT NULL DEFAULT 0 CHECK (is_tried_again IN (0, 1)),
    message TEXT,
    rows_affected INTEGER,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    UNIQUE (run_id, task_id, attempt)
) STRICT;

CREATE INDEX runner_task_runs_running ON runner_task_runs (id) WHERE state = 'running';

-- Logs of tries, in pieces of whole lines; each begins at a byte of the whole.
CREATE TABLE runner_logs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task_run_id INTEGER NOT NULL REFERENCES runner_task_runs (id) ON DELETE CASCADE,
    at_byte INTEGER NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (task_run_id, at_byte)
) STRICT;
