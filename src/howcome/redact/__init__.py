"""Secrets out of whatever is to rest: rules, the view they look on, and the gate that every text goes through."""
