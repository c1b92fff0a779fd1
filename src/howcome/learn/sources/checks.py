"""Rules of linters and compilers that stopped a check, in the tools' own words: those that say what is to be done."""

from __future__ import annotations

import re

from howcome.domain.commands import LOOKING
from howcome.learn.draft import Draft
from howcome.learn.shell import commands
from howcome.learn.sources.seen import base_names, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.learn.sources.seen import Seen

MAX_FROM_ONE = 2
MAX_NAME_CHARS, MAX_TEXT_CHARS = 60, 190
_FINDING = re.compile(
    r"^[ \t]*(?P<file>[\w.@~/-]+\.\w{1,5})(?::\d+(?::\d+)?:?|\(\d+,\d+\):?)[ \t]*(?P<text>\S.{9,400}?)[ \t]*$",
    re.MULTILINE,
)
_RULE = re.compile(r"[(\[]([a-z][\w/-]{2,40})[)\]]$|\b(TS\d{3,5}|[A-Z]{1,4}\d{3,4})\b")
_TELLS = re.compile(
    r"(?i)\b(?:should|must|use|using|make|prefer|instead|avoid|unwrapped|duplicate|exceeds?|too \w+|require[sd]?"
    r"|forbidden|banned|not allowed|disallow\w*)\b"
)
"""Words of tools that say what is to be done; without one it is a slip of the day (an unused name, a type)."""


def find(seen: Seen) -> list[Draft]:
    """Findings with a rule's name in the failed checks of an exchange."""
    found: dict[str, Draft] = {}
    for failed in seen.scene.actions:
        if not failed.is_shell or not failed.has_failed or failed.result is None:
            continue
        names = [command.name for command in commands(failed.command) if command.program not in LOOKING]
        for match in _FINDING.finditer(failed.output) if names else ():
            rule = _RULE.search(match["text"])
            key = rule[1] or rule[2] if rule is not None and _TELLS.search(match["text"]) else ""
            if key and key not in found:
                told = one_line(match["text"], MAX_TEXT_CHARS)
                text = f"`{one_line(names[-1], MAX_NAME_CHARS)}` rejects in `{base_names([match['file']])[0]}`: {told}"
                found[key] = Draft("failure", text, [failed.result], witnesses=[failed.call], subject=key)
    return list(found.values())[:MAX_FROM_ONE]
