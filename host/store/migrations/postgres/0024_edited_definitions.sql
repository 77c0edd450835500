-- What the engine called the content of the definition that Lakeport deployed last.
ALTER TABLE workflows ADD COLUMN engine_version TEXT COLLATE "C";
