-- A memory may hold in other projects beside its own (memories.project_id); what holds everywhere has none.

CREATE TABLE memory_projects (
    memory_id  INTEGER NOT NULL REFERENCES memories (id),
    project_id INTEGER NOT NULL REFERENCES projects (id),
    PRIMARY KEY (memory_id, project_id)
) WITHOUT ROWID;
CREATE INDEX memory_projects_of_project ON memory_projects (project_id);
