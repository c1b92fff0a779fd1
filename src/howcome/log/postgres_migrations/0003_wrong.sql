-- As 0023 of the embedded store: what somebody called wrong is asked for with every prompt, and is rare.

CREATE INDEX memories_wrong ON memories (wrong_ms) WHERE wrong_ms IS NOT NULL;
