-- The ledger of commands: what a shell ran, what failed and how, and the call that then worked. Derived from events, and
-- without a word of theirs: forms and signatures are numbers, the words are read from the events.

CREATE TABLE commands (                      -- a simple command of a call
    call_id  INTEGER NOT NULL REFERENCES events (id),
    form     INTEGER NOT NULL,               -- of its normal form
    exact    INTEGER,                        -- of its form and what the failure said; NULL: it worked
    alike    INTEGER,                        -- of its program, the words that the failure named, and what it said
    fixed_by INTEGER REFERENCES events (id), -- the call that did the same in other words
    fix      INTEGER,                        -- of the form that did
    PRIMARY KEY (call_id, form)
) WITHOUT ROWID;
CREATE INDEX commands_worked ON commands (form) WHERE exact IS NULL;
CREATE INDEX commands_failed ON commands (exact) WHERE exact IS NOT NULL;
CREATE INDEX commands_failed_form ON commands (form) WHERE exact IS NOT NULL;
CREATE INDEX commands_alike ON commands (alike) WHERE alike IS NOT NULL;

CREATE TABLE command_mark (id INTEGER PRIMARY KEY CHECK (id = 1), last_row INTEGER NOT NULL);  -- looked through up to it
