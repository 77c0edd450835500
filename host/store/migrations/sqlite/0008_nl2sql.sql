-- Conversations. They belong to whom `owner` names: how a caller was recognised, and by what. `datasources` is a
-- JSON array of names; NULL: all that whoever asks may read.
CREATE TABLE topics (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    topic_id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    title TEXT NOT NULL,
    datasources TEXT,
    message_count INTEGER NOT NULL DEFAULT 0,
    last_task_id TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE INDEX topics_by_owner ON topics (owner, id);

-- What was said in them. `artifacts` is a JSON array.
CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    message_id TEXT NOT NULL UNIQUE,
    topic INTEGER NOT NULL REFERENCES topics (id) ON DELETE CASCADE,
    task_id TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
    content TEXT NOT NULL,
    artifacts TEXT NOT NULL DEFAULT '[]',
    created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX messages_by_topic ON messages (topic, id);

-- Questions that the agent answers. `datasources` is what whoever asked was bound to then, as in topics. `worker` and
-- `worker_epoch` are the lease under which one runs; `claims` counts by how many it was begun or taken over.
CREATE TABLE agent_tasks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id TEXT NOT NULL UNIQUE,
    topic INTEGER NOT NULL REFERENCES topics (id) ON DELETE CASCADE,
    status TEXT NOT NULL CHECK (status IN ('waiting', 'running', 'success', 'failed', 'suspended')),
    content TEXT NOT NULL,
    asked_by TEXT NOT NULL,
    datasources TEXT,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    model_calls INTEGER NOT NULL DEFAULT 0,
    tool_calls INTEGER NOT NULL DEFAULT 0,
    input_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    error_code TEXT,
    error_message TEXT,
    last_seq INTEGER NOT NULL DEFAULT 0,
    worker TEXT,
    worker_epoch INTEGER,
    claims INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER
) STRICT;

CREATE INDEX agent_tasks_by_topic ON agent_tasks (topic, id);
CREATE INDEX agent_tasks_open ON agent_tasks (status, id) WHERE finished_at IS NULL;

-- What a task's stream sends, word for word; `kept` is what its going on needs besides.
CREATE TABLE agent_events (
    task INTEGER NOT NULL REFERENCES agent_tasks (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    type TEXT NOT NULL,
    data TEXT NOT NULL,
    kept TEXT,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (task, seq)
) STRICT;

CREATE INDEX agent_events_by_time ON agent_events (created_at);
