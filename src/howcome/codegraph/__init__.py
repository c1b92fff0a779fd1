"""Which file of a project imports which: files listed and read, imports parsed, resolved to files, and kept."""
