-- Uploaded components as they were given, each once, by the digest of its bytes. What is bundled stands
-- in the binary.
CREATE TABLE plugin_components (
    digest TEXT NOT NULL PRIMARY KEY,
    family TEXT NOT NULL,
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    contract TEXT NOT NULL,
    bytes BLOB NOT NULL,
    size INTEGER NOT NULL,
    staged_at INTEGER NOT NULL
) STRICT;

CREATE INDEX plugin_components_by_name ON plugin_components (family, name, staged_at);

-- What each plugin points at. No active digest: the bundled generation, whichever the binary brings. History
-- (digests, the latest last, joined by commas) and canary may name bundled generations too: no reference.
CREATE TABLE plugin_pointers (
    family TEXT NOT NULL,
    name TEXT NOT NULL,
    active_digest TEXT REFERENCES plugin_components (digest),
    history TEXT NOT NULL DEFAULT '',
    canary_digest TEXT,
    canary_percent INTEGER CHECK (canary_percent BETWEEN 1 AND 99),
    quarantine_reason TEXT,
    quarantined_by_failures INTEGER NOT NULL DEFAULT 0 CHECK (quarantined_by_failures IN (0, 1)),
    activated_at INTEGER,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (family, name)
) STRICT;

-- What was done to which plugin, in order; rows are only added. They outlive the component.
CREATE TABLE plugin_activations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    family TEXT NOT NULL,
    name TEXT NOT NULL,
    digest TEXT,
    action TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;

CREATE INDEX plugin_activations_by_name ON plugin_activations (family, name, id);
