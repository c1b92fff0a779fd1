"""What searches read: words and vectors, derived of the log, rebuildable, each with the mark of the log it is of."""
