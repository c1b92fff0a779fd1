"""Distilling: what sessions taught, as short statements of fact with the events that bear them out."""
