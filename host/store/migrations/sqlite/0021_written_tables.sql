-- Tables that tasks of workflows have written stand in the log, too.
ALTER TABLE query_log ADD COLUMN access TEXT NOT NULL DEFAULT 'read' CHECK (access IN ('read', 'written'));
