-- Counts the bytes of each topic again, because topics from before 0029 have none: of its messages, and of the events of its
-- questions that have ended.
LOCK TABLE topics IN SHARE ROW EXCLUSIVE MODE;
UPDATE topics SET bytes =
    (SELECT CAST(coalesce(sum(octet_length(content) + octet_length(artifacts) + coalesce(octet_length(outcome), 0)), 0) AS BIGINT) FROM messages WHERE topic = topics.id)
    + (SELECT CAST(coalesce(sum(octet_length(e.data) + coalesce(octet_length(e.kept), 0)), 0) AS BIGINT) FROM agent_events e
        JOIN agent_tasks a ON a.id = e.task WHERE a.topic = topics.id AND a.finished_at IS NOT NULL);
