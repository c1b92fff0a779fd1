"""Shell commands as the ledger of commands knows them: their parts, their normal form, and what a failure says.

Both doors use it, reading transcripts and answering a tool's hook, so that one command has one form: standard library
only, and `shlex` in place of a parser.
"""

from __future__ import annotations

import re
import shlex
from functools import lru_cache
from os.path import commonprefix
from zlib import crc32

from howcome.domain.complaints import complaint, first_line, is_vague

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_COMMAND_CHARS = 4_000
"""What is longer is a script with data in it."""

MAX_SAID_CHARS, MAX_COMPLAINT_CHARS = 400, 160
LOOKING = frozenset(
    ("cd", "echo", "ls", "cat", "grep", "rg", "find", "head", "tail", "sed", "wc", "which", "test", "export")
)
"""Programs that look for something: that they find nothing is no failure."""

HANDLING = frozenset((
    "rm", "mv", "cp", "ln", "mkdir", "rmdir", "touch", "chmod", "chown", "kill", "stat", "file", "diff", "type",
    "command",
))  # fmt: skip
"""Programs that do the same with whatever they are given: they are no other way to run it."""

HOOKED = ("git commit", "git push")
"""What hooks of a repository may refuse: it is not the command that is wrong then."""

_UNCHECKED = re.compile(
    r"--no-verify|--no-gpg-sign|--no-check|--insecure|--skip-(?:checks?|hooks?|tests?)"
    r"|(?:HUSKY|LEFTHOOK)=0|SKIP=.*|core\.hooksPath=.*"
)
"""Options and settings of git, its hooks and package managers that leave a check out."""

SETTINGS = frozenset(("cd", "pushd", "export", "source", ".", "set", "unset"))
"""Commands that change only how those after them run."""

MASK = "[redacted:"
"""What a secret was replaced by begins with it: no command with one runs."""

NAME_WORDS = 3
_OPERATORS, _PIPES = ";&|()<>\n", ("|", "|&")
_COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)
_DESCRIPTOR = re.compile(r"(?<=\s)[12](?=>)")
_ASSIGNED = re.compile(r"\w+=")
_NAME = re.compile(r"@?\w[\w@-]*")
_PLAIN = re.compile(r"[\w:-]+")
NOT_RUN = "<tool_use_error>"
"""How the result of a call begins that the client did not run, or ended when another call failed (Claude Code)."""

_COUNTED = re.compile(r"(?i)\W*found \d")
"""A count of problems: it differs where they are the same."""

_QUOTES = "'\"`\u2018\u2019“”"
_QUOTED, _PATH = (re.compile(rf"[{_QUOTES}].*?[{_QUOTES}]"), "'…'"), (re.compile(r"\S*/\S*"), "/…")
_HASH, _NUMBER = (re.compile(r"\b(?=[a-f]*\d)[0-9a-f]{7,}\b"), "#"), (re.compile(r"\d+"), "0")


def line_of(values: Mapping[str, object]) -> str:
    """The line that a shell tool was called with, whichever agent's; "" where there is none."""
    value = values.get("command") or values.get("cmd") or ""
    if not isinstance(value, list):
        return str(value)
    is_shell = value[:1] in (["bash"], ["sh"], ["zsh"])
    return " ".join(str(part) for part in value[2:] if part) if is_shell else " ".join(map(str, value))


class Part:
    """A simple command of a line.

    Attributes:
        words: The program and its arguments, quotes taken off, without what is redirected.
        settings: What it runs under: assignments before it, and commands of the line before it that only set something.
        decides: Whether the line fails when it does: nothing but `&&` stands between it and the line's end.
        is_piped: Whether it reads what the command before it prints.
    """

    __slots__ = ("decides", "is_piped", "settings", "words")

    def __init__(
        self, words: tuple[str, ...], settings: tuple[str, ...], *, decides: bool, is_piped: bool = False
    ) -> None:
        self.words, self.settings, self.decides, self.is_piped = words, settings, decides, is_piped

    @property
    def program(self) -> str:
        """The program's name without folders."""
        return self.words[0].rpartition("/")[2]

    @property
    def name(self) -> tuple[str, ...]:
        """The program with the plain words before its first option or path: `git commit`, `npm run lint`."""
        plain = [self.program]
        for word in self.words[1 : NAME_WORDS + 1]:
            if word.startswith("-") or not _PLAIN.fullmatch(word) or word.isdigit():
                break
            plain.append(word)
        return tuple(plain)

    @property
    def form(self) -> str:
        """Its normal form: numbers and hashes are as good as others."""
        return " ".join((self.program, *(word if word.startswith("-") else _numbered(word) for word in self.words[1:])))

    @property
    def command(self) -> str:
        """Its words behind what is assigned for them; the folder and whatever else it runs under left out."""
        given = (one.partition("=") for one in self.settings if _ASSIGNED.match(one))
        exported = (one for one in self.settings if one.startswith("export "))
        return " ".join((*exported, *(f"{name}={_quoted(value)}" for name, _, value in given), *self.words))

    def __str__(self) -> str:
        """As one may type it."""
        return " ".join((*self.settings, *(_quoted(word) for word in self.words)))


@lru_cache(maxsize=256)
def parts_of(line: str) -> tuple[Part, ...]:
    """The simple commands of a line in their order; none of what is too long or cannot be read."""
    if len(line) > MAX_COMMAND_CHARS:
        return ()
    found: list[Part] = []
    settings: list[str] = []
    for words, decides, is_piped in _split(line):
        assigned = next((at for at, word in enumerate(words) if not _ASSIGNED.match(word)), len(words))
        own, rest = words[:assigned], words[assigned:]
        if rest and rest[0] not in SETTINGS:
            found.append(Part(tuple(rest), (*settings, *own), decides=decides, is_piped=is_piped))
        elif words:
            settings.append(" ".join(map(_quoted, words)) + " &&")
    return tuple(found)


def masked(text: str) -> str:
    """A text without what is another each time: what is quoted, paths, hashes, numbers."""
    for pattern, mask in (_QUOTED, _PATH):
        text = pattern.sub(mask, text)
    return _numbered(text)


def _numbered(text: str) -> str:
    for pattern, mask in (_HASH, _NUMBER):
        text = pattern.sub(mask, text)
    return text


class Failure:
    """What of a line failed, and how.

    Attributes:
        part: The simple command that is to blame.
        said: What went wrong, as the tool says it; `signature`: the same, masked.
        is_vague: Whether it is not said what went wrong.
        named: The words of the command that the complaint names: an option that is unknown, a script that is not there.
    """

    __slots__ = ("is_vague", "named", "part", "said", "signature")

    def __init__(self, part: Part, said: str, *, is_vague: bool) -> None:
        self.part, self.said, self.is_vague = part, said, is_vague
        self.signature = masked(said)[:MAX_COMPLAINT_CHARS]
        self.named = tuple(_named(part.words[1:], said))

    @property
    def suspects(self) -> tuple[str, ...]:
        """What is named, with the program where it is: a command that is not found."""
        program = self.part.program
        return (
            (program, *self.named) if re.search(rf"(?<![\w-]){re.escape(program)}(?![\w-])", self.said) else self.named
        )

    @property
    def exact(self) -> str:
        """What it has in common with the same command that fails in the same way."""
        return f"{self.part.form}\0{self.signature}"

    @property
    def alike(self) -> str:
        """What it has in common with others that fail for the same word or, where none is named, say just the same."""
        named = (self.part.program, *self.named, self.signature)
        said = _numbered(self.said) if _COUNTED.match(self.said) else self.said
        return "\0".join(named if self.named else (*self.part.name, "", said))


def failure_of(line: str, output: str) -> Failure | None:
    """What of a line failed; None where nothing or one of several is to blame, or a hook of the repository refused it.

    That is the command which the complaint names, or which has a word that it names; else the only one that decides.
    """
    found = parts_of(line)
    said = (complaint(output) or first_line(output))[:MAX_SAID_CHARS]
    ran = [part for part in found if part.program not in LOOKING]
    blamed = [part for part in found if re.match(rf"(?:\(\w+\):)?(?:\S*/)?{re.escape(part.program)}: ", said)]
    blamed = blamed or [part for part in ran if _named(part.words[1:], said)]
    blamed = blamed or (ran if len(ran) == 1 and ran[0].decides else [])
    if not blamed or not said or " ".join(blamed[-1].name[:2]) in HOOKED:
        return None
    return Failure(blamed[-1], said, is_vague=is_vague(said, output))


class Run:
    """A simple command that ran, as the ledger keeps it.

    Attributes:
        call: The position of its call. `form`: the number of its normal form.
        exact: The number of how it failed, None where it worked. `alike`: the same without its form.
        fixed_by: The position of the call that then worked. `fix`: the number of the form that mended it there, below
            zero where the failed command itself worked after it.
    """

    __slots__ = ("alike", "call", "exact", "fix", "fixed_by", "form")

    def __init__(
        self,
        call: int,
        form: int,
        exact: int | None = None,
        alike: int | None = None,
        fixed_by: int | None = None,
        fix: int | None = None,
    ) -> None:
        self.call, self.form, self.exact, self.alike, self.fixed_by, self.fix = call, form, exact, alike, fixed_by, fix

    @property
    def rows(self) -> tuple[int, ...]:
        """Its call, and the one that mended it."""
        return (self.call,) if self.fixed_by is None else (self.call, self.fixed_by)

    @property
    def is_prepared(self) -> bool:
        """Whether it worked as it was, after another command."""
        return self.fix is not None and self.fix < 0


def form_number(part: Part) -> int:
    """What the ledger knows a normal form by."""
    return _number(part.form)


def worked_number(part: Part) -> int:
    """What it knows a command by that worked: with the settings that it ran under, for they may be why."""
    return _number("\0".join((*part.settings, part.form)))


def numbers_of(failed: Failure) -> tuple[int, int]:
    """What the ledger knows a failure by: with its form, and without."""
    return _number(failed.exact), _number(failed.alike)


def _number(text: str) -> int:
    """A number of 63 bits. The texts are compared, too, before anything is said: a checksum will do."""
    data = text.encode("utf-8", "replace")
    return crc32(data) << 31 ^ crc32(data[::-1])


def is_unchecked(words: Sequence[str]) -> bool:
    """Whether a command leaves out a check: that it then works mends nothing."""
    return any(_UNCHECKED.fullmatch(word) for word in words) or (" ".join(words[:2]) == HOOKED[0] and "-n" in words)


def mended_by(part: Part, named: Sequence[str], later: Sequence[Part]) -> Part | None:
    """Which command of a later line that worked is a failed one in other words, or under other settings; None: none is.

    `named` are the words of it that the complaint names: where they say what it does (`npm run tests`), the other may
    do something else by name; where the program is among them, the other may be another with the same file.
    """
    later = [now for now in later if now.decides and not is_unchecked((*now.settings, *now.words))]
    for now in later:
        if now.words == part.words:
            return now if set(now.settings) - set(part.settings) else None
    for is_it in (_is_wrapped, _is_near, _is_other, _is_without):
        found = [now for now in later if is_it(part, now, named)]
        if found:
            return max(found, key=lambda now: len(commonprefix((str(part), str(now)))))  # noqa: RUF071 - of characters
    return None


def _is_wrapped(one: Part, other: Part, _named: Sequence[str]) -> bool:
    """Whether one is the other behind further words: `npx tsc` and `tsc`."""
    short, long = sorted((one.words, other.words), key=len)
    is_behind = len(short) < len(long) and long[-len(short) :] == short and (len(short) > 1 or len(long) == 2)
    return is_behind and _may_run(other)


def _is_near(one: Part, other: Part, named: Sequence[str]) -> bool:
    """Whether two commands of a program are the same but for some words, and do the same by name."""
    shared = sum(min(one.words.count(word), other.words.count(word)) for word in set(one.words))
    is_near = one.program == other.program and 2 * shared >= max(len(one.words), len(other.words))
    return is_near and (one.name == other.name or bool({*one.name[1:]} & {*named}))


def _is_other(one: Part, other: Part, named: Sequence[str]) -> bool:
    """Whether another program was given the same: `uv add x` for `pip install x`; of a file only where none runs.

    Many programs are given the same file, and each does something else with it.
    """
    last = one.words[-1]
    is_given = len(one.words) > 1 and other.words[-1] == last and one.program != other.program
    is_sure = _NAME.fullmatch(last) is not None or one.program in named
    return is_given and is_sure and _may_run(one) and _may_run(other)


def _is_without(one: Part, other: Part, named: Sequence[str]) -> bool:
    """Whether the other is one without the words that were complained of."""
    words, rest = other.words, iter(one.words)
    wrong = {*one.words[1:]} & {*named}
    return bool(wrong) and len(words) > 1 and not wrong & {*words} and all(word in rest for word in words)


def _may_run(part: Part) -> bool:
    return part.program not in LOOKING and part.program not in HANDLING


def _named(words: Sequence[str], said: str) -> list[str]:
    found = []
    for word in words:
        name = word.partition("=")[0] if word.startswith("-") else word
        letter = f"|option -- '?{re.escape(name[1])}\\b" if re.match(r"-\w", name) else ""
        exact = (
            rf"(?<![\w-]){re.escape(name)}(?![\w-]){letter}"
            if name.startswith("-")
            else rf"[{_QUOTES}]{re.escape(name)}[{_QUOTES}]"
        )
        if "/" not in name and len(name) > 1 and re.search(exact, said):
            found.append(name)
    return found


def _quoted(word: str) -> str:
    return word if re.fullmatch(r"[\w@%+=:,./~*$-]+", word) else "'" + word.replace("'", "'\\''") + "'"


def _split(line: str) -> list[tuple[list[str], bool, bool]]:
    """The words of each simple command, whether it decides and is piped; up to a here-document or an open quote."""
    line = _DESCRIPTOR.sub("", _COMMENT.sub("", line).replace("\\\n", " "))
    lexer = shlex.shlex(line, posix=True, punctuation_chars=_OPERATORS)
    lexer.whitespace, lexer.commenters, lexer.whitespace_split = " \t\r", "", True
    found: list[list[str]] = [[]]
    behind: list[str] = []
    is_target = False
    try:
        for token in lexer:
            if not set(token) <= set(_OPERATORS):
                if not is_target:
                    found[-1].append(token)
                is_target = False
            elif "<<" in token:
                break
            elif set(token) & set("<>"):
                is_target = True
            else:
                found.append([])
                behind.append(token)
                is_target = False
    except ValueError:  # no closing quotation
        pass
    last = max((at for at, operator in enumerate(behind) if operator.strip("\n") != "&&"), default=-1)
    before = ("", *behind)
    return [(words, at > last, before[at].strip("\n") in _PIPES) for at, words in enumerate(found) if words]
