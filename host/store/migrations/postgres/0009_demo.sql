-- The example company: a row once it was set up to the end.
CREATE TABLE demo (
    id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    set_up_at BIGINT NOT NULL
);
