-- As 0025 of the embedded store.

DELETE FROM commands;
DELETE FROM command_mark;
