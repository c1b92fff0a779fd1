"""What linters and type checkers print, read from their own formats: the broken rule, its message, the file."""

# ruff: noqa: RUF001 - marks are matched as tools print them

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_AT = r"(?:\[[\w:.-]+\] )?(?P<file>[\w@+~-][\w./\\@+~-]*|/[\w./\\@+~-]+)"
_OF_CLIPPY = r".*(?:clippy::|rust-clippy/[\w./-]*#)(?P<rule>\w+)"
_FORMATS = tuple(
    (cue, re.compile(source, re.MULTILINE))
    for cue, source in (
        # golangci-lint, ktlint: path:1:2: message (rule)
        (")\n", rf"^{_AT}:\d+(?::\d+)?: (?P<text>(?![A-Z]\d{{4}}: ).{{3,400}}?) \((?P<rule>[a-z][\w:-]+)\)$"),
        # ruff, flake8, pylint: path:1:2: E501 message
        (": ", rf"^{_AT}:\d+:\d+: (?P<rule>[A-Z]{{1,5}}\d{{2,4}})(?: \[\*\])? (?P<text>.{{3,300}}(?<!\)))$"),
        ("(", rf"^{_AT}:\d+:\d+: (?P<rule>[CERWF]\d{{4}}): (?P<text>.{{3,300}}?) \([\w-]+\)$"),
        # ruff, its full form
        ("-->", rf"^(?P<rule>[A-Z]{{1,5}}\d{{3,4}}) (?:\[\*\] )?(?P<text>.{{3,300}})\n +--> {_AT}:\d+"),
        # mypy, gcc-like forms (shellcheck -f gcc): path:1:2: error: message  [rule]
        ("]\n", rf"^{_AT}:\d+(?::\d+)?: (?:error|warning|note): (?P<text>.{{3,300}}?) +\[(?P<rule>[A-Za-z][\w-]+)\]$"),
        # pyright, swiftlint: path:1:2 - error: message (rule)
        (")\n", rf"^\s*{_AT}:\d+:\d+(?: -|:) (?:error|warning): (?P<text>.{{3,300}}?) \((?P<rule>[A-Za-z]\w+)\)$"),
        # biome: path:1:2 lint/group/rule, and the message below
        (" lint/", rf"^ ?(?:at )?{_AT}:\d+:\d+ lint/\w+/(?P<rule>\w+)\b.*\n\s*[×!✖] (?P<text>.{{3,200}})$"),
        # tsc, in both of its forms
        ("error TS", rf"^{_AT}(?:\(\d+,\d+\):|:\d+:\d+ -) error (?P<rule>TS\d+): (?P<text>.{{3,400}})$"),
        # rubocop: path:1:2: C: [Correctable] Style/Rule: message
        (": ", rf"^{_AT}:\d+:\d+: [CWEFR]: (?:\[Corr\w+\] )?(?P<rule>[A-Z]\w+/\w+): (?P<text>.{{3,300}})$"),
        # checkstyle: [ERROR] path:1:2: message [Rule]
        ("]\n", rf"^\[(?:ERROR|WARN)\] {_AT}:\d+(?::\d+)?: (?P<text>.{{3,300}}?) \[(?P<rule>[A-Z]\w+)\]$"),
        # clippy: error: message, --> path, and its rule below
        ("clippy", rf"^(?:error|warning): (?P<text>.{{3,200}})\n +--> {_AT}:\d+(?:.*\n){{1,25}}?{_OF_CLIPPY}"),
        # shellcheck: In path line 1: … ^-- SC2086 (info): message
        ("SC", rf"^In {_AT} line \d+:\n(?:.*\n){{1,6}}?\s*\^-*\^? (?P<rule>SC\d+) \(\w+\): (?P<text>.{{3,300}})$"),
    )
)
"""Each with what an output has that holds one."""

_ESLINT_FILE = re.compile(rf"^{_AT}\.\w+$")
_ESLINT = re.compile(r"^\s+\d+:\d+\s+(?:error|warning)\s+(.{3,300}?)\s{2,}([@\w/-]+)$")
_FORMATTER = re.compile(
    r"^(?:Would reformat:? |would reformat |\[warn\] .*[Cc]ode style issues|.*Formatter would have printed"
    r"|.*\.\w+:\d+:\d+: File is not properly formatted|.*\.\w+:\d+(?::\d+)?: File is not `\w+`-ed|Diff in \S+ at line"
    r"|\S+ needs formatting)",
    re.MULTILINE,
)
_UNFINISHED = re.compile(
    r"typecheck|unused|deadcode|ineffassign|wastedassign|gofmt|gofumpt|goimports|gci|govet"
    r"|name-defined|attr-defined|call-arg|syntax|arg-type|assignment|import-not-found|operator|index|return-value"
    r"|report(?:Undefined\w*|Attribute\w*|MissingImports|CallIssue|ArgumentType|AssignmentType)"
    r"|no(?:Unused|Undeclared|InvalidUseBeforeDeclaration)\w*|F\d+|E[19]\d+|W[1-6]\d*|I001|E0\d{3}|[RC]0?[89]\d{2}"
    r"|no-undef|(?:@[\w-]+/)?no-unused-\w+|[@\w/-]*prettier[\w/-]*|unused_\w+|dead_code|Layout/\w+|Lint/Syntax"
)
"""Rules that speak of work which is not finished: names not written yet, imports not used yet, spaces."""

_STRICT = re.compile(r"TS(?:7\d{3}|253[1-3]|18046|18047|18048|18049|4111|1484|2835|2834|4114)")
"""Errors of tsc that come of how strict a project is; every other is of work that is not finished."""

_QUOTED = re.compile(
    r"(?!.(?:unknown|any|undefined|null|never|None|self|type|string|number|object)[`'\"”])"
    r"(?:`(?://|# )[^`]*`|(?<=string )`[^`]*`|`[^`\s]{1,120}`|'[^'\s]{1,80}'|\"[^\"\s]{1,80}\"|“[^”\s]{1,80}”)"
)
_NAMED = re.compile(
    r"\b(type|parameter|variable|function|method|field|func|var|const|constant|argument|property|import|name|class"
    r"|interface|result|as|dependency on|of|in|to|name:) [\w./()*]*(?:[a-z0-9][A-Z]|[a-z]\.[A-Za-z]|\w_\w)[\w./()*]*"
    r"|^(?:Test|test_)\w+|(?<=\bthis )(?!the\b)[A-Z]\w+|(?<=necessary: ).*|(?<=^… - )\w+(?= is)"
)
_COUNT = re.compile(r"(?<![\w.])(?!0\d)\d+(?:\.\d+)*(?:-\d+)?(?![\w.]*\w)")
_AFTER = re.compile(r":? (?:sig|got): .*$|(?<=…): .*$")
_LED = re.compile(r"^\S+ (?=- |returns )")
_PLACE = re.compile(r" ?\((?:[\w.-]+/[^)]*|from line …|line …)\)")
_REPEATED = re.compile(r"…(?:[, ]*(?:and |…))*…")
_LABELLED = re.compile(r"(?:^|(?<=[,;] ))[\w ]{2,40}: …|\([^()]*…[^()]*\)")
MANY_MASKS, MIN_TELLING_WORDS = 3, 5
MAX_MESSAGE_CHARS = 150
MAX_CHARS = 40_000


class Finding:
    """A rule that a file breaks: `rule` as the tool names it, `text` its message, `file` as printed."""

    __slots__ = ("file", "rule", "text")

    def __init__(self, rule: str, text: str, file: str) -> None:
        self.rule, self.text, self.file = rule, " ".join(text.split()), file.replace("\\", "/").removeprefix("./")

    @property
    def is_unfinished(self) -> bool:
        """Whether it only says that somebody is in the middle of something."""
        if self.rule.startswith("TS"):
            return _STRICT.fullmatch(self.rule) is None
        return _UNFINISHED.fullmatch(self.rule) is not None

    @property
    def general(self) -> str:
        """Its message without what is of one place only (names, numbers, quoted words), the same wherever it is."""
        text = _COUNT.sub("…", _QUOTED.sub("…", self.text))
        text = _PLACE.sub("", _NAMED.sub(_unnamed, _LED.sub("… ", text)))
        text = _REPEATED.sub("…", _AFTER.sub("", text)).strip(" .")
        return text if len(text) <= MAX_MESSAGE_CHARS else text[:MAX_MESSAGE_CHARS].rsplit(" ", 1)[0] + " …"

    @property
    def told(self) -> str:
        """The same; "" where next to nothing is left of its message."""
        text = self.general
        if text.count("…") < MANY_MASKS:
            return text
        is_told = len(re.findall(r"[A-Za-z]{2,}", _LABELLED.sub("", text))) >= MIN_TELLING_WORDS
        return text if is_told else ""


def findings(output: str) -> list[Finding]:
    """What linters say in an output, in the order of their formats."""
    output = f"{_ANSI.sub('', output[:MAX_CHARS])}\n"
    found = [
        Finding(match["rule"], match["text"], match["file"])
        for cue, form in _FORMATS
        if cue in output
        for match in form.finditer(output)
        if "." in match["file"]
    ]
    return found or list(_eslint(output))


def _unnamed(match: re.Match[str]) -> str:
    return f"{match[1]} …" if match[1] else "…"


def would_format(output: str) -> bool:
    """Whether a formatter would change files."""
    return _FORMATTER.search(_ANSI.sub("", output[:MAX_CHARS])) is not None


def _eslint(output: str) -> Iterator[Finding]:
    file = ""
    for line in output.splitlines():
        match = _ESLINT.match(line)
        if match and file:
            yield Finding(match[2], match[1], file)
        elif _ESLINT_FILE.match(line):
            file = line
