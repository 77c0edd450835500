-- Bytes of a topic's messages and of its questions' events, as they were written.
ALTER TABLE topics ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
