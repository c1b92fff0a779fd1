-- Rationales: what an exchange was asked for, what was done, and why. Derived from events, and written anew when an
-- exchange has grown; they come from no file, so that they are no rows of events, whose bytes are all accounted for.

CREATE TABLE rationales (
    prompt_id  INTEGER PRIMARY KEY REFERENCES events (id),  -- of its exchange
    key        BLOB NOT NULL UNIQUE,         -- keyed hash of the prompt's key
    session_id INTEGER NOT NULL REFERENCES sessions (id),
    project_id INTEGER NOT NULL REFERENCES projects (id),
    origin     INTEGER NOT NULL,             -- the least trusted of what it quotes
    ts_ms      INTEGER,                      -- of the exchange's last event
    order_ms   INTEGER NOT NULL,
    last_row   INTEGER NOT NULL,             -- the exchange's highest event row when it was written
    author     TEXT NOT NULL,                -- the rules and their version, or a model
    asked      TEXT NOT NULL DEFAULT '',     -- the model that was asked for it last, whatever came of it
    text       TEXT NOT NULL                 -- redacted
);
CREATE INDEX rationales_of_session ON rationales (session_id);
CREATE INDEX rationales_of_project ON rationales (project_id, order_ms);
CREATE INDEX rationales_by_time ON rationales (order_ms);

CREATE TABLE rationale_cursors (             -- how far the rules have looked through each session
    session_id INTEGER PRIMARY KEY REFERENCES sessions (id),
    author     TEXT NOT NULL,
    last_row   INTEGER NOT NULL
);

CREATE TABLE rationale_marks (               -- every event up to here is looked through: only newer ones are looked for
    author   TEXT PRIMARY KEY,
    last_row INTEGER NOT NULL
) WITHOUT ROWID;
