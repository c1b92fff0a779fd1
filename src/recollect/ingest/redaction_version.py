"""Which rules for secrets the stored texts have been through."""

RULES_VERSION = 2
"""Raised with every change of the rules that finds more."""
