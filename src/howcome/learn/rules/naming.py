"""The names in a text that its project coined: what tells a memory of this project from one that holds anywhere."""

from __future__ import annotations

import re
from functools import lru_cache

from howcome.learn import anchors

_CODE = re.compile(r"`([^`\n]{1,200})`")
_TOKEN = re.compile(r"@?[A-Za-z_.~][\w.@~-]*(?:/[\w.@~*{}<>-]+)*(?:\(\))?")
_CALL = re.compile(r"([\w.]+)\(")
_LIBRARIES = frozenset(
    "strings strconv exec os fmt io ioutil http net url json time filepath path errors context sync atomic bufio bytes"
    " regexp sort slices maps log slog testing t b m assert require math rand reflect unicode utf8"
    " template sys re np pd math json string array promise console process fs window document"
    " react response request"
    " std vec option result self cmd resp req buf wg tt tc tmp this super err ctx arr obj str dict"
    " list set int e.g i.e".split()
)
"""What stands before the dot of names of a language's library, or of nobody's."""

_EVERYDAY = frozenset(
    "git gh ls cat grep rg find sed awk head tail wc cd rm cp mv mkdir echo sort diff tree jq curl set if for export"
    " return npm go node python pip cargo docker sh bash chmod env true false while switch case"
    " defer func var let const"
    " type struct import from select insert update delete alter create drop".split()
)
"""First words of code that is a shell's, a language's or a product's own."""

_RUNNERS = frozenset("make just task mise npm pnpm yarn bun rake gradle nx turbo tox nox invoke".split())
"""What runs a project's own commands."""

_FAMOUS = frozenset(
    "github gitlab javascript typescript postgresql mysql graphql openai tiktok youtube linkedin"
    " macos ios iphone paypal"
    " ebay mongodb nodejs vscode readme todo utf8 oauth websocket iterm2 devops saas wifi phd jsonl".split()
)
"""Names in mixed case that everybody knows."""

_SNAKE = re.compile(r"[A-Za-z][A-Za-z0-9]*_[A-Za-z0-9_]*[A-Za-z0-9]|_[a-z]\w{4,}")
_PASCAL = re.compile(r"[A-Z]+[a-z0-9]+[A-Z]\w*|[A-Z]{2,}[a-z][a-z0-9]{2,}\w*")
_CAMEL = re.compile(r"[a-z][a-z0-9]*[A-Z]\w*")
_TOOL = re.compile(
    r"(?:(?:Problem|Root cause): )?(?:(?:the |an? )?(?:`[^`]+`|[\w-]+) (?:linter|formatter|compiler"
    r"|bundler|type ?checker)\b"
    r"|(?:the )?(?:[A-Z][\w.+-]+ )+(?:CLI|API|SDK|[Aa]ctions?|[Ss]erver|App)\b)",
    re.IGNORECASE,
)
_FIRST = re.compile(r"(?:(?:Problem|Root cause): )?(?:the |an? )?`?(\w[\w.+-]*)", re.IGNORECASE)
_LINTERS = frozenset(
    "staticcheck golangci-lint biome eslint ruff mypy clippy prettier pyright flake8 pylint rubocop"
    " shellcheck tsc gofmt gopls"
    " pytest jest vitest husky lefthook pre-commit".split()
)
_LANGUAGES = frozenset(
    "git go golang python java javascript typescript rust ruby php swift kotlin scala dart haskell"
    " elixir linux windows macos"
    " github node".split()
)
_LOCAL = re.compile(r"(?<![\w.])[a-z][a-z0-9]*[A-Z]\w*")
_HUMP = re.compile(r"[A-Z][a-z0-9]*")
_CONSTANT_OF_OTHERS = re.compile(
    r"(?:GIT|GITHUB|HOME|PATH|HTTPS?|NODE|GO|PYTHON|CI|SIG|E|LC|XDG)_[A-Z_]+|set_e|pull_request\w*"
    r"|node_modules",
    re.IGNORECASE,
)
_FILE_OF_ALL = re.compile(
    r"(?:package(?:-lock)?\.json|go\.(?:mod|sum)|tsconfig\.json|README\.md|\.gitignore|index\.\w+"
    r"|__init__\.py)$",
    re.IGNORECASE,
)
MIN_HUMPS = 2
"""A name in camel case with fewer after its first word may be any local variable ("tmpDir", "hasNew")."""


def own(text: str) -> list[str]:
    """The names that a project coined, in their order, without brackets: files, functions, types, commands."""
    return list(_own(text))


@lru_cache(maxsize=512)
def _own(text: str) -> tuple[str, ...]:
    found: list[str] = []
    at = 0
    for code in _CODE.finditer(text):
        found += _plain(text[at : code.start()])
        found += _of_code(code[1])
        at = code.end()
    return tuple(dict.fromkeys(found + _plain(text[at:])))


def is_about_a_tool(text: str) -> bool:
    """Whether what a text is about is a tool or product that it names, and none that everybody works with."""
    first = _FIRST.match(text)
    word = first[1].lower() if first else ""
    if word in _LINTERS:
        return True
    return (word in anchors.PRODUCTS and word not in _LANGUAGES) or (_TOOL.match(text) is not None and word != "linter")


def locals_of(text: str) -> list[str]:
    """Names in code that may be a function's or a mere variable's."""
    return [token for code in _CODE.finditer(text) for token in _LOCAL.findall(code[1])]


def _plain(text: str) -> list[str]:
    return [name for match in _TOKEN.finditer(text) if (name := _coined(match[0], is_code=False))]


def _of_code(code: str) -> list[str]:
    """The names in a piece of code; of a command of the project, the whole of it."""
    words = code.split() or [""]
    called = {match[1].rpartition(".")[2] for match in _CALL.finditer(code)}
    found = [name for match in _TOKEN.finditer(code) if (name := _coined(match[0], is_code=True, called=called))]
    is_command = len(words) > 1 and words[0].isalpha() and words[0].islower() and words[1].replace("-", "").isalpha()
    if words[0] in _RUNNERS and len(words) > (2 if words[1] in ("run", "x", "exec") else 1):
        found.append(" ".join(words[:3]))
    elif is_command and words[0] not in _EVERYDAY and words[0] not in anchors.PRODUCTS:
        found.append(" ".join(words[:2]))
    return found


def _coined(token: str, *, is_code: bool, called: set[str] | frozenset[str] = frozenset()) -> str:
    """A token when somebody on the project coined it, "" else."""
    token = token.rstrip(".,:;-")
    is_call = token.endswith("()")
    token = token.removesuffix("()")
    if not token or token.lower() in _FAMOUS:
        return ""
    if anchors.FILE.fullmatch(token):
        return "" if _FILE_OF_ALL.match(token.rpartition("/")[2]) else token
    if "/" in token:
        parts = token.removeprefix("./").strip("/").split("/")
        is_path = is_code or len(parts) > 2 or token.startswith("@")
        return token if is_path and all(len(part) > 1 for part in parts) else ""
    head, dot, last = token.rpartition(".")
    if dot and (head.lower().split(".")[0] in _LIBRARIES or not last):
        return ""
    return token if _is_coined_word(last, is_call=is_call or last in called) or (dot and _has_type(token)) else ""


def _has_type(token: str) -> bool:
    """Whether a dotted name has a type's name in it ("session.State")."""
    return any(part[:1].isupper() and part[1:2].islower() for part in token.split(".")[1:]) and not token[:1].isupper()


def _is_coined_word(word: str, *, is_call: bool) -> bool:
    if _SNAKE.fullmatch(word):
        return not _CONSTANT_OF_OTHERS.fullmatch(word)
    if _PASCAL.fullmatch(word):
        return word.lower() not in _FAMOUS
    if _CAMEL.fullmatch(word):
        return is_call or len(_HUMP.findall(word)) >= MIN_HUMPS
    return is_call and len(word) > 3 and word not in _EVERYDAY
