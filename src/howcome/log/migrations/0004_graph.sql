-- The import graph of a project: derived from its files by `howcome graph build`, and built anew at any time.

CREATE TABLE code_graphs (
    project_id INTEGER PRIMARY KEY REFERENCES projects (id),
    reader     INTEGER NOT NULL,             -- version of what reads imports: files that an older one read are read anew
    built_ms   INTEGER NOT NULL,
    files      INTEGER NOT NULL,
    edges      INTEGER NOT NULL,
    limits     TEXT NOT NULL                 -- JSON: the limits that it hit
);

CREATE TABLE code_files (
    id         INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    path       TEXT NOT NULL,                -- below the project's root, with /
    name       TEXT NOT NULL,                -- its last part, lower case
    stem       TEXT NOT NULL,                -- the name without its ending, _ and -
    digest     BLOB NOT NULL,                -- keyed hash of its bytes
    size_bytes INTEGER NOT NULL,
    mtime_ns   INTEGER NOT NULL,             -- 0: too young when read to tell a later edit by it
    imports    TEXT NOT NULL,                -- JSON: what it imports, not yet resolved to files
    fate       TEXT NOT NULL,                -- 'read', or why it was not, or only in part
    UNIQUE (project_id, path)
);
CREATE INDEX code_files_by_name ON code_files (project_id, name);
CREATE INDEX code_files_by_stem ON code_files (project_id, stem);

CREATE TABLE code_edges (
    project_id INTEGER NOT NULL REFERENCES projects (id),
    from_file  INTEGER NOT NULL REFERENCES code_files (id),  -- imports
    to_file    INTEGER NOT NULL REFERENCES code_files (id),  -- is imported
    PRIMARY KEY (from_file, to_file)
) WITHOUT ROWID;
CREATE INDEX code_edges_back ON code_edges (to_file);
CREATE INDEX code_edges_of_project ON code_edges (project_id);
