"""What the agent or a person says later of what was found: that it went too far, or is so of others, too."""

from __future__ import annotations

import re
from functools import lru_cache

from howcome.domain import candidates, events
from howcome.learn.quick import Words
from howcome.learn.rules.naming import own
from howcome.learn.rules.record import place_of
from howcome.learn.rules.soundness import stem_of
from howcome.learn.sentences import split

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from howcome.learn.rules.draft import Draft
    from howcome.learn.rules.scene import Said, Scene

_RETRACTS = Words(
    r"\btoo (?:broad|aggressive|eager|far)\b|\bchanged the (?:intended|original|previous)\b|\bover-?correct(?:s|ed)\b"
    r"|\bover-?correction\b|\b(?:not|against|breaks?|broke) the intended\b|\bmust still\b"
)
_RETRACTING = re.compile(_RETRACTS.source, re.IGNORECASE)
NEAR_CHARS = 300
"""So near to the words that take something back its name has to stand."""

_ONLY = re.compile(r"^(?P<what>[^.;:]{3,80}?) (?:is|are|gets?) only (?P<verb>[a-z]{3,}?)e?d (?:when|by|in|from|after) ")
"""Who does something to a thing, and nobody else: another who does it, too, shows that it is not so."""

_TOO = Words(r"\b(?:also|too|as well|even|but they do|another|both)\b")
_PLAIN = re.compile(r"`[^`]*`")
_WORD = re.compile(r"[A-Za-z]{4,}")
MIN_WORDS = 2


def taken_back(draft: Draft, text: str, scene: Scene) -> str:
    """Why what the agent said is not kept, as one of `candidates.REASONS`; "" when nothing said later is against it."""
    is_of_calls = text.startswith("`") and "` failed: " in text
    if not draft.sources or is_of_calls or all(source.origin == events.ORIGIN_USER for source in draft.sources):
        return ""
    place = place_of(scene, draft.sources[0])
    is_so = is_retracted(text, scene, place) or has_other_doer(text, scene, place)
    return candidates.UNSURE if is_so else ""


def is_retracted(text: str, scene: Scene, place: int) -> bool:
    """Whether something said after an event takes back what a statement says of one of its names."""
    names = {name.rpartition(".")[2] for name in own(stem_of(text)) if "/" not in name}
    for said in _said_after(scene, place):
        if any(name in window for window in _windows(said.text) for name in names):
            return True
    return False


def has_other_doer(text: str, scene: Scene, place: int) -> bool:
    """Whether "A is only done when B" is followed by somebody else that does it to A, too."""
    only = _ONLY.match(stem_of(text))
    if only is None:
        return False
    names, doers = own(only["what"]), own(text[only.end() :])
    words = [word.lower() for word in _WORD.findall(_PLAIN.sub("", only["what"]))]
    if not doers or not (names or len(words) >= MIN_WORDS):
        return False
    wanted = [only["verb"], *(words if len(words) >= MIN_WORDS else [name.lower() for name in names])]
    for said in _said_after(scene, place):
        if not said.is_user and all(word in said.low for word in wanted):
            for line in said.text.splitlines():
                for sentence in split(line):
                    low = sentence.lower()
                    is_other = not any(doer in sentence for doer in doers) and _TOO.found(sentence)
                    if is_other and all(word in low for word in wanted):
                        return True
    return False


def _said_after(scene: Scene, place: int) -> Iterator[Said]:
    for number, one in enumerate((scene, *scene.later)):
        for said in one.said:
            if number or said.place > place:
                yield said


@lru_cache(maxsize=4096)
def _windows(text: str) -> tuple[str, ...]:
    """What stands around each place where a text takes something back."""
    if not _RETRACTS.found(text):
        return ()
    return tuple(
        text[max(0, match.start() - NEAR_CHARS) : match.end() + NEAR_CHARS] for match in _RETRACTING.finditer(text)
    )
