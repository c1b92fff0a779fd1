-- Memories: rows of their own, searched beside events. Nothing is updated in place but what has become of a memory.

CREATE TABLE memories (
    id            INTEGER PRIMARY KEY,
    key           BLOB NOT NULL UNIQUE,      -- 16 random bytes: the id that people see is its beginning
    change        INTEGER NOT NULL,          -- grows with every write: the index knows the last one it has seen
    digest        BLOB NOT NULL,             -- keyed hash of the normalised text: equal texts of one scope are one memory
    type          TEXT NOT NULL,
    text          TEXT NOT NULL,             -- redacted; '' once purged
    project_id    INTEGER REFERENCES projects (id),  -- NULL: it holds everywhere
    agent         TEXT,                      -- who owns it
    origin        INTEGER NOT NULL,
    status        TEXT NOT NULL,
    created_ms    INTEGER NOT NULL,
    supersedes    INTEGER REFERENCES memories (id),
    superseded_by INTEGER REFERENCES memories (id),
    deleted_ms    INTEGER,
    purged_ms     INTEGER,
    access_count  INTEGER NOT NULL DEFAULT 0,
    accessed_ms   INTEGER
);
CREATE INDEX memories_by_change ON memories (change);
CREATE INDEX memories_by_digest ON memories (digest);
CREATE INDEX memories_of_project ON memories (project_id, created_ms);

CREATE TABLE memory_evidence (
    memory_id INTEGER NOT NULL REFERENCES memories (id),
    event     TEXT NOT NULL,                 -- an event's id; it may be another machine's
    PRIMARY KEY (memory_id, event)
) WITHOUT ROWID;

CREATE TABLE memory_injections (             -- which memory was said to which session, so that it is said once
    id        INTEGER PRIMARY KEY,
    session   TEXT NOT NULL,
    memory_id INTEGER NOT NULL REFERENCES memories (id),
    hook      TEXT NOT NULL,
    score     REAL NOT NULL,
    said_ms   INTEGER NOT NULL
);
CREATE INDEX memory_injections_of_session ON memory_injections (session);
