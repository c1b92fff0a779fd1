"""What an exchange did: what was changed, which commands mattered, what was committed. Never what was only read.

Its sentences are told without the words that lead up to what they say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from howcome.domain.events import squeeze
from howcome.domain.sentences import Sentence
from howcome.learn import anchors
from howcome.learn.actions import Action
from howcome.learn.prose import Prose
from howcome.learn.scene import Said, Scene

_P = Prose("done")

MAX_FILES = 3
MAX_WHAT_CHARS = 170
MAX_COMMAND_CHARS = 60
COMMAND_HEAD_CHARS = 80
MAX_TITLE_CHARS = 90
LEAST_WORDS_CHARS, MOST_WORDS_CHARS = 20, 320
LEAST_WEIGHT = 1.9
LAST_SAID = 3
"""Where nothing was said at the end, the last things that were said on the way are looked at."""

MAX_SENTENCES = 40
NEAR = 6
"""What was announced at most so many events before a change is about it."""

_PLAN_FILE = re.compile(r"(?:^|/)\.claude/(?:plans|todos|projects)/|^/(?:tmp|private/tmp|var/folders)/")
_COMMIT = re.compile(r"git commit\b")
_PULL_REQUEST = re.compile(r"\b(?:gh pr create|glab mr create)\b")
_PR_TITLE = re.compile(r"(?:--title|-t)[ =](?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)')")

_TEST = re.compile(r"test|spec|jest|tox|nox")
_LABEL = re.compile(r"(?:the )?(?:fix|solution|change)", re.IGNORECASE)
_HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?\n.*?\n\s*\1\b", re.DOTALL)
_PASSING = ("/tmp/", "--abort", "--continue")  # noqa: S108 - looked for in commands that leave nothing behind
_DIGIT = re.compile(r"\s+\d?$")


class Deeds:
    """What was done in an exchange.

    Attributes:
        files: Those that were changed, as seen from the project's root, in order; `commits`: first lines of messages.
        commands: Those that mattered, in order; `is_changing`: whether one of them changed something by itself.
        check: The last test, lint or build run with what came of it, '' when there was none.
    """

    __slots__ = ("check", "commands", "commits", "files", "is_changing", "pulls")

    def __init__(self, scene: Scene) -> None:
        done = [action for action in scene.actions if not action.has_failed]
        edits = [action.call for action in done if action.is_edit and action.call.file]
        paths = [(call.file or "", call.project) for call in edits]
        ran = [action.command for action in done if action.command]
        commands = [_without_heredocs(command) for command in ran]
        root = done[0].call.project if done else ""
        paths += [(match["file"], root) for command in commands for match in _P.in_place.finditer(command)]
        kept = (pair for pair in paths if not _PLAN_FILE.search(_below(*pair)))  # a project may lie below /tmp
        self.files = list(dict.fromkeys(shown_path(path, root) for path, root in kept))
        self.commits = [subject for command in ran if _COMMIT.search(command) and (subject := _subject(command, scene))]
        titles = [_PR_TITLE.search(command) for command in ran if _PULL_REQUEST.search(command)]
        self.pulls = [match[1] or match[2] for match in titles if match and (match[1] or match[2])]
        found = [match[1].strip() for command in commands for match in _P.matters.finditer(command)]
        lasting = [command for command in found if not any(word in command for word in _PASSING)]
        brief = (squeeze(_DIGIT.sub("", command), MAX_COMMAND_CHARS) for command in lasting)
        self.commands = list(dict.fromkeys(brief))
        self.is_changing = any(_P.changes.search(command) for command in commands)
        self.check = _check(scene.actions)

    @property
    def is_substantial(self) -> bool:
        """Whether something was changed; a commit alone only keeps what an exchange before it changed."""
        return bool(self.files or self.is_changing or (self.pulls and self.commits))

    def told(self, what: str) -> str:
        """All of it in a few clauses, after `what` it was in words ('' when nobody said it)."""
        parts = [squeeze(what, MAX_WHAT_CHARS)] if what else []
        if self.commits:
            parts.append(f'committed "{squeeze(self.commits[-1], MAX_TITLE_CHARS)}"')
        if self.files:
            more = f" and {len(self.files) - MAX_FILES} more" if len(self.files) > MAX_FILES else ""
            parts.append(f"edited {', '.join(self.files[:MAX_FILES])}{more}")
        if self.pulls:
            parts.append(f'opened a pull request "{squeeze(self.pulls[-1], MAX_TITLE_CHARS)}"')
        parts += [f"ran `{command}`" for command in self.commands[: 1 if self.files else 2]]
        return "; ".join([*parts, *filter(None, [self.check])])


def deed_in_words(scene: Scene) -> str:
    """The sentence that says best what was done: of the report at the end, else of what was said before a change."""
    best, best_weight = "", LEAST_WEIGHT
    agent = scene.agent_said()
    for said in (said for number, said in enumerate(agent) if said.is_final or number >= len(agent) - LAST_SAID):
        for place, sentence in enumerate(said.sentences[:MAX_SENTENCES]):
            text = _P.who.sub("", unframed(sentence.text), count=1)
            weight = _weight(text, sentence, place, said)
            if weight > best_weight:
                best, best_weight = text, weight
    return (best or _announced(scene)).strip().rstrip(".:;, ")


def _weight(text: str, sentence: Sentence, place: int, said: Said) -> float:
    """How well a sentence says what was done; 0 where it does not."""
    if not LEAST_WORDS_CHARS <= len(text) <= MOST_WORDS_CHARS or text.endswith(("?", ":")):
        return 0.0
    if _P.empty.match(text) or _P.no_report.match(text):
        return 0.0
    weight = 2.0 * bool(_P.did.match(text)) + 1.0 * bool(_P.is_done.search(text))
    weight += 1.0 * bool(_LABEL.match(sentence.label))
    return weight + 0.5 * said.is_final + 0.5 * ("`" in text) - 0.02 * place - 0.6 * (sentence.kind == "item")


def _announced(scene: Scene) -> str:
    """What the agent said that it would do right before the first change that it then made."""
    changes = [action.place for action in scene.actions if action.is_edit and not action.has_failed]
    for said in reversed(scene.agent_said()):
        if not changes or said.place > changes[0] or changes[0] - said.place > NEAR:
            continue
        for sentence in reversed(said.sentences):
            match = _P.will.search(sentence.text)
            what = match["what"] if match else ""
            says_nothing = _P.reads.match(what) or _P.says_nothing.match(what) or not anchors.is_technical(what)
            if LEAST_WORDS_CHARS <= len(what) <= MOST_WORDS_CHARS and not says_nothing:
                return what
    return ""


def shown_path(path: str, root: str) -> str:
    """A file as seen from its project's root, at most the last three parts of its path."""
    parts = [part for part in _below(path, root).split("/") if part]
    return "/".join(parts[-3:])


def _below(path: str, root: str) -> str:
    return path.removeprefix(root.rstrip("/") + "/")


def _subject(command: str, scene: Scene) -> str:
    """The first line of the message of a commit."""
    for said in scene.said:
        decoded = (said.event.text or "").replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")
        if said.is_final and said.event.tool and command[:COMMAND_HEAD_CHARS] in decoded:
            return next((line.strip() for line in said.text.splitlines() if line.strip()), "")
    return ""


def _without_heredocs(command: str) -> str:
    """A command without the texts that it holds: they may sound like commands."""
    return _HEREDOC.sub("", command) if "<<" in command else command


def _check(actions: Iterable[Action]) -> str:
    """The last run of the tests (else of another check); whether it failed is known where its exit code is its own."""
    ended = [action for action in actions if action.command and action.result is not None]
    checks = ((_P.check.search(_without_heredocs(action.command)), action) for action in ended)
    runs = [(match[1].strip(), action.has_failed) for match, action in checks if match]
    tests = [run for run in runs if _TEST.search(run[0])]
    for command, has_failed in (tests or runs)[-1:]:
        shown = squeeze(_DIGIT.sub("", command), MAX_COMMAND_CHARS)
        return f"ran `{shown}`{', which failed' if has_failed else ''}"
    return ""


_R = Prose("rewriting")

_I = re.IGNORECASE
_BARE_CONNECTIVE = re.compile(r"(?:so|and|but|also|then|now)\s+(?=\S)", _I)
_FIRST = re.compile(r"[A-Za-z]+")
_LEADS = _R.words("leads")
"""First words of what leads up to a sentence (`_CONNECTIVE`, `_BARE_CONNECTIVE`, `_FRAME`)."""

_SHOWING = frozenset("investigation analysis log logs debugging output trace profile profiler test".split())
_AFTER = {
    "a": frozenset(("few",)),
    "the": frozenset(("key",)) | _SHOWING,
    "this": frozenset(("means", "confirms")) | _SHOWING,
}
"""Words that lead up to something only with one of these behind them, and mostly stand for themselves."""

_TURNS_OUT = re.compile(r"^.{0,160}?\bturn(?:s|ed) out(?:,)? (?:that )?(?!to be\b)(?=\S)", _I)
_TURN_OUT = re.compile(r"turn(?:s|ed) out", _I)
"""What is much quicker to look for first: most texts with a "turn" have a "return"."""

_SAYING = _R.words("saying")
"""Second words of what somebody is said to have said (`_PERSON_SAID`)."""


def unframed(text: str) -> str:
    """A sentence without the words that lead up to it ("It turns out that …", "So, …", "I found that …")."""
    if "turn" in text and _TURN_OUT.search(text):
        text = _TURNS_OUT.sub("", text, count=1)
    for _ in range(4):
        before = text
        first = _FIRST.match(text)
        word = first[0].lower() if first else ""
        words = text.split(" ", 2)
        may_lead = word in _LEADS or word.startswith("hmm")
        after = _AFTER.get(word) if may_lead and len(words) > 1 and len(words[0]) == len(word) else None
        if may_lead and (after is None or words[1].lower() in after):
            for pattern in (_R.connective, _BARE_CONNECTIVE, _R.frame):
                match = pattern.match(text)
                if match:
                    text = text[match.end() :]
            words = text.split(" ", 2)
        match = _R.person_said.match(text) if len(words) > 2 and words[1] in _SAYING else None
        if match:
            text = text[match.end() :]
        if text == before:
            break
    return text
