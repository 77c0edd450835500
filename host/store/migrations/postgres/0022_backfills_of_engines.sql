-- A backfill may be made by its engine: maker is 'asked' before that is called, 'engine' once it has accepted, else null.
ALTER TABLE backfills ADD COLUMN maker TEXT COLLATE "C" CHECK (maker IN ('asked', 'engine'));
ALTER TABLE backfills ADD COLUMN engine TEXT COLLATE "C";
ALTER TABLE backfills ADD COLUMN notes TEXT COLLATE "C";
CREATE INDEX runs_of_backfills ON runs (workflow_id, trigger_code) WHERE cause = 'backfill' AND trigger_code IS NOT NULL;
