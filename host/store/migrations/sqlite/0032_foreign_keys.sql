-- Declared foreign keys of single fields, as the database reports them: a JSON array of
-- {"field", "database", "table", "key"}. A sync fills it.
ALTER TABLE tables ADD COLUMN foreign_keys TEXT NOT NULL DEFAULT '[]';
