-- A record that may cost a pass all its time is noted before it is read: a pass that died in it leaves the note behind.

CREATE TABLE trials (
    path       TEXT NOT NULL,
    generation INTEGER NOT NULL,
    offset     INTEGER NOT NULL,
    pid        INTEGER NOT NULL,             -- of the process that tries it
    began_ms   INTEGER NOT NULL,
    PRIMARY KEY (path, generation, offset)
) WITHOUT ROWID;

CREATE INDEX sources_by_head ON sources (head_digest) WHERE is_current;  -- how a renamed file is found
