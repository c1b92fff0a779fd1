-- Rows are the truth; every search index is derived from them and can be rebuilt.
-- Times are UTC milliseconds. Numbers of kinds and origins are their places in domain.events.KINDS and ORIGINS.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value NOT NULL
) WITHOUT ROWID;

CREATE TABLE projects (
    id         INTEGER PRIMARY KEY,
    root       TEXT NOT NULL UNIQUE,         -- real path of the repository's root, or the path itself
    created_ms INTEGER NOT NULL
);

CREATE TABLE project_paths (                 -- every folder seen, so that a hook finds its project with one look
    path       TEXT PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES projects (id)
) WITHOUT ROWID;

CREATE TABLE sessions (
    id         INTEGER PRIMARY KEY,
    client     TEXT NOT NULL,
    name       TEXT NOT NULL,                -- the client's own session id
    project_id INTEGER NOT NULL REFERENCES projects (id),
    UNIQUE (name, client)
);

CREATE TABLE sources (                       -- one row a generation of a transcript file
    id                INTEGER PRIMARY KEY,
    path              TEXT NOT NULL,
    client            TEXT NOT NULL,
    generation        INTEGER NOT NULL,
    is_current        INTEGER NOT NULL DEFAULT 1,
    offset            INTEGER NOT NULL DEFAULT 0,   -- end of the last complete line that is in the store
    head_bytes        INTEGER NOT NULL DEFAULT 0,
    head_digest       TEXT NOT NULL DEFAULT '',     -- of the first head_bytes bytes
    tail_digest       TEXT NOT NULL DEFAULT '',     -- of the bytes just before offset
    size_bytes        INTEGER NOT NULL DEFAULT 0,   -- on disk, when last read to the end
    mtime_ns          INTEGER NOT NULL DEFAULT 0,
    tail_bytes        INTEGER NOT NULL DEFAULT 0,   -- of an unfinished last line
    reader_state      TEXT NOT NULL DEFAULT '{}',
    order_ms          INTEGER NOT NULL DEFAULT 0,   -- the latest time seen so far: orders events whatever the clock did
    records           INTEGER NOT NULL DEFAULT 0,
    accepted          INTEGER NOT NULL DEFAULT 0,   -- events
    duplicate         INTEGER NOT NULL DEFAULT 0,   -- events
    ignored           INTEGER NOT NULL DEFAULT 0,   -- records
    unknown           INTEGER NOT NULL DEFAULT 0,   -- records, counted in ignored too
    quarantined       INTEGER NOT NULL DEFAULT 0,   -- records
    accepted_bytes    INTEGER NOT NULL DEFAULT 0,
    duplicate_bytes   INTEGER NOT NULL DEFAULT 0,
    ignored_bytes     INTEGER NOT NULL DEFAULT 0,
    quarantined_bytes INTEGER NOT NULL DEFAULT 0,
    read_ms           INTEGER NOT NULL DEFAULT 0,
    UNIQUE (path, generation),
    CHECK (offset = accepted_bytes + duplicate_bytes + ignored_bytes + quarantined_bytes)
);

CREATE TABLE events (
    id          INTEGER PRIMARY KEY,
    key         BLOB NOT NULL UNIQUE,        -- keyed hash of client, record id, block, role, content and tool id
    session_id  INTEGER NOT NULL REFERENCES sessions (id),
    project_id  INTEGER NOT NULL REFERENCES projects (id),
    source_id   INTEGER NOT NULL REFERENCES sources (id),
    offset      INTEGER NOT NULL,            -- of the record in its source
    kind        INTEGER NOT NULL,
    origin      INTEGER NOT NULL,
    ts_ms       INTEGER,
    order_ms    INTEGER NOT NULL,
    tool        TEXT,
    tool_use_id TEXT,
    file        TEXT,
    branch      TEXT,
    agent_id    TEXT,
    failed      INTEGER,
    exit_code   INTEGER,
    text_chars  INTEGER NOT NULL,
    excerpt     TEXT NOT NULL,
    payload     BLOB                         -- the whole redacted text: zstd, plain text when short, NULL when the excerpt is all of it
);
CREATE INDEX events_of_session ON events (session_id, order_ms, id);

CREATE TABLE memberships (                   -- events that a forked session shares with the one that had them first
    session_id INTEGER NOT NULL REFERENCES sessions (id),
    event_id   INTEGER NOT NULL REFERENCES events (id),
    order_ms   INTEGER NOT NULL,
    PRIMARY KEY (session_id, event_id)
) WITHOUT ROWID;

CREATE TABLE quarantine (                    -- records that could not be read: where they are, never what they say
    id         INTEGER PRIMARY KEY,
    source_id  INTEGER NOT NULL REFERENCES sources (id),
    offset     INTEGER NOT NULL,
    size_bytes INTEGER NOT NULL,
    reason     TEXT NOT NULL,
    digest     TEXT NOT NULL,
    seen_ms    INTEGER NOT NULL,
    UNIQUE (source_id, offset)
);

CREATE TABLE injections (                    -- what was said to which session, so that it is said once
    id         INTEGER PRIMARY KEY,
    session    TEXT NOT NULL,                -- the client's own session id
    event_id   INTEGER NOT NULL,
    hook       TEXT NOT NULL,
    score      REAL NOT NULL,
    said_ms    INTEGER NOT NULL
);
CREATE INDEX injections_of_session ON injections (session);
