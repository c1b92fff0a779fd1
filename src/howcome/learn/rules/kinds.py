"""What kind of memory a finding is: what must or must not be done is a rule, what was preferred to what is a choice."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.learn.rules.draft import Draft

_SUBJECT = r"^(?:[A-Z][\w ]{2,30}: )?(?:(?:the|an?|every|each) )?(?:`[^`]+`|[\w./()-]+)(?: [\w-]+){0,3} "
_RULE = re.compile(
    rf"{_SUBJECT}(?:must (?:not|never|always)|should (?:never|always)) [a-z]|^(?:Never|Always|Do not|Don't) [a-z]+ "
)
_CHOICE = re.compile(
    r"\b(?:trusts?|relies on|rely on|defers? to|delegates?|prefers?|keeps?|accepts?|leaves?|skips?)\b[^.;:]{3,140}"
    r" rather than \w",
)
_REASON = re.compile(r"\b(?:because|since|so that|as|so)\b", re.IGNORECASE)
_HAPPENED = re.compile(
    r"\((?:fixed on|before the change)|\b(?:was|were|had|didn't|failed|broke|wrongly|incorrectly)\b|by the commit “"
)


def kind_of(draft: Draft, text: str) -> str:
    """The type of a draft: a discovery that lays something down is a pattern, one that weighs it a decision."""
    if draft.type != "discovery" or _HAPPENED.search(text):
        return draft.type
    if _CHOICE.search(text) and _REASON.search(text):
        return "decision"
    return "pattern" if _RULE.search(text) else draft.type
