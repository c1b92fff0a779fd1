"""The log, its repositories and its indexes as one: the port, and SQLite's composition of it."""
