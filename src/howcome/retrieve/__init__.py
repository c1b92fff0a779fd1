"""From a question to ranked answers. Read-only; every threshold and weight names the measurement behind it."""
