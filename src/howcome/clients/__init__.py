"""From a client's files to events: one file per client, pure functions of records; and how files are found and read."""
