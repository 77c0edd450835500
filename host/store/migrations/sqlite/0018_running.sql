-- What an engine is asked to change, noted before it is asked, as JSON, until its answer is stored; when it is asked
-- again, and how often it was. The status compares what is wanted with what the engine has.
ALTER TABLE workflows ADD COLUMN wanted TEXT;
ALTER TABLE workflows ADD COLUMN wanted_at INTEGER;
ALTER TABLE workflows ADD COLUMN wanted_tries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflows ADD COLUMN engine_status TEXT NOT NULL DEFAULT 'in_sync' CHECK (engine_status IN ('in_sync', 'pending', 'failed'));
ALTER TABLE workflows ADD COLUMN engine_error TEXT;

CREATE INDEX workflows_wanted ON workflows (wanted_at) WHERE wanted_at IS NOT NULL;

-- The version of the workflow that was deployed when the run began; none: unknown.
ALTER TABLE runs ADD COLUMN workflow_version INTEGER;
CREATE INDEX runs_of_workflow ON runs (workflow_id, id);

-- Warnings of ended runs that the webhook has not accepted yet, as JSON.
CREATE TABLE alerts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    payload TEXT NOT NULL,
    next_at INTEGER NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX alerts_due ON alerts (next_at, id);

-- Features of its plugin that the configured engine does without, as its last test found, as JSON.
ALTER TABLE engines ADD COLUMN missing_features TEXT;

-- A script may use any data source: like one that does not exist, it is closed to callers that are bound to some.
UPDATE task_versions SET datasource_id = 0 WHERE content LIKE '%"taskType":"SHELL"%';
