-- What was asked for of a run, so that a retry asks for the same: from which task on and how far it goes, and what a
-- failure does to the other branches. Unknown of older runs, and of those that were found in an engine.
ALTER TABLE runs ADD COLUMN start_task_id INTEGER;
ALTER TABLE runs ADD COLUMN reach TEXT CHECK (reach IN ('from', 'only'));
ALTER TABLE runs ADD COLUMN failure_strategy TEXT;

-- A try whose server ended, and whose data source does not say what became of it: it is not tried again.
ALTER TABLE runner_task_runs ADD COLUMN is_unknown INTEGER NOT NULL DEFAULT 0 CHECK (is_unknown IN (0, 1));
