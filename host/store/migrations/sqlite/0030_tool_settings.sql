-- Settings of the agent's tools, a JSON object each.
CREATE TABLE tool_settings (
    tool TEXT PRIMARY KEY,
    settings TEXT NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
