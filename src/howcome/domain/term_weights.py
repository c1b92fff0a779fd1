"""What a lexical index counts how often: the weights of words in documents, and of fields in queries.

They are part of the ranking, whatever index holds them.
"""

from __future__ import annotations

OWN_WEIGHT = 2
"""A turn's own words count twice, the words before it once."""

TURNS_BEFORE = 2
NEAR_CHARS = 400
"""How much of each turn before it stands in a turn's document."""

EVENT_CHARS = 2000
"""How much of a call or a result is searched."""

SAID_WEIGHT = 3
SAID_CLIP = 2
"""A word of an exchange counts at most twice, at weight 3; a word of the exchange before it counts 1."""

DID_BOOST = 0.3
"""What was done counts .3 of what was said: without it nDCG@10 falls by 1.8 points (docs/evaluation.md)."""

MEMORY_WEIGHT = 3
"""A memory's words count three times: it is short, and as dense as what an exchange is about."""
