"""What a commit that mends something says was wrong: its message is written to stand by itself."""

from __future__ import annotations

import re

from howcome.learn import anchors
from howcome.learn.fitness import fault
from howcome.learn.rewriting import impersonal
from howcome.learn.rules.draft import Draft
from howcome.learn.sentences import without_markdown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.domain.candidates import Distilled
    from howcome.learn.rules.scene import Said, Scene
    from howcome.learn.sentences import Sentence

_I = re.IGNORECASE
_SUBJECT = re.compile(
    r"^(?:(?:fix|bugfix|hotfix)(?:\([^)]*\))?!?: (?P<what>.{8,100})|(?P<whole>(?:fix(?:es|ed)?|prevent"
    r"|avoid|stop|handle|repair|correct) .{8,100}))$",
    _I,
)
_CHORE = re.compile(
    r"\b(?:lint\w*|typos?|format\w*|tests?|ci|docs?|comments?|review|feedback|merge|nits?|warnings?|readme"
    r"|changelog|spelling)\b",
    _I,
)
_WRONG = re.compile(
    r"\b(?:was|were|caused|causing|failed|fails|didn't|did not|doesn't|does not|never|couldn't|lost|missing|wrong\w*"
    r"|incorrect\w*|leak\w*|broke|breaks?|overwrote|overwritten|dropped|skipped|ignored|silently|crash\w*|hang\w*"
    r"|stuck|stale|duplicated|assumed|previously|falsely|only read\w*)\b",
    _I,
)
_REMEDY = re.compile(r"\bnow\b|\binstead of\b(?!.*\b(?:was|were|caus\w+|fail\w*)\b)|\bso that\b", _I)
_DONE = re.compile(
    r"^(?:detect|wrap|call|always|skip|return|generate|validate|handle|[\w.]+: [A-Z]\w*|add|adds|added"
    r"|update[sd]?|change[sd]?|remove[sd]?|use[sd]?|now|also|extract\w*|move[sd]?|rename\w*|make[sd]?"
    r"|introduce\w*|replace\w*|refactor\w*|this|these|it|fix(?:es|ed)?|ensure\w*|see|closes|tests?"
    r"|the (?:fix|test|change))\b",
    _I,
)


def title_of_fix(said: Said) -> str:
    """The title of a commit or pull request that mends something in the product, without its prefix; "" of others."""
    first = said.text.strip().partition("\n")[0].strip()
    subject = _SUBJECT.match(first)
    if not subject or _CHORE.search(first):
        return ""
    return without_markdown(subject["what"] or subject["whole"]).rstrip(".")


def find(scene: Scene, _: Distilled) -> list[Draft]:
    """One failure for each commit whose message says what was wrong and that it is mended."""
    drafts: list[Draft] = []
    for said in scene.said:
        if not said.is_published:
            continue
        title = title_of_fix(said)
        kept = _wrongs(said.sentences[1:]) if title else []
        if kept:
            drafts.append(
                Draft(
                    "failure", f"{' '.join(kept)} Mended by the commit “{title}”.", [said.event], said=said.text[:400]
                )
            )
    return drafts


def _wrongs(sentences: list[Sentence]) -> list[str]:
    """The first one or two sentences of a body that say what was wrong."""
    kept: list[str] = []
    for sentence in sentences[:5]:
        text = impersonal(sentence.text)
        is_fit = (
            not (_DONE.match(sentence.text) or _REMEDY.search(text))
            and _WRONG.search(text)
            and (kept or anchors.has_strong(text))
        )
        if not is_fit or fault(text if not kept else f"{kept[0]} {text}"):
            if kept:
                break
            continue
        kept.append(text)
        if len(kept) == 2:
            break
    return kept
