-- What a run does while another one of its workflow is active.
ALTER TABLE runner_workflows ADD COLUMN concurrency TEXT COLLATE "C" NOT NULL DEFAULT 'parallel' CHECK (concurrency IN ('parallel', 'wait', 'discard'));

-- A paused run begins no further task. One that waits begins when no earlier one of its workflow is open.
ALTER TABLE runner_runs ADD COLUMN is_paused BIGINT NOT NULL DEFAULT 0 CHECK (is_paused IN (0, 1));
ALTER TABLE runner_runs ADD COLUMN waits BIGINT NOT NULL DEFAULT 0 CHECK (waits IN (0, 1));
CREATE INDEX runner_runs_open_of_workflow ON runner_runs (workflow_id, id) WHERE state IN ('queued', 'running', 'stopping');

-- A task that is left out is of a workflow of which only a part runs.
ALTER TABLE runner_taken_over ADD COLUMN is_left_out BIGINT NOT NULL DEFAULT 0 CHECK (is_left_out IN (0, 1));
