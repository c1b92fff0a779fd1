"""Rationales: for each exchange in which something was done or decided, what was asked, what was done, and why."""
