-- What is deployed: the digest of the published version without its schedule, and the schedule that the engine was
-- given last, as JSON.
ALTER TABLE workflows ADD COLUMN published_digest TEXT COLLATE "C";
ALTER TABLE workflows ADD COLUMN engine_schedule TEXT COLLATE "C";
UPDATE workflows SET engine_schedule = CAST(content AS json) ->> 'schedule' WHERE status <> 'draft';

-- A deleted workflow that its engine still has: when its removal is tried next, how often it was, and why it failed.
ALTER TABLE workflows ADD COLUMN removal_at BIGINT;
ALTER TABLE workflows ADD COLUMN removal_tries BIGINT NOT NULL DEFAULT 0;
ALTER TABLE workflows ADD COLUMN removal_error TEXT COLLATE "C";
CREATE INDEX workflows_to_remove ON workflows (removal_at) WHERE removal_at IS NOT NULL;

-- The names of an imported task's data source and tables that are not in the catalogue, as JSON.
ALTER TABLE tasks ADD COLUMN unresolved TEXT COLLATE "C";
