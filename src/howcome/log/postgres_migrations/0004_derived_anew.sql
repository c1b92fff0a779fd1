-- As 0024 of the embedded store: the ledger of commands knows what ran before a failed command worked, and is made anew.

DELETE FROM commands;
DELETE FROM command_mark;
