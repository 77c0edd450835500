-- The server that works on an unfinished run, by the name of its leases; unused in SQLite, which has one server.
ALTER TABLE runner_runs ADD COLUMN worker TEXT;
