"""The rule distiller: extractive, deterministic, without a model. Each module here is one kind of thing to learn."""

from __future__ import annotations

import re

from howcome.domain import candidates
from howcome.domain.candidates import Distilled
from howcome.domain.memories import normalized
from howcome.learn.base import Distiller
from howcome.learn.dates import absolute
from howcome.learn.fitness import fault, starts_open
from howcome.learn.rewriting import lowered
from howcome.learn.rules import (
    broken_tests,
    causes,
    checks,
    choices,
    commits,
    conventions,
    decisions,
    facts,
    failures,
    guidelines,
    refusals,
    tooling,
)
from howcome.learn.rules.firsthand import first_said_by
from howcome.learn.rules.kinds import kind_of
from howcome.learn.rules.repeats import is_said_by, said_once, told_by
from howcome.learn.rules.retracted import taken_back
from howcome.learn.rules.scene import Scene, scene_of
from howcome.learn.rules.soundness import unsound, unsound_answer, unsound_failure
from howcome.learn.rules.standing import fallen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from howcome.domain.candidates import Candidate
    from howcome.learn.base import Exchange
    from howcome.learn.rules.draft import Draft

    Rule = Callable[[Scene, Distilled], list[Draft]]

_HAPPENS = re.compile(
    r"(?:this|that|it) (?:happens|happened|is|was|fails|failed|breaks|broke|occurs|occurred) (because|since"
    r"|due to|as)\b",
    re.IGNORECASE,
)
_ONE_THING = re.compile(
    r"the (?:issue|problem|bug|failure|error|crash|cause|two|three|four|five|six|\d+)\b", re.IGNORECASE
)

RULES: tuple[Rule, ...] = (
    conventions.find, guidelines.find, choices.find, decisions.find, commits.find, causes.find, failures.find,
    facts.find, tooling.find, checks.find, refusals.find, broken_tests.find,
)  # fmt: skip
OF_TOOLS = frozenset((checks.find, refusals.find, broken_tests.find))
"""What tools say, in fixed sentences: two of them share most of their words and still say two things."""

SAID_AGAIN = frozenset(("discovery", "failure", "decision", "pattern"))
"""What is said again in a session in other words is kept once."""


class RuleDistiller:
    """Distils by rules."""

    name = "rules"
    version = 3

    def distil(self, exchange: Exchange, following: Sequence[Exchange] = ()) -> Distilled:
        """What an exchange taught; a pure function of it and of the exchanges after it."""
        found, of_tools = _kept(exchange, following) or self._found(exchange, following)
        seen: dict[int, list[Candidate]] = {}
        once = [one for one in found.candidates if one in of_tools or not self._is_said_again(one, following, seen)]
        for _ in range(len(found.candidates) - len(once)):
            found.reject(candidates.REPEATED)
        found.candidates = once
        return found

    def _is_said_again(
        self, candidate: Candidate, following: Sequence[Exchange], seen: dict[int, list[Candidate]]
    ) -> bool:
        """Whether a later exchange teaches the same, in other words."""
        names = told_by(candidate) if candidate.type in SAID_AGAIN else ()
        if not names:
            return False
        for number, later in enumerate(following):
            texts = [said.low for said in scene_of(later).said]
            if not any(sum(name in text for name in names) >= min(2, len(names)) for text in texts):
                continue
            if number not in seen:
                found, of_tools = self._foreseen(later, following[number + 1 :])
                seen[number] = [other for other in found.candidates if other not in of_tools]
            if any(is_said_by(candidate, other) for other in seen[number]):
                return True
        return False

    def _foreseen(self, exchange: Exchange, following: Sequence[Exchange]) -> tuple[Distilled, list[Candidate]]:
        """What a later exchange taught, kept until it is its turn: mostly the same exchanges follow it then."""
        known = scene_of(exchange).taught
        if known is None or known[0] != following:
            found = self._found(exchange, following)
            scene_of(exchange).taught = known = (following, *found)
        return known[1], known[2]

    def _found(self, exchange: Exchange, following: Sequence[Exchange]) -> tuple[Distilled, list[Candidate]]:
        """What an exchange taught, and what of that tools say."""
        scene, found = scene_of(exchange, following), Distilled()
        known: set[str] = set()
        told: set[str] = set()
        fixed: list[Candidate] = []
        for rule in RULES:
            for draft in rule(scene, found):
                if rule in (facts.find, tooling.find) and draft.said in told:  # another rule made more of it
                    continue
                told.add(draft.said)
                if self._weigh(draft, scene, found, known, is_of_tools=rule in OF_TOOLS) and rule in OF_TOOLS:
                    fixed.append(found.candidates.pop())
        once = [*said_once(found.candidates), *fixed]
        found.candidates += fixed
        for _ in range(len(found.candidates) - len(once)):
            found.reject(candidates.REPEATED)
        found.candidates = sorted(once, key=lambda candidate: candidate.ts_ms)
        return found, fixed

    def _weigh(self, draft: Draft, scene: Scene, found: Distilled, known: set[str], *, is_of_tools: bool) -> bool:
        """Adds what a draft says, when it may be a memory."""
        text = absolute(draft.text, draft.ts_ms)
        reason = fault(text, is_wish=draft.is_wish, is_known_whole=draft.is_known_whole)
        if reason == candidates.NOT_SELF_CONTAINED:
            reason, text = _placed(draft, text)
        reason = reason or (
            "" if is_of_tools else _unsound(draft, text) or taken_back(draft, text, scene) or fallen(draft, text, scene)
        )
        key = normalized(text)
        if reason or key in known:
            found.reject(reason or candidates.REPEATED)
            return False
        known.add(key)
        draft.type = kind_of(draft, text)
        candidate = draft.candidate(text)
        candidate.origin = first_said_by(draft, candidate.origin, scene)
        found.candidates.append(candidate)
        return True


def _kept(exchange: Exchange, following: Sequence[Exchange]) -> tuple[Distilled, list[Candidate]] | None:
    """What was found in an exchange when an earlier one was distilled, if the same followed it; only once."""
    scene = exchange.view
    if not isinstance(scene, Scene) or scene.taught is None:
        return None
    (then, found, of_tools), scene.taught = scene.taught, None
    return (found, of_tools) if then == following else None


def _unsound(draft: Draft, text: str) -> str:
    """Why a finding is none worth keeping; what failed commands and rules say is checked by those who found it."""
    is_of_calls = text.startswith("`") and "` failed: " in text
    if draft.type not in ("discovery", "failure") or draft.is_wish or is_of_calls:
        return ""
    if draft.is_answer:
        return unsound_answer(text)
    return unsound_failure(text) if draft.type == "failure" else unsound(text)


def _placed(draft: Draft, text: str) -> tuple[str, str]:
    """A text that hangs on its neighbours, with what it speaks of put before it."""
    happens = _HAPPENS.match(text)
    if draft.topic and happens:
        placed = f"{draft.topic} {text[happens.start(1) :]}"
    elif draft.topic and (not starts_open(text) or _ONE_THING.match(text)):
        placed = f"{draft.topic}: {lowered(text)}"
    elif draft.context and not starts_open(text):
        placed = f"{draft.context}: {lowered(text)}"
    else:
        return candidates.NOT_SELF_CONTAINED, text
    return fault(placed, is_wish=draft.is_wish), placed


_: Distiller = RuleDistiller()
