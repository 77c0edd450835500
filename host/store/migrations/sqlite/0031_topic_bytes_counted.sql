-- Topics from before their bytes were counted: of their messages, and of the events of their questions that have ended.
UPDATE topics SET bytes =
    (SELECT coalesce(sum(octet_length(content) + octet_length(artifacts)), 0) FROM messages WHERE topic = topics.id)
    + (SELECT coalesce(sum(octet_length(e.data) + coalesce(octet_length(e.kept), 0)), 0) FROM agent_events e
        JOIN agent_tasks a ON a.id = e.task WHERE a.topic = topics.id AND a.finished_at IS NOT NULL);
