-- What editors know: verified questions and terms of the glossary. `words` is the question or the term in the form in which
-- two are the same; `datasource` is empty for all; `body` is a JSON object.
CREATE TABLE knowledge (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL CHECK (kind IN ('verified', 'glossary')),
    words TEXT NOT NULL,
    datasource TEXT NOT NULL DEFAULT '',
    body TEXT NOT NULL,
    author TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (kind, words, datasource)
) STRICT;
