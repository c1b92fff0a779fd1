"""What the agent learned of the tools around the code: hooks, linters, checks, and why they stood in its way."""

# ruff: noqa: RUF001 - dashes and quotes are matched as people write them

from __future__ import annotations

import re

from howcome.learn import anchors
from howcome.learn.quick import Cues, Words
from howcome.learn.rewriting import impersonal, without_lines
from howcome.learn.rules.draft import Draft
from howcome.learn.rules.trust import is_provisional, is_taken_back

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.domain.candidates import Distilled
    from howcome.learn.rules.scene import Scene
    from howcome.learn.sentences import Sentence

_I = re.IGNORECASE
CUES = Cues(
    "hook", "linter", "lint ", "formatter", "typecheck", "type check", "test runner", "compiler", "wrapper", "sandbox",
    "biome", "eslint", "prettier", "mypy", "golangci", "ruff", "clippy", "the ci ", "ci ", "pipeline", "the commit ",
    "the build ", "the push ",
)  # fmt: skip
"""A text without any of these (lower case) tells of no such tool."""

_SUBJECT = re.compile(
    r"(?:the |a |local |our |this project's )?(?:`[^`]{2,40}` |[\w-]+ )?(?:pre-commit|pre-push|post-commit"
    r"|commit-msg|git"
    r"|ci|lint|linter|formatter|typecheck|type ?checker|test runner|compiler|bundler|wrapper|sandbox|biome|eslint"
    r"|prettier|mypy|golangci-lint|ruff|clippy|commit|push|build)(?: (?:hook|failure|wrapper|pipeline|job|check|script"
    r"|run))?s? (?:only|always|also|never|does|doesn't|don't|do|is|was|runs?|ran|requires?|fails?|failed|picks?|flags?"
    r"|flagged|rejects?|rejected|enforces?|considers?|sees?|treats?|deletes?|strips?|catches|blocks?|blocked|expects?"
    r"|ignores?|reports?|needs|auto-?fix\w*|wants?|wanted|complains?|checks?)\b",
    _I,
)
_TELLS = Words(
    r"\b(?:because|since|due to|caused by|so|only|requires?|entire|whole|all|every|instead of|not|doesn't|don't"
    r"|never|even"
    r"|unless|ignores?|rejects?|expects?|needs|enforces?|picks? up|flags?|considers?|treats?|without|but)\b"
)
_PASSING = Words(
    r"\b(?:my|i|i'm|we|you|your|unrelated|this|these|those|that's|now|yet|let|should|would|could|might|may|will|todo"
    r"|same"
    r"|pass(?:es|ed)?|clean|succeed(?:s|ed)?|success\w*|again|still|earlier|above|below|expected|line \d+|review"
    r"|comment|fix"
    r"|added|removed|changed|just|staged|other|worktree|rebase|merge|conflict|uncommitted|nothing|unused|undefined"
    r"|mock)\b"
)
_HASH = re.compile(r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}\b")
_ASIDE = re.compile(
    r" ?\((?:not|unrelated|these|this|which|it|my)\b[^()]*\)|(?: [—–-]+|,) (?:files|these|this|not|which) [^,;]*$", _I
)
_STORY = re.compile(
    r"(?:the |a )?(?:commit|push|build|typecheck|pre-\w+ hook) (?:was|is) blocked\b|.*\bpre-existing\b"
    r"|.*\d+ (?:failures|errors)\b"
    r"|(?:the |a )?(?:commit|push|build|typecheck|pre-\w+ hook) (?:failed|was rejected)\b|.*\b(?:is|are|was|were"
    r"|still) (?:also )?\w+ing\b",
    _I,
)
"""How one run of it went."""

_NIT = re.compile(
    r"(?:the |a )?(?:`?\w+`? )?(?:linter|lint|biome|eslint|golangci-lint)\b.*\b(?:flag|complain|fail|want)",
    _I,
)
MIN_CHARS, MAX_CHARS = 45, 280


def find(scene: Scene, _: Distilled) -> list[Draft]:
    """How the tools of a project behave, in reports and on the way."""
    drafts: list[Draft] = []
    for said in scene.said:
        if said.is_user or not said.has_any(CUES) or (not said.is_final and is_provisional(said)):
            continue
        for sentence in said.sentences:
            text = _told(sentence) if sentence.has_any(CUES) else ""
            if text and (said.is_final or not is_taken_back(said, scene)):
                drafts.append(Draft("discovery", text, [said.event], said=sentence.text, is_wish=True))
    return drafts


def _told(sentence: Sentence) -> str:
    """What a sentence says of a tool; "" where it says nothing, or only how a run of it went."""
    if not MIN_CHARS <= len(sentence.text) <= MAX_CHARS or sentence.text[-1] in "?:" or "→" in sentence.text:
        return ""
    plain = _ASIDE.sub("", without_lines(sentence.plain).rstrip(".")).strip()
    if not _SUBJECT.match(plain) or not _TELLS.found(plain) or _PASSING.found(plain) or _HASH.search(plain):
        return ""
    if _STORY.match(plain) or _NIT.match(plain):
        return ""
    return impersonal(plain) if anchors.is_technical(plain) and len(plain) >= MIN_CHARS else ""
