-- Memories of files are kept in step with them: what a file no longer says is forgotten, and comes back with its words.

ALTER TABLE memories ADD COLUMN gone_ms INTEGER;  -- when its file no longer said it; equal to deleted_ms: forgotten for that
