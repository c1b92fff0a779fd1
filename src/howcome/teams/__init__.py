"""A team's memories on a PostgreSQL server: what a record is, who may see it, and the server's own checks.

The server (`howcome serve`) and those who administer it use `schema`, `admin`, `server_role` and `shelf`; a member's
machine uses `domain.team_records` and `memory.team_server` only, and needs no PostgreSQL.
"""
