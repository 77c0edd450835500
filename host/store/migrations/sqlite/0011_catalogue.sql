-- What only the catalogue says of tables and fields; no synchronisation touches it. Tags are a JSON array of texts.
ALTER TABLE tables ADD COLUMN description TEXT;
ALTER TABLE tables ADD COLUMN tags TEXT NOT NULL DEFAULT '[]';
ALTER TABLE fields ADD COLUMN description TEXT;
