-- What a language model said, for a day, and who is left alone for a while: both may be lost at any time.

CREATE TABLE model_answers (
    key        BLOB PRIMARY KEY,             -- keyed hash of who was asked and what
    answer     TEXT NOT NULL,                -- JSON
    said_ms    INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE pauses (                        -- who failed, and until when nobody asks it
    name       TEXT PRIMARY KEY,
    until_ms   INTEGER NOT NULL,
    reason     TEXT NOT NULL
) WITHOUT ROWID;
