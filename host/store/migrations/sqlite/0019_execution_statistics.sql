-- What statistics need of the executions, packed in blocks of 2,048 ids. A block gets a new id whenever it is packed, by
-- which servers know what they have in memory.
CREATE TABLE execution_blocks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    block INTEGER NOT NULL UNIQUE,
    executions INTEGER NOT NULL,
    first_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    packed BLOB NOT NULL
) STRICT;

-- Counts without the packed values.
CREATE INDEX execution_blocks_counts ON execution_blocks (block, executions);

-- Blocks that are not packed as their executions are now. On PostgreSQL each transaction has rows of its own, so that
-- none waits for another one; here transactions never overlap.
CREATE TABLE execution_block_changes (
    block INTEGER NOT NULL,
    transaction_id INTEGER NOT NULL,
    PRIMARY KEY (block, transaction_id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER executions_inserted AFTER INSERT ON executions BEGIN
    INSERT OR IGNORE INTO execution_block_changes (block, transaction_id) VALUES (NEW.id / 2048, 0);
END;

CREATE TRIGGER executions_updated AFTER UPDATE ON executions
WHEN NEW.status IS NOT OLD.status OR NEW.at IS NOT OLD.at OR NEW.duration IS NOT OLD.duration
    OR NEW.task_id IS NOT OLD.task_id BEGIN
    INSERT OR IGNORE INTO execution_block_changes (block, transaction_id) VALUES (NEW.id / 2048, 0);
END;

CREATE TRIGGER executions_deleted AFTER DELETE ON executions BEGIN
    INSERT OR IGNORE INTO execution_block_changes (block, transaction_id) VALUES (OLD.id / 2048, 0);
END;

INSERT INTO execution_block_changes (block, transaction_id) SELECT DISTINCT id / 2048, 0 FROM executions;
