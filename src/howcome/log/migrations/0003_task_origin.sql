-- Tasks that an agent gave its subagents have an origin of their own (4): the first words of each subagent.
-- The index keeps the old number; what is pushed is decided by the row.

UPDATE events SET origin = 4
WHERE kind = 1 AND origin = 1 AND id IN (
    SELECT id FROM (
        SELECT id, row_number() OVER (PARTITION BY session_id, agent_id ORDER BY order_ms, id) AS place
        FROM events WHERE agent_id IS NOT NULL
    ) WHERE place = 1
);
