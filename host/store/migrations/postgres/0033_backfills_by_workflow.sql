-- Lists of backfills by workflow.
CREATE INDEX backfills_by_workflow ON backfills (workflow_id, id);
