"""Shell commands read by a parser: which programs a line runs, with which words, and what it hands them as text."""

from __future__ import annotations

import re
from functools import cache, lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node, Parser

MAX_COMMAND_CHARS = 8_000
"""What is longer is a script with data in it: it is not read."""

_SHOWN = frozenset((
    "word", "string", "raw_string", "ansi_c_string", "number", "concatenation", "simple_expansion", "expansion",
))  # fmt: skip

_RUN = "$(…)"
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


class Command:
    """A simple command of a line; `given`: texts that it is handed whole, in here-documents or in its arguments."""

    __slots__ = ("given", "words")

    def __init__(self, words: tuple[str, ...], given: tuple[str, ...]) -> None:
        self.words, self.given = words, given

    @property
    def program(self) -> str:
        """The program's name without folders."""
        return self.words[0].rpartition("/")[2]

    @property
    def name(self) -> str:
        """The program with the plain words before its first option or path: `git commit`, `npm run lint`."""
        plain, rest = [self.program], self.words[1:]
        while self.program == "git" and rest[:1] in (("-C",), ("-c",)):
            rest = rest[2:]
        for word in rest[:3]:
            if not word.replace("-", "").replace(":", "").replace("_", "").isalnum() or word.startswith("-"):
                break
            plain.append(word)
        return " ".join(plain)

    def option(self, *names: str) -> list[str]:
        """The values of an option, given as a word of their own or after `=`."""
        found = []
        for place, word in enumerate(self.words):
            head, mark, value = word.partition("=")
            if head in names:
                found += [value] if mark else list(self.words[place + 1 : place + 2])
        return found

    def __str__(self) -> str:
        """Its words, as one may type them."""
        return " ".join(self.words)


@lru_cache(maxsize=1024)
def commands(text: str) -> tuple[Command, ...]:
    """The simple commands of a line or a script in their order; none of what is too long."""
    if len(text) > MAX_COMMAND_CHARS:
        return ()
    source = text.encode("utf-8", "replace")
    return tuple(_found(_parser().parse(source).root_node, source))


@cache
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def _found(root: Node, source: bytes) -> Iterator[Command]:
    for node in _outermost(root, "command"):
        named = (child for child in node.named_children if child.type == "command_name" or child.type in _SHOWN)
        words = tuple(_word(child, source) for child in named)
        outer = node.parent if node.parent is not None and node.parent.type == "redirected_statement" else node
        given = tuple(_text(body, source).strip("\n") for body in _outermost(outer, "heredoc_body"))
        if words and words[0]:
            yield Command(words, given)


def _outermost(root: Node, kind: str) -> Iterator[Node]:
    """The nodes of a kind in a tree that are in no other of it, in their order."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type == kind:
            yield node
        else:
            stack += reversed(node.named_children)


def _word(node: Node, source: bytes) -> str:
    if node.type == "raw_string":
        return _text(node, source)[1:-1]
    if node.type == "ansi_c_string":
        return _ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[1]), _text(node, source)[2:-1])
    if node.type == "string":
        return re.sub(r'\\(["`$\\])', r"\1", _inside(node, source))
    if node.type in ("command_name", "concatenation") and node.named_children:
        return "".join(_word(child, source) for child in node.named_children)
    return _RUN if node.type == "command_substitution" else _text(node, source)


def _inside(node: Node, source: bytes) -> str:
    """What stands in double quotes, its line breaks with it: the parser names only the words between them."""
    parts, start = [], node.start_byte + 1
    for child in node.named_children:
        if child.type == "command_substitution":
            parts += [source[start : child.start_byte], _RUN.encode()]
            start = child.end_byte
    return b"".join((*parts, source[start : node.end_byte - 1])).decode("utf-8", "replace")


def _text(node: Node, source: bytes) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")
