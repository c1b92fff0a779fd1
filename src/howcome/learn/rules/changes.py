"""Changes that a report tells of with what they took the place of, and why: decisions that were carried out."""

# ruff: noqa: RUF001 - dashes and quotes are matched as people write them

from __future__ import annotations

import re

from howcome.learn import anchors
from howcome.learn.rewriting import impersonal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.learn.sentences import Sentence

_I = re.IGNORECASE
_HOW = (
    r"(?P<how>because(?: of)?|since|due to|so that|so(?! (?:far|as)\b)|to avoid|to prevent|to ensure"
    r"|given(?: that)?|in order to|which (?=avoids|prevents|ensures|keeps|matches|was|is|would)"
    r"|[—–-]{1,2} )\s?(?P<z>.{8,})"
)
_CHANGED = re.compile(
    r"^(?:switched|moved|migrated|changed|replaced|bumped|raised|lowered|increased|decreased|reduced"
    r"|downgraded|upgraded|pinned|swapped|kept|avoided|reverted|used|renamed|extracted|split|inlined"
    r"|dropped|disabled|enabled|copied|set|stored|put|left|made|removed|added|introduced|cached|wrapped"
    r"|guarded|limited|capped|skipped|deferred)\b (?P<x>.{4,200}?),? " + _HOW,
    _I,
)
_NOW = re.compile(
    r"^(?P<x>.{2,120}?) (?:now (?:cached|called|skipped|skips?|wraps?|requires?|uses?|reads?|writes?"
    r"|returns?|calls?|stores?|unmarshals|checks?|takes?|runs?|goes|starts?|falls?|is|are|derives?|passes"
    r"|handles|loads?|comes|defaults)|intentionally|deliberately|purposely|was (?:split|moved|replaced"
    r"|dropped|removed|kept|renamed)|were (?:split|moved|replaced|dropped|removed"
    r"|kept)) (?P<rest>.{4,220}?),? " + _HOW,
    _I,
)
_IMPERATIVE = re.compile(
    (
        r"^(?:switch|move|migrate|change|replace|bump|raise|lower|increase|decrease|reduce|pin|swap|keep|avoid"
        r"|use|rename|extract|split|drop|disable|enable|store|make|remove|defer|skip|cache|prefer|treat"
        r"|preserve|stop|delay|strip|read|write|derive|detect|fall back|exclude|include|extract|wrap|return|pass"
        r"|guard|gate"
        r"|limit|cap|trust|call|check|require|reject|ignore|hide|show|validate|resolve|scope|set|delete|fetch|reuse"
        r"|inline|escape|clear|reset|allow|run)\b (?P<x>.{4,200}?),? "
    )
    + _HOW,
    _I,
)
_RAISED = re.compile(
    r"^(?:bumped|raised|lowered|increased|decreased|reduced|downgraded|upgraded|pinned|changed|set|extended"
    r"|shortened) (?P<x>.{4,120}?) (?:from \S.{0,60}?)? ?to \S.{0,40}?,? (?:because|since|as|due to|so that"
    r"|so)\b (?P<z>.{8,})",
    _I,
)
_STRONG_ALTERNATIVE = re.compile(
    r"\b(?:instead of|rather than|in favou?r of|from \S.{0,60}? to|replaced .+ with|swapped|intentionally"
    r"|deliberately|as opposed to|split out|rejected)\b",
    _I,
)
_SMALL = re.compile(
    r"\b(?:tests?|assertions?|assert|expectations?|linter|lint|nolint|mocks?|unused|typo|gofmt|recent commit"
    r"|latest commit|todo|comment"
    r"|rebase|conflict|wording|label|font|margin|padding|px|shadow(?:ing|s)? the)\b|_test\.|\.test\."
    r"|\.spec\.|\bTest[A-Z]|\bborder\b",
    _I,
)
_MENDS = re.compile(
    r"\b(?:fix(?:es|ed)?|bug|no longer|correctly|properly|works? (?:correctly|on|with|too)"
    r"|falling back|erroring|crash\w*)\b",
    _I,
)
"""What says that it repairs something: no choice, however it is put."""

_TIDIED = re.compile(r"(?:extract|mov|renam|split|inlin|reus)\w*\b.*\bto (?:avoid|reduce|remove) (?:\w+ )?duplicat", _I)
"""What was tidied is done: nobody needs to know it afterwards."""

_IS_NOW = re.compile(r"\bnow \w+", _I)
_WE_HAVE = re.compile(r"^(?:i|we)(?:'ve| have)? (?:also |then |now )?", _I)
_WEAK = re.compile(r"\bshould\b|\bwould\b", _I)


def change(plain: str, sentence: Sentence, *, is_published: bool = False) -> str:
    """The sentence of a report when it tells of such a change, "" else; a commit (`is_published`) orders it."""
    told = _WE_HAVE.sub("", plain)
    match = _RAISED.match(told)
    if match and not (_SMALL.search(plain) or _MENDS.search(plain)):
        return impersonal(told)
    match = _CHANGED.match(told) or _NOW.match(plain) or (_IMPERATIVE.match(plain) if is_published else None)
    if not match or _SMALL.search(plain) or _SMALL.search(sentence.label) or _WEAK.search(plain[: match.start("how")]):
        return ""
    if _TIDIED.match(told):
        return ""
    is_dash = match["how"][0] in "—–-"
    if match.string[: match.start("how")].count("`") % 2:
        return ""
    if match["z"].lower().startswith("the ") and not (
        _STRONG_ALTERNATIVE.search(match.string[: match.start("how")]) or anchors.has_strong(match["z"])
    ):
        return ""
    is_reasoned = match["how"].lower() in ("because", "because of", "since", "to avoid", "to prevent")
    if _MENDS.search(plain) or (_IS_NOW.search(plain) and not is_reasoned):
        return ""
    if not (_STRONG_ALTERNATIVE.search(plain) or is_reasoned) or (
        is_dash
        and not re.search(
            r"\b(?:because|since|so|avoids?|prevents?|needs?|is|are|was|can't|cannot|doesn't)\b", match["z"], _I
        )
    ):
        return ""
    return impersonal(told) if anchors.has_strong(plain) else ""
