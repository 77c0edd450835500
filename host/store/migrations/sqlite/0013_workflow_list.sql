-- The list of workflows counts and filters within this index, which is a small part of the rows.
CREATE INDEX workflows_listed ON workflows (id, status, name_folded) WHERE deleted_at IS NULL;
