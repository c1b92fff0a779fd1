"""Rules that are put into a project's instructions for agents: the lines that an edit adds there."""

from __future__ import annotations

import re
from itertools import zip_longest

from howcome.learn import anchors
from howcome.learn.rewriting import impersonal, without_you
from howcome.learn.rules.conventions import OF_THEM
from howcome.learn.rules.draft import Draft
from howcome.learn.sentences import sentences

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.domain.candidates import Distilled
    from howcome.learn.rules.scene import Action, Scene
    from howcome.learn.sentences import Sentence

_I = re.IGNORECASE
FILES = frozenset((
    "claude.md", "claude.local.md", "agents.md", "gemini.md", "contributing.md", "copilot-instructions.md",
    ".cursorrules", ".windsurfrules", "conventions.md", "guidelines.md",
))  # fmt: skip
"""Names (lower case) of the files that tell agents, and people, how to work on a project."""

_RULE = re.compile(
    r"(?:always|never|do not|don't|avoid|prefer|must|only (?:use|run|call|add|write|commit|put|import|create|edit)\b"
    r"|every|all|each|before|after|when(?:ever)?|use|run|keep|put"
    r"|make sure|ensure|commit|write|name|place|add|call|wrap|treat|import|no)\b(?! \S+s (?:when|if)\b)",
    _I,
)
_BINDS = re.compile(
    r"\b(?:always|never|must|do not|don't|avoid|prefer|only|required?|instead of|rather than|before (?:every|each"
    r"|committing|pushing|commit|merging)|after (?:every|each|changing|editing)|unless|except|make sure|ensure|should"
    r"|mandatory|forbidden|not allowed)\b",
    _I,
)
_EXCEPTS = re.compile(r"\b(?:unless|except(?:ions?)?|other than|when not to|not (?:when|if|for))\b", _I)
_NAMES = re.compile(r"\w+(?:[._/-]\w+)+|[a-z]+[A-Z]\w+")
_LEAD = re.compile(r"(?:important|critical|note|rule|warning|caution|reminder)$", _I)
_THIS = re.compile(r"\b(?:below|above|following|this (?:section|file|document|guide))\b", _I)
MAX_RULES = 6
"""Of one edit: who writes a whole guide lays down more than anybody remembers, and it stands in the file."""

MAX_CHARS = 260


def find(scene: Scene, _: Distilled) -> list[Draft]:
    """The rules that an exchange added to such files."""
    drafts: list[Draft] = []
    for action in scene.actions:
        if not action.is_edit or action.has_failed or _file(action) not in FILES:
            continue
        added = list(sentences(_added(action)))
        followed = zip_longest(added, added[1:])
        rules = [rule for one, after in followed if not _has_exception(one, after) and (rule := _rule(one))]
        drafts += [Draft("pattern", text, [action.call], said=said, is_wish=True) for text, said in rules[:MAX_RULES]]
    return drafts


def _file(action: Action) -> str:
    return (action.call.file or "").replace("\\", "/").rpartition("/")[2].lower()


def _added(action: Action) -> str:
    """The lines that an edit added, in their order."""
    edits = action.input.get("edits")
    parts = [part for part in edits if isinstance(part, dict)] if isinstance(edits, list) else [action.input]
    lines: list[str] = []
    for part in parts:
        new = str(part.get("new_string") or part.get("content") or part.get("file_text") or part.get("new_str") or "")
        old = set(str(part.get("old_string") or part.get("old_str") or "").splitlines())
        is_code = False
        for line in new.splitlines():
            is_code ^= line.lstrip().startswith("```")
            lines.append("" if line in old and not is_code and not line.lstrip().startswith("```") else line)
    return "\n".join(lines)


def _has_exception(sentence: Sentence, after: Sentence | None) -> bool:
    """Whether the next sentence says of the same thing when it does not hold: that one is the rule."""
    if after is None or _EXCEPTS.search(sentence.plain) or not _EXCEPTS.search(after.plain):
        return False
    return bool(set(_NAMES.findall(sentence.text)) & set(_NAMES.findall(after.text)))


def _rule(sentence: Sentence) -> tuple[str, str] | None:
    """The rule that a line lays down, and its words; None where it only describes."""
    text = sentence.text.rstrip(": ")
    plain = sentence.plain.rstrip(": ")
    if len(text) > MAX_CHARS or sentence.text.endswith((":", "?")) or _THIS.search(text):
        return None
    label = "" if _LEAD.match(sentence.label) else sentence.label
    if OF_THEM.match(plain):
        return None
    is_rule = _RULE.match(plain) and _BINDS.search(f"{label} {plain}")
    if not is_rule or not anchors.is_technical(plain):
        return None
    worded = impersonal(without_you(plain), subject="the project")
    return f"{label}: {worded}" if label else worded, sentence.text
