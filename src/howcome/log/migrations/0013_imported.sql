-- What a file from outside brings is on the review list until a person accepts it: nobody is pushed it, and what the file
-- claims for it (a pin; the place of the older one) does not hold.

ALTER TABLE memory_reviews ADD COLUMN pinned_ms INTEGER;  -- the pin that the newer one would have
