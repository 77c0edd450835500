-- What is deployed: the digest of the published version without its schedule, and the schedule that the engine was
-- given last, as JSON.
ALTER TABLE workflows ADD COLUMN published_digest TEXT;
ALTER TABLE workflows ADD COLUMN engine_schedule TEXT;
UPDATE workflows SET engine_schedule = json_extract(content, '$.schedule') WHERE status <> 'draft';

-- A deleted workflow that its engine still has: when its removal is tried next, how often it was, and why it failed.
ALTER TABLE workflows ADD COLUMN removal_at INTEGER;
ALTER TABLE workflows ADD COLUMN removal_tries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflows ADD COLUMN removal_error TEXT;
CREATE INDEX workflows_to_remove ON workflows (removal_at) WHERE removal_at IS NOT NULL;

-- The names of an imported task's data source and tables that are not in the catalogue, as JSON.
ALTER TABLE tasks ADD COLUMN unresolved TEXT;
