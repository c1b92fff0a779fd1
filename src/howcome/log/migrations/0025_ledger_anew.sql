-- The ledger of commands knows a failure by its cause, not by a line that every failed build has: it is made anew.
DELETE FROM commands;
DELETE FROM command_mark;
