-- What howcome puts around the words of a memory ("The user, when the agent said …") is not searched any more.

DELETE FROM memory_words;
INSERT INTO memory_words
    SELECT found.key, memories.id, found.value ->> 0, found.value ->> 1
    FROM memories CROSS JOIN json_each(memory_terms(CAST(memories.text AS BLOB))) found;

-- The ledger of commands knows what ran before a failed command worked, and more of what is a complaint: it is made anew.
DELETE FROM commands;
DELETE FROM command_mark;
