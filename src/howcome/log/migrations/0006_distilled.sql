-- Distilled memories: candidates are what exchanges taught, derived from events and made anew at any time; memories are
-- reconciled from them. What people do to a memory is never derived, and stays.

ALTER TABLE memories ADD COLUMN source TEXT NOT NULL DEFAULT 'hand';  -- 'hand', or the distiller that it comes from
ALTER TABLE memories ADD COLUMN subject TEXT NOT NULL DEFAULT '';     -- what it is about, where a distiller knows it
ALTER TABLE memories ADD COLUMN said_ms INTEGER;                      -- when it was said last; NULL: kept by hand
ALTER TABLE memories ADD COLUMN pinned_ms INTEGER;
ALTER TABLE memories ADD COLUMN status_ms INTEGER;                    -- when somebody set its status by hand

CREATE TABLE memory_said (                   -- every time a memory was said
    memory_id INTEGER NOT NULL REFERENCES memories (id),
    ts_ms     INTEGER NOT NULL,
    event     TEXT NOT NULL,                 -- an event's id; it may be another machine's
    PRIMARY KEY (memory_id, ts_ms, event)
) WITHOUT ROWID;

CREATE TABLE memory_reviews (                -- pairs of memories that may contradict each other
    id         INTEGER PRIMARY KEY,
    older      INTEGER NOT NULL REFERENCES memories (id),
    newer      INTEGER NOT NULL REFERENCES memories (id),
    reason     TEXT NOT NULL,
    found_ms   INTEGER NOT NULL,
    settled_ms INTEGER,                      -- NULL: nobody has looked at it yet
    UNIQUE (older, newer)
);
CREATE INDEX memory_reviews_of_newer ON memory_reviews (newer);

CREATE TABLE candidates (
    id         INTEGER PRIMARY KEY,
    session_id INTEGER NOT NULL REFERENCES sessions (id),
    exchange   INTEGER NOT NULL,             -- row of its first event
    project_id INTEGER NOT NULL REFERENCES projects (id),
    key        BLOB NOT NULL,                -- of the memory that says exactly this: keyed hash of project, type, words
    memory_key BLOB,                         -- of the memory that it became a part of; NULL: not reconciled yet
    type       TEXT NOT NULL,
    text       TEXT NOT NULL,
    subject    TEXT NOT NULL,
    origin     INTEGER NOT NULL,
    status     TEXT NOT NULL,
    ts_ms      INTEGER NOT NULL,
    evidence   TEXT NOT NULL                 -- JSON: ids of events
);
CREATE INDEX candidates_of_exchange ON candidates (session_id, exchange);
CREATE INDEX candidates_of_project ON candidates (project_id);
CREATE INDEX candidates_by_key ON candidates (key);
CREATE INDEX candidates_of_memory ON candidates (memory_key);

CREATE TABLE closings (                      -- open tasks that an exchange shows done
    session_id INTEGER NOT NULL REFERENCES sessions (id),
    exchange   INTEGER NOT NULL,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    subject    TEXT NOT NULL,
    ts_ms      INTEGER NOT NULL,
    PRIMARY KEY (session_id, exchange, project_id, subject)
) WITHOUT ROWID;
CREATE INDEX closings_of_project ON closings (project_id);

CREATE TABLE distilled (                     -- how far each session is distilled, and by what
    session_id INTEGER PRIMARY KEY REFERENCES sessions (id),
    distiller  TEXT NOT NULL,                -- name and version
    last_row   INTEGER NOT NULL,             -- its highest event row then
    members    INTEGER NOT NULL              -- how many events it then shared with the session that it is a fork of
);

CREATE TABLE distilled_marks (               -- every event up to here is distilled: only newer ones are looked for
    distiller TEXT PRIMARY KEY,
    last_row  INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE unreconciled (                  -- projects whose candidates have changed since their memories were made
    project_id INTEGER PRIMARY KEY REFERENCES projects (id)
);

CREATE TABLE memory_vectors (                -- by meaning, to tell what says the same; derived, one model at a time
    key    BLOB PRIMARY KEY,                 -- of the candidate
    model  TEXT NOT NULL,
    vector BLOB NOT NULL                     -- half floats
) WITHOUT ROWID;
