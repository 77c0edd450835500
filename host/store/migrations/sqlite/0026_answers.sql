-- How the answer of a message ended the question, and what its reader thinks of it, both as JSON; null for questions.
ALTER TABLE messages ADD COLUMN outcome TEXT;
ALTER TABLE messages ADD COLUMN feedback TEXT;
