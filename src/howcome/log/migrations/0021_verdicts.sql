-- What was considered for each prompt and briefing, what was said, and which rule held the rest back. No word of a prompt.

CREATE TABLE verdicts (
    id         INTEGER PRIMARY KEY,
    session    TEXT NOT NULL,                -- the client's own session id
    project_id INTEGER,
    hook       TEXT NOT NULL,
    asked      BLOB,                         -- a keyed hash of the prompt's words; NULL where nobody asked
    asked_ms   INTEGER NOT NULL,
    lines      INTEGER NOT NULL,             -- what was said: how many lines, how many tokens
    tokens     INTEGER NOT NULL,
    rule       TEXT NOT NULL,                -- what held everything back; '' where each was looked at
    considered TEXT NOT NULL                 -- JSON: [[event's row or -(memory's row), chance, rule or ''], …], best first
);
-- No index: one page is written a prompt, and what a prompt asks of it is among the last rows.
