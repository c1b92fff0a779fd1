-- Rules no longer find open tasks, and nothing else says of a candidate whether it is done.

DROP TABLE closings;
ALTER TABLE candidates DROP COLUMN status;
