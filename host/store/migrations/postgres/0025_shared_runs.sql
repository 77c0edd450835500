-- The server that works on an unfinished run, by the name of its leases.
ALTER TABLE runner_runs ADD COLUMN worker TEXT COLLATE "C";
