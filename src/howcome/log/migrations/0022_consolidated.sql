-- What consolidation did to memories, so that it can be taken back, and is not done again once somebody took it back.

CREATE TABLE consolidated (
    id        INTEGER PRIMARY KEY,
    run_ms    INTEGER NOT NULL,
    what      TEXT NOT NULL,                 -- 'merged', 'resolved' or 'asleep'
    memory_id INTEGER NOT NULL REFERENCES memories (id),
    kept_id   INTEGER NOT NULL REFERENCES memories (id),  -- what stands in its place; of what sleeps itself
    lent      TEXT NOT NULL,                 -- JSON: evidence, and times of saying, that the one gave to the other
    undone_ms INTEGER,
    UNIQUE (memory_id, kept_id)
);
CREATE INDEX consolidated_of_kept ON consolidated (kept_id);
