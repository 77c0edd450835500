-- Models that plan the agent's steps; `secret` is the key, as the store's key encrypts it. `options` is a JSON object.
CREATE TABLE models (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    provider TEXT NOT NULL CHECK (provider IN ('offline', 'openai', 'anthropic')),
    base_url TEXT NOT NULL,
    model TEXT NOT NULL,
    secret BLOB,
    is_default INTEGER NOT NULL DEFAULT 0 CHECK (is_default IN (0, 1)),
    max_tokens INTEGER NOT NULL,
    timeout_s INTEGER NOT NULL,
    options TEXT NOT NULL DEFAULT '{}',
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX models_default ON models (is_default) WHERE is_default = 1;

-- NULL: the default model.
ALTER TABLE topics ADD COLUMN model INTEGER REFERENCES models (id) ON DELETE SET NULL;

CREATE INDEX topics_by_model ON topics (model) WHERE model IS NOT NULL;

-- The model of a question, NULL for `offline`; what its tokens cost, in millionths; what the model got besides the
-- question, as JSON.
ALTER TABLE agent_tasks ADD COLUMN model_id INTEGER;
ALTER TABLE agent_tasks ADD COLUMN cost_micros INTEGER NOT NULL DEFAULT 0;
ALTER TABLE agent_tasks ADD COLUMN context TEXT;

-- What models were used for, by day since 1970 (UTC), owner of the topic and name of the model. `caller` is the
-- owner's name.
CREATE TABLE model_usage (
    day INTEGER NOT NULL,
    owner TEXT NOT NULL,
    model TEXT NOT NULL,
    caller TEXT NOT NULL,
    calls INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost_micros INTEGER NOT NULL,
    PRIMARY KEY (day, owner, model)
) STRICT;
