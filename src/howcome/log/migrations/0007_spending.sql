-- Every call of a language model, written before it is made: its day's budget is spent from then on, whatever becomes
-- of the process. No prompt, no answer and no key is in here.

CREATE TABLE spending (
    id            INTEGER PRIMARY KEY,
    day           INTEGER NOT NULL,          -- UTC day (since 1970) by the clock of that moment
    seen_day      INTEGER,                   -- the earlier day on which that day was found to lie ahead (a clock moved)
    purpose       TEXT NOT NULL,
    provider      TEXT NOT NULL,
    model         TEXT NOT NULL,
    started_ms    INTEGER NOT NULL,
    duration_ms   INTEGER,
    charged       INTEGER NOT NULL,          -- tokens: the estimate that was reserved, corrected when the call is settled
    tokens_in     INTEGER,                   -- as the provider counts them; NULL: it did not say
    tokens_out    INTEGER,
    cost_usd      REAL,
    outcome       TEXT NOT NULL,
    times         INTEGER NOT NULL DEFAULT 1 -- above 1 only for calls that the budget refused: one row a day for all
);
CREATE INDEX spending_days ON spending (day);
CREATE UNIQUE INDEX spending_refused ON spending (day, purpose, provider, model) WHERE outcome = 'over budget';
