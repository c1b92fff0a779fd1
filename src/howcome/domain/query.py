"""What a question says beside its words: times, files, error messages, names, and what it is not about.

Nothing here costs a model or an import: the standard library's cheap half, patterns compiled when a text first needs
them, and never more of a text looked at than MAX_CHARS. Code and logs in a prompt are no speech: a date in a stack
trace is nobody's question, and a `not` in a program is nobody's wish.
"""

from __future__ import annotations

import re

from howcome.domain.patterns import late
from howcome.domain.times import spans

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from howcome.domain.times import Span

MAX_CHARS = 8000
"""Of a longer text (a pasted log) only the beginning is read: what is asked stands there."""

MAX_ASKED_CHARS = 2000
MAX_FOUND = 32
MAX_ERROR_CHARS = 200
MAX_PATH_CHARS = 300
MAX_EXCLUDED_WORDS = 6
MAX_QUOTING_CHARS = 300
MAX_EXCLUSIONS = 8

_ASKING = frozenset(
    "are can compare could did do does explain find give had has have how is list recall remember remind search show"
    " summarise summarize tell was were what when where which who whose why".split()
)
"""First words of a sentence that asks. `may` and `will` are not here: they ask for something to be done."""

_EXTENSIONS = frozenset(
    "bash bat c cc cfg cjs clj cmake conf cpp cs css csv cu cxx dart diff ex exs fish gemspec go gql gradle graphql h"
    " hpp hs html ini ipynb java jl js json jsonl jsx kt kts less lock log lua m md mdx mjs mk ml mod mts nix patch"
    " php pl plist po properties proto ps1 py pyi pyx r rb rs rst sass scala scss sh sol sql sqlite sum svelte svg"
    " swift tex tf toml tpl ts tsv tsx txt vim vue wasm xml yaml yml zig zsh".split()
)
_BARE_FILES = frozenset(
    "Cargo.lock Containerfile Dockerfile Gemfile Jenkinsfile Justfile Makefile Procfile Rakefile Vagrantfile".split()
)
_PRODUCTS = frozenset(
    "alpine.js angular.js backbone.js chart.js d3.js discord.js ember.js express.js next.js node.js nuxt.js p5.js"
    " react.js socket.io three.js vue.js".split()
)
"""Names that look like files and are not."""

_TOP_FOLDERS = frozenset(
    "api app apps bin cmd components config crates docs examples frontend backend include internal lib libs migrations"
    " packages pkg scripts src test tests tools web".split()
)
_WRAPPING = "\"'`“”‘’()[]{}<>,;!?*"  # noqa: RUF001 - quotation marks as people type them

_EXCLUDING = late(
    r"\b(?:except(?: for)?|excluding|other than|apart from|aside from|leaving out|but not|and not|nor"
    r"|not(?=\s+(?:about|because|due|related|caused|concerning|regarding)\b)|(?<=[,;(] )not|^not|without(?! \w+ing\b"
    r"(?<!using)(?<!touching)))\s+"
)
"""What begins an exclusion. `does not work`, `why not`, `not yet` and `not found` begin none; nor do `instead of` and
`rather than`: who asks why one was chosen over the other asks about both."""

_EXCLUDING_WORDS = ("not ", "nor ", "without ", "except", "excluding", "other than ", "t from", "e from", "leaving out")
_LEAD = frozenset(
    "a about all an any anything are at because by caused concerning due for from in it not of on one ones regarding"
    " related same that the their these this those to touching using was were with".split()
)
_STOP = frozenset(
    "are because but can could did do does had has have how if is please should since so that then was were what when"
    " where which while who why would".split()
)
_WORKING = frozenset(
    "archive compress copy count create cut delete display execute extract kill merge move print read remove rename"
    " replace run save sort split sum sync tar touch unzip write zip".split()
)
_LISTING = frozenset(("find", "get", "list", "search", "show"))
_EVERYTHING = frozenset(("all", "and", "any", "every", "files", "only", "recursively"))
"""An order ("remove all files except robots.txt") says how the work is to be done: what it leaves out is part of what
it is about. Without this, NL2Bash's 23 questions with an exclusion fall from MRR .37 to .23."""

_NOT_EXCLUDED = frozenset("even only just sure yet fail failing doubt question problem problems delay luck".split())

_ERRNO = (
    "EACCES|EADDRINUSE|EAGAIN|EBADF|EBUSY|ECONNABORTED|ECONNREFUSED|ECONNRESET|EEXIST|EHOSTUNREACH|EINVAL|EIO|EISDIR"
    "|ELIFECYCLE|EMFILE|ENETUNREACH|ENOENT|ENOMEM|ENOSPC|ENOTDIR|ENOTEMPTY|ENOTFOUND|EPERM|EPIPE|ERESOLVE|EROFS|ETIMEDOUT"
)
_NAMED = late(r"\b([A-Za-z_][\w.]{0,80}(?:Error|Exception|Warning|Fault|Interrupt))\b(?::[ \t]*([^\n`]{1,160}))?")
_SAID = late(r"(?m)^[ \t]*((?:error|fatal|panic|FAILED|FATAL|ERROR|E)(?:\[\w{1,12}\])?:?[ \t]+\S[^\n`]{2,160})")
_CODE = late(
    rf"\b(?:ERR_[A-Z_]{{3,40}}|{_ERRNO}|SIG(?:ABRT|BUS|FPE|HUP|ILL|INT|KILL|PIPE|SEGV|TERM)"
    r"|(?:CVE-\d{4}-\d{4,7})|0x[89A-Fa-f][0-9A-Fa-f]{7}|(?!CP|HTTP|IEEE|ISO|MP|PEP|PR|RFC|SHA|TLS|UTF|V)[A-Z]{1,4}\d{3,5})\b",
)
_EXIT = late(r"\b(?:exit(?:ed|s)?(?: with)?(?: code| status)?|return code|rc)[ =:]{1,3}(-?\d{1,3})\b")
_STATUS = late(r"\b(?:HTTP|status)(?: code)?[ /:=]{1,2}([1-5]\d\d)\b", re.IGNORECASE)
_PYTHON = late(r'File "([^"\n]{1,300})", line \d')
_CALL = late(r"\bat [\w.$<>]{1,120} ?\(([^():\s]{1,300}):\d")
_PLACE = late(r"(?m)^[ \t]*(?:at )?([\w./@-]{1,300}\.(?:go|rs|c|cc|cpp|ts|js|java|kt|rb|php)):\d{1,6}\b")
_PHRASE = late(r"(?<!\w)[\"“„]([^\"“”„\n]{2,120})[\"”“](?!\w)")
_WORD = late(r"[\w'’./-]+|[,;:?!()\n—]")  # noqa: RUF001 - an apostrophe as people type it
_IDENTIFIER = late(r"(?<![\w-])(?=_{0,9}[^\W_]+_)\w{3,100}(?<!_)(?![\w-])")
_SENTENCE = late(r"[^.?!\n]*(?:\.(?=\S)[^.?!\n]*)*[.?!\n]?")
_LOGGED = late(
    r"(?m)^[ \t]*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:|\d\d:\d\d:\d\d|>|\$ |at \S+ ?\(|File \"|Traceback "
    r"|[+-]{1,3} |@@ ).*$",
)
_MARKS = dict.fromkeys(map(ord, "*`"))


# -- speech ------------------------------------------------------------------------------------------------------------
def speech(text: str) -> str:
    """A text without code (fenced, or between backticks), quotations and lines of logs: blanks of the same length."""
    text = text[:MAX_CHARS]
    if "`" in text:
        text = "".join(_without_code(text))
    if "\n" in text:
        text = _LOGGED.sub(lambda match: " " * len(match[0]), text)
    return text


def _without_code(text: str) -> Iterator[str]:
    for place, part in enumerate(text.split("```")):
        if place:
            yield "   "
        if place % 2:
            yield " " * len(part)
            continue
        pieces = part.split("`")
        for number, piece in enumerate(pieces):
            is_code = number % 2 and number < len(pieces) - 1 and "\n\n" not in piece
            yield f"{' ' if number else ''}{' ' * len(piece) if is_code else piece}"


def questions(text: str) -> list[str]:
    """The sentences of a text that ask for something that was."""
    found = []
    for sentence in _SENTENCE.findall(text):
        words = sentence.split(None, 1)
        if words and (sentence.rstrip().endswith("?") or words[0].strip(_WRAPPING).lower() in _ASKING):
            found.append(sentence)
    return found


def spans_in(text: str, now_ms: int, *, is_asked: bool = False) -> list[Span]:
    """The times that a text asks about: only where it asks, never in code. What it says is to be done has none."""
    said = speech(text)
    asked = said if is_asked else "\n".join(questions(said))
    return spans(asked[:MAX_ASKED_CHARS], now_ms) if asked else []


# -- what it is not about ----------------------------------------------------------------------------------------------
def split_excluded(text: str) -> tuple[str, list[str]]:
    """A text (its first MAX_CHARS) without what it excludes ("…, not in the app"), and that in its own words.

    A sentence that asks for a reason ("why celery and not rq") excludes nothing, nor does an order ("remove all files
    except …"). A text that would have no words left stays as it is.
    """
    text = text[:MAX_CHARS]
    lower = text.lower()
    if not any(word in lower for word in _EXCLUDING_WORDS):
        return text, []
    said = speech(text).lower()
    if len(said) != len(text):  # a letter whose lower case is longer: places would not fit
        return text, []
    cuts: list[tuple[int, int]] = []
    for match in _EXCLUDING.finditer(said):
        if len(cuts) == MAX_EXCLUSIONS:
            break
        if cuts and match.start() < cuts[-1][1]:
            continue
        begin = max(said.rfind(mark, 0, match.start()) for mark in ".?!\n") + 1
        if _may_exclude(said[begin : match.start()].split()):
            end = _end_of_excluded(said, match.end())
            if end > match.end():
                cuts.append((match.start(), end))
    kept = _without(text, cuts)
    if not cuts or not any(character.isalnum() for character in kept):
        return text, []
    return kept, [text[start:end].strip() for start, end in cuts]


def _may_exclude(before: list[str]) -> bool:
    """Whether a sentence that begins with these words excludes anything, or gives an order, or asks for reasons."""
    if not before or "why" in before:
        return not before
    is_list = before[0] in _LISTING and not _EVERYTHING.isdisjoint(before[1:4])
    return before[0] not in _WORKING and not is_list


def _end_of_excluded(said: str, start: int) -> int:
    """Where the phrase that is excluded ends; `start` itself when there is none."""
    end, count = start, 0
    for match in _WORD.finditer(said, start):
        word = match[0]
        if word in ",;:?!()\n—" or count >= MAX_EXCLUDED_WORDS or (count and word in _STOP):
            break
        if word in _NOT_EXCLUDED and not count:
            return start
        if word in ("and", "or", "nor") or (word in _LEAD):
            continue
        count, end = count + 1, match.end()
        if word.endswith("."):
            break
    return end


def _without(text: str, cuts: list[tuple[int, int]]) -> str:
    parts, place = [], 0
    for start, end in cuts:
        parts.append(text[place:start])
        place = end
    return " ".join([*parts, text[place:]]).strip()


# -- what has to stand there as it is ----------------------------------------------------------------------------------
def phrases_in(text: str) -> list[str]:
    """What stands between double quotes in a short question, as `plain_words` has it; of a long one nothing does.

    Who pastes a log or a program quotes nothing.
    """
    if len(text) > MAX_QUOTING_CHARS or not any(mark in text for mark in '"“„'):
        return []
    found = (plain_words(quoted) for quoted in _PHRASE.findall(text))
    return [phrase for phrase in found if phrase]


def needed_words(text: str, *, is_phrase: bool = False) -> str:
    """What any index has of words that must be there: an identifier (`FREE_FROM`) as one word.

    Of a phrase with identifiers these are enough: code is indexed by them alone, and it has to be there verbatim.
    """
    names = _IDENTIFIER.findall(text)
    if is_phrase and names:
        return " ".join(names).replace("_", "")
    return _IDENTIFIER.sub(lambda name: name[0].replace("_", ""), text)


def plain_words(text: str) -> str:
    """A text as phrases are looked for in it: in lower case, without marks of emphasis and code, blanks as one."""
    return " ".join(text.translate(_MARKS).lower().split())


# -- files -------------------------------------------------------------------------------------------------------------
def files_in(text: str) -> list[str]:
    """Names and paths of files in a text, each once, as written but for wrapping and line numbers."""
    found: dict[str, None] = {}
    for token in text[:MAX_CHARS].split():
        if len(token) <= MAX_PATH_CHARS and (path := _as_file(token)):
            found[path] = None
    return list(found)[:MAX_FOUND]


def _as_file(token: str) -> str:
    """A token as the file it names, '' when it names none."""
    token = token.lstrip(_WRAPPING).rstrip(_WRAPPING + ".:")
    if "://" in token or not ("." in token or "/" in token or token in _BARE_FILES):
        return ""
    if "(" in token:  # a frame: `handler.js(10:5)`, `main(Main.java:12`
        token = token.rpartition("(")[2] if "." in token.rpartition("(")[2] else token.partition("(")[0]
    head, colon, tail = token.partition(":")
    if colon and (tail[:1].isdigit() or tail.startswith(":")):
        token = head
    base = token.rpartition("/")[2]
    stem, dot, extension = base.rpartition(".")
    if dot and extension.lower() in _EXTENSIONS and base.lower() not in _PRODUCTS:
        return token if stem.strip(".*") and not stem.endswith(")") and not stem.isdigit() else ""
    if base in _BARE_FILES or (base.startswith(".") and base[1:].isidentifier() and not base[1:].isdigit()):
        return token
    folders = [part for part in token.split("/") if part]
    is_path = token.startswith(("./", "../", "~/", "/")) or (folders and folders[0] in _TOP_FOLDERS)
    return token if len(folders) > 1 and is_path and all(map(_is_path_part, folders)) else ""


def _is_path_part(part: str) -> bool:
    return all(character.isalnum() or character in "._-~@+" for character in part)


# -- errors ------------------------------------------------------------------------------------------------------------
def errors_in(text: str) -> list[str]:
    """Error messages in a text, each once: `KeyError: 'x'`, `E501`, `exit 137`, `status 502`, lines with `fatal:`."""
    text = text[:MAX_CHARS]
    found: dict[str, None] = {}
    if any(mark in text for mark in ("Error", "Exception", "Warning", "Fault", "Interrupt")):
        for name, message in _NAMED.findall(text):
            found[f"{name}: {message.strip()}" if message.strip() else name] = None
    lower = text.lower()
    if any(mark in lower for mark in ("error", "fatal", "panic", "failed", "e  ")):
        found |= dict.fromkeys(line.strip() for line in _SAID.findall(text))
    if not text.islower():
        found |= dict.fromkeys(_CODE.findall(text))
    if any(mark in lower for mark in ("exit", "return code", "rc")):
        found |= {f"exit {code}": None for code in _EXIT.findall(lower)}
    if any(mark in lower for mark in ("status", "http")):
        found |= {f"status {code}": None for code in _STATUS.findall(text)}
    return [error[:MAX_ERROR_CHARS] for error in list(found)[:MAX_FOUND]]


def traced_files_in(text: str) -> list[str]:
    """The files that the lines of stack traces in a text name, in their order."""
    text = text[:MAX_CHARS]
    found: list[str] = []
    if 'File "' in text:
        found += _PYTHON.findall(text)
    if "at " in text:
        found += _CALL.findall(text)
    if "\n" in text and ":" in text:
        found += _PLACE.findall(text)
    return found[:MAX_FOUND]
