-- A run that was begun again may be shown with its old end (again_ended) until then.
ALTER TABLE runs ADD COLUMN again_until BIGINT;
ALTER TABLE runs ADD COLUMN again_ended BIGINT;
CREATE INDEX runs_begun_again ON runs (engine, again_until) WHERE again_until IS NOT NULL;
-- What differs because somebody changed it in the engine itself.
ALTER TABLE workflows ADD COLUMN engine_drift TEXT COLLATE "C";
