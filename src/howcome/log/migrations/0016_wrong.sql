-- What somebody called wrong is remembered by its meaning: nothing distilled that says the same becomes a memory again.

ALTER TABLE memories ADD COLUMN wrong_ms INTEGER;                     -- when somebody called it wrong; it is forgotten, too
