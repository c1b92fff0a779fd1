-- Micro-batches: a session's messages in portions that a language model distils. A batch is written when it is closed,
-- and is done, with all that follows from it, in one transaction: it is never lost, and never done twice.

CREATE TABLE distil_batches (
    id         INTEGER PRIMARY KEY,
    session_id INTEGER NOT NULL REFERENCES sessions (id),
    project_id INTEGER NOT NULL REFERENCES projects (id),
    first_row  INTEGER NOT NULL,             -- of its events: the session's own, of the main agent
    last_row   INTEGER NOT NULL,
    turns      INTEGER NOT NULL,
    ended_ms   INTEGER NOT NULL,             -- when its last message was said
    closed_by  TEXT NOT NULL,                -- why it ends there
    state      TEXT NOT NULL DEFAULT 'pending',  -- 'pending', 'done' or 'dead'
    reason     TEXT NOT NULL DEFAULT '',     -- why the model failed at it
    failures   INTEGER NOT NULL DEFAULT 0,
    retries    INTEGER NOT NULL DEFAULT 0,   -- how often somebody asked for it again
    model      TEXT NOT NULL DEFAULT '',     -- by whom it was done
    done_ms    INTEGER
);
CREATE INDEX distil_batches_of_session ON distil_batches (session_id, last_row);
CREATE INDEX distil_batches_by_state ON distil_batches (state, ended_ms);

CREATE TABLE distil_operations (             -- what a model did to memories, and why
    id        INTEGER PRIMARY KEY,
    batch_id  INTEGER NOT NULL REFERENCES distil_batches (id),
    memory_id INTEGER NOT NULL,
    op        TEXT NOT NULL,                 -- 'ADD', 'UPDATE' or 'DELETE'
    reason    TEXT NOT NULL,                 -- the model's, redacted; '' once the memory is purged
    done_ms   INTEGER NOT NULL
);
CREATE INDEX distil_operations_of_memory ON distil_operations (memory_id);

CREATE TABLE distil_tails (                  -- sessions whose last messages are in no batch yet
    session_id INTEGER PRIMARY KEY REFERENCES sessions (id)
);

CREATE TABLE distil_batch_mark (             -- every event up to here is in a batch, or in a tail
    id       INTEGER PRIMARY KEY CHECK (id = 1),
    last_row INTEGER NOT NULL
);
