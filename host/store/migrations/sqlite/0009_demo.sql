-- The example company: a row once it was set up to the end.
CREATE TABLE demo (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    set_up_at INTEGER NOT NULL
) STRICT;
