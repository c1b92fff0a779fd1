"""What a plan or a commit is for, as its heading says: its list of decisions does not say it again."""

from __future__ import annotations

import re

from howcome.learn.fitness import is_personal
from howcome.learn.rules.naming import own
from howcome.learn.sentences import without_markdown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.learn.rules.scene import Said

_TITLE = re.compile(
    r"^#{1,3} +(?:(?:implementation |design |refactoring )?plan\b(?: for\b| to\b)?[:—– -]*)?"  # noqa: RUF001
    r"(?P<what>\S.*?) *(?:[:—–-]* *(?:implementation )?plan)?$",  # noqa: RUF001
    re.IGNORECASE | re.MULTILINE,
)
_COMMIT = re.compile(r"(?:\w+(?:\((?P<scope>[^)]{2,40})\))?!?: )?(?P<what>[A-Za-z].*)")
_ABOUT_NOTHING = re.compile(r"\b(?:review|feedback|comments?|nits?|lint|cleanup|wip|misc)\b", re.IGNORECASE)
MIN_CHARS, MAX_CHARS = 6, 80


def title_of(plan: str) -> str:
    """The title of a plan without the word "plan"; "" when it has none that is short."""
    head = _TITLE.search(plan)
    title = without_markdown(head["what"]).strip(" :.") if head else ""
    return title if MIN_CHARS <= len(title) <= MAX_CHARS else ""


def headed(text: str, said: Said) -> str:
    """What a commit says was decided, after what the commit is about where the words themselves name nothing."""
    first = said.text.strip().partition("\n")[0].strip(" .")
    match = _COMMIT.match(first) if said.is_published and len(first) <= MAX_CHARS else None
    if match is None or "`" in text or own(text) or first[:30] in text:
        return text
    about = match["scope"] or ("" if _ABOUT_NOTHING.search(first) else match["what"])
    return f"{about}: {text}" if about and not is_personal(about) else text
