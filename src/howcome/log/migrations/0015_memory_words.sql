-- Memories are searched by a table of their words, no longer by an index in files: it is written with the memory, in the
-- same transaction, so that it is never behind its rows and never another database's. `memory_terms` is a function of the
-- connection's (log/terms.py): a text's terms as JSON, {term: [how often, how many there are in all]}.

CREATE TABLE memory_words (
    term      TEXT NOT NULL,                 -- '' stands for all of a memory's, so that their average is at hand
    memory_id INTEGER NOT NULL,
    count     INTEGER NOT NULL,
    words     INTEGER NOT NULL,              -- how many terms the memory has
    PRIMARY KEY (term, memory_id)
) WITHOUT ROWID;
CREATE INDEX memory_words_of_memory ON memory_words (memory_id);

-- What is no text (a bad disk, another program) must not keep a store from being opened: as bytes it is a text with marks.
INSERT INTO memory_words
    SELECT found.key, memories.id, found.value ->> 0, found.value ->> 1
    FROM memories CROSS JOIN json_each(memory_terms(CAST(memories.text AS BLOB))) found;

CREATE TRIGGER memory_words_added AFTER INSERT ON memories BEGIN
    INSERT INTO memory_words
        SELECT key, new.id, value ->> 0, value ->> 1 FROM json_each(memory_terms(CAST(new.text AS BLOB)));
END;
CREATE TRIGGER memory_words_changed AFTER UPDATE OF text ON memories BEGIN
    DELETE FROM memory_words WHERE memory_id = new.id;
    INSERT INTO memory_words
        SELECT key, new.id, value ->> 0, value ->> 1 FROM json_each(memory_terms(CAST(new.text AS BLOB)));
END;
CREATE TRIGGER memory_words_removed AFTER DELETE ON memories BEGIN
    DELETE FROM memory_words WHERE memory_id = old.id;
END;

DROP TRIGGER memory_added;                   -- the marks of their changes: no file is derived from memories any more
DROP TRIGGER memory_changed;
DELETE FROM marks WHERE kind = 'memories';
