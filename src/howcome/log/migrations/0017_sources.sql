-- Which source found a candidate: figures and lists name it; '' of what an earlier distiller found.
ALTER TABLE candidates ADD COLUMN source TEXT NOT NULL DEFAULT '';
CREATE INDEX candidates_of_subject ON candidates (subject);
