"""A situation → what is said of the past, or nothing."""
