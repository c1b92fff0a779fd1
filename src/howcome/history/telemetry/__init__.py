"""Telemetry: what sessions did and what it cost them, counted from what is stored; nothing is kept for it."""
