"""From records to rows: read, exclude, redact, key, cut to the four resolutions, store. A plain list of steps."""
