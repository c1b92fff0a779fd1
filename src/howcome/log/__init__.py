"""The one truth: events in the order of commit, and the repositories beside them; ports, and their SQLite tables."""
