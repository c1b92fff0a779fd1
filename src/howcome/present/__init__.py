"""The doors: command line, hooks, rendering, life cycle. No rules here."""
