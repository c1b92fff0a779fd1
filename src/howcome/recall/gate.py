"""Whether an exchange is worth saying with a prompt nobody asked to look back for: a small scorer with a card.

The weights are learned from 240 real prompts of two projects with the grades of readers, and each project's weights
tried on the other: `benchmarks/gate.py` (docs/evaluation.md, "What is said with prompts"). No weight knows a word of
any language.
"""

from __future__ import annotations

from math import exp, log1p

from howcome.domain import verdicts
from howcome.retrieve.situation import Ranked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

BIAS, SCORE, STRENGTH, LOG_HOURS, OF_SESSION, RANK = -2.142, 4.25, 2.002, -0.276, 0.313, -0.135
"""Log-odds: of the search's score and strength (0 to 1), the logarithm of its age in hours, how many of the exchanges
looked at are of its session, and its place among them. One that helps counts 1, one about the same thing a quarter."""

SURE = 0.35
"""Strength from which on an exchange is said whatever else there is: in a store with few of them, too."""

POINTING_TERMS = 2
"""A prompt with so few words of its own points at what was on the screen: the names there found what was found."""

ASKED_SHARE = 0.6
"""Who asks about the past wants an answer: so much of the threshold is enough."""

HAND_SHARE = 0.6
"""Somebody who keeps a fact by hand wants it said: so much of the threshold is enough. No judged prompt has one."""

FEW = 2
"""Where no more exchanges share a word with the prompt, that is telling by itself, as in a project that is new here."""

LOOKED_AT = 8
MAX_HOURS = 72
"""What is older fades no further: a decision of last month is worth what one of last week is."""

HOUR_MS = 3_600_000
SPEAK, BESIDE_SHARE = 0.26, 0.87
"""From SPEAK on exchanges are said: the best one, and those that have so much of what it has. With .93 two of five
helping blocks are lost, with .8 half of the blocks cost over 120 tokens."""

MEMORIES_BESIDE = 1
"""Beside exchanges so many memories come, whatever their strength above the threshold. The exchange that one is made
from is said all the same: 5 of 26 blocks help so, and 4 of 23 without memories."""

ASKED_MEMORY = 0.15
"""How strong a memory has to be to take a line from the exchanges that answer a question about the past. In ten
invented projects .29 instead of .27 of the blocks hold the answer with it; in the two coding projects .32 as before."""

SURE_MEMORY = 0.25
"""Strength from which on a memory is said: of 353 lines that readers graded, 230 of 303 below .2 were noise, 8 of 50
above."""


def first_of_exchanges(ranked: Sequence[Ranked]) -> list[Ranked]:
    """The best exchanges in the order of their best rows: each as the row that is surest, with its best row's score."""
    rows: dict[int, list[Ranked]] = {}
    for item in ranked:
        rows.setdefault(item.candidate.exchange, []).append(item)
    found = []
    for best, *others in list(rows.values())[:LOOKED_AT]:
        surest = max(others, key=lambda item: item.strength, default=best)
        chosen = best if best.strength >= surest.strength else surest
        found.append(Ranked(chosen.candidate, best.score, chosen.tiers, chosen.strength))
    return found


def worth_saying(
    ranked: Sequence[Ranked], terms: int, threshold: float, now_ms: int, *, is_asked: bool
) -> list[tuple[float, Ranked]]:
    """The exchanges worth saying with a prompt of so many terms, each with what it is expected to help, best first.

    Who asks about the past gets what is strong enough (`threshold`), in the order of the search. Who points gets that,
    too, and so does everybody where little was found at all. Else what is likely to help is said.
    """
    found = first_of_exchanges(ranked)
    if is_asked:
        by_score = sorted(((item.score, item) for item in found), key=lambda pair: -pair[0])
        return [pair for pair in by_score if pair[1].strength >= threshold]
    weighed = sorted(zip(chances(found, now_ms), found, strict=True), key=lambda pair: -pair[0])
    if _is_by_words(len(found), terms, is_asked=is_asked):
        return [pair for pair in weighed if pair[1].strength >= threshold]
    if weighed and weighed[0][0] >= SPEAK:
        return [pair for pair in weighed if pair[0] >= BESIDE_SHARE * weighed[0][0]]
    return [pair for pair in weighed if pair[1].strength >= SURE]


def rule_of(weighed: Sequence[float], terms: int, *, is_asked: bool) -> str:
    """What holds back those of some exchanges (by their chances) that are not worth saying."""
    if _is_by_words(len(weighed), terms, is_asked=is_asked):
        return verdicts.WEAK
    return verdicts.BEST if max(weighed, default=0.0) >= SPEAK else verdicts.UNLIKELY


def _is_by_words(found: int, terms: int, *, is_asked: bool) -> bool:
    return is_asked or terms <= POINTING_TERMS or found <= FEW


def chances(found: Sequence[Ranked], now_ms: int) -> list[float]:
    """How much each of some exchanges is expected to help, from 0 to 1, given all that were looked at."""
    sessions = [item.candidate.session_id for item in found]
    return [_chance(item, now_ms, sessions.count(item.candidate.session_id), place) for place, item in enumerate(found)]


def _chance(item: Ranked, now_ms: int, of_session: int, place: int) -> float:
    hours = min(MAX_HOURS, max(0, now_ms - item.candidate.ts_ms) / HOUR_MS)
    odds = BIAS + SCORE * item.score + STRENGTH * item.strength + LOG_HOURS * log1p(hours)
    return 1 / (1 + exp(-(odds + OF_SESSION * of_session + RANK * place)))
