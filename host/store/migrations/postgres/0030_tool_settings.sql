-- Settings of the agent's tools, a JSON object each.
CREATE TABLE tool_settings (
    tool TEXT COLLATE "C" PRIMARY KEY,
    settings TEXT COLLATE "C" NOT NULL,
    updated_at BIGINT NOT NULL
);
