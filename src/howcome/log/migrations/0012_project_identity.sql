-- What tells that two folders are one project: the same first commit and the same remote. A project keeps its root.

CREATE TABLE repositories (                  -- evidence of each repository's folder that was looked at
    root       TEXT PRIMARY KEY,             -- as projects.root; it need not be a project's (yet)
    commits    TEXT NOT NULL,                -- its first commits, sorted, with spaces between; '' when not known
    remote     TEXT NOT NULL,                -- host and path, never who asks there; '' without one
    is_shallow INTEGER NOT NULL,             -- its first commits are not the true ones
    seen_ms    INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE project_aliases (               -- other roots of a project: where it was, its other clones
    root       TEXT PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    noted_ms   INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE projects_apart (                -- roots that look like one project, and that somebody said are two
    one      TEXT NOT NULL,                  -- the lesser of both
    other    TEXT NOT NULL,
    noted_ms INTEGER NOT NULL,
    PRIMARY KEY (one, other)
) WITHOUT ROWID;
