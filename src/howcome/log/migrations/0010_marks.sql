-- What derived indexes know these rows by. Rows of another database, of an older copy of this one, or of a copy that went
-- another way have the same numbers and mean something else: so each batch of events, and each change of a memory, gets a
-- random mark that stays with it. An index writes down how far it is and the mark there; it is of these rows only where
-- the marks agree.

CREATE TABLE marks (
    kind TEXT NOT NULL,                      -- 'events' or 'memories'
    last INTEGER NOT NULL,                   -- the last event of the batch (row id), or the change of the memory
    mark TEXT NOT NULL,
    PRIMARY KEY (kind, last)
) WITHOUT ROWID;

-- Vectors knew their rows by the key of the last one: those that hold every turn stay good, and hours of work with them.
INSERT INTO marks SELECT 'events', id, hex(key) FROM events ORDER BY id DESC LIMIT 1;
INSERT INTO marks SELECT 'memories', max(change), hex(randomblob(16)) FROM memories HAVING count(*);

CREATE TRIGGER memory_added AFTER INSERT ON memories BEGIN
    INSERT OR REPLACE INTO marks VALUES ('memories', new.change, hex(randomblob(16)));
END;
CREATE TRIGGER memory_changed AFTER UPDATE OF change ON memories BEGIN
    INSERT OR REPLACE INTO marks VALUES ('memories', new.change, hex(randomblob(16)));
END;
