-- Uploaded components as they were given, each once, by the digest of its bytes. What is bundled stands
-- in the binary.
CREATE TABLE plugin_components (
    digest TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    family TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    version TEXT COLLATE "C" NOT NULL,
    contract TEXT COLLATE "C" NOT NULL,
    bytes BYTEA NOT NULL,
    size BIGINT NOT NULL,
    staged_at BIGINT NOT NULL
);

CREATE INDEX plugin_components_by_name ON plugin_components (family, name, staged_at);

-- What each plugin points at. No active digest: the bundled generation, whichever the binary brings. History
-- (digests, the latest last, joined by commas) and canary may name bundled generations too: no reference.
CREATE TABLE plugin_pointers (
    family TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    active_digest TEXT COLLATE "C" REFERENCES plugin_components (digest),
    history TEXT COLLATE "C" NOT NULL DEFAULT '',
    canary_digest TEXT COLLATE "C",
    canary_percent BIGINT CHECK (canary_percent BETWEEN 1 AND 99),
    quarantine_reason TEXT COLLATE "C",
    quarantined_by_failures BIGINT NOT NULL DEFAULT 0 CHECK (quarantined_by_failures IN (0, 1)),
    activated_at BIGINT,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (family, name)
);

-- What was done to which plugin, in order; rows are only added. They outlive the component.
CREATE TABLE plugin_activations (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    family TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    digest TEXT COLLATE "C",
    action TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL
);

CREATE INDEX plugin_activations_by_name ON plugin_activations (family, name, id);
