-- What a data source calls the transaction of a try, noted before its commit; by it the outcome is found after a kill.
ALTER TABLE runner_task_runs ADD COLUMN mark TEXT COLLATE "C";
