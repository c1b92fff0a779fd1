"""The worker: what one server of a machine does for all, in a thread, in small pieces with rests."""
