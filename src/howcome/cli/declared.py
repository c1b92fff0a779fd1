"""Commands that are read without click where their words are plain: importing click takes as long as three Pythons.

A command is declared once, with click's words. `read` understands its options and arguments as people type them. What
it does not understand (help, a mistake, an abbreviation) is click's to answer, for which `built` makes the command.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    import click

    Body = Callable[..., None]
    How = dict[str, Any]
    Part = tuple[tuple[str, ...], How]


def option(*names: str, **how: object) -> Callable[[Body], Body]:
    """As `click.option`; a `type` is a tuple of choices, a range or `int`."""
    return _part(names, how)


def argument(name: str, **how: object) -> Callable[[Body], Body]:
    """As `click.argument`."""
    return _part((name,), how)


def _part(names: tuple[str, ...], how: How) -> Callable[[Body], Body]:
    def note(body: Body) -> Body:
        body.__dict__.setdefault("parts", []).insert(0, (names, how))
        return body

    return note


def command(body: Body) -> Declared:
    """As `click.command`; the lowest of the decorators comes last."""
    return Declared(body)


class Declared:
    """A command: its name, its options and arguments, and what it does."""

    def __init__(self, body: Body) -> None:
        self.name, self.run = body.__name__, body
        self._parts: list[Part] = body.__dict__.pop("parts", [])

    def read(self, words: Sequence[str]) -> dict[str, object] | None:
        """The values that words give; None where click has to look at them."""
        named = {name: part for part in self._parts for name in part[0] if name.startswith("-")}
        values: How = {_key(part): () if part[1].get("multiple") else _absent(part[1]) for part in self._parts}
        loose: list[str] = []
        rest = iter(words)
        for word in rest:
            if word == "--":
                loose += rest
            elif word == "-" or not word.startswith("-"):
                loose.append(word)
            else:
                name, equals, text = word.partition("=") if word.startswith("--") else (word, "", "")
                given = _value(named.get(name), text if equals else None, rest)
                if given is None:
                    return None
                key = _key(named[name])
                values[key] = (*values[key], given) if named[name][1].get("multiple") else given
        return values if self._placed(loose, values) else None

    def _placed(self, loose: list[str], values: How) -> bool:
        """Whether what is no option fits the argument; it is among the values then."""
        for names, how in (part for part in self._parts if not part[0][0].startswith("-")):
            name = names[0]
            if how.get("nargs") == -1:
                values[name], loose = tuple(loose), []
            elif loose:
                values[name] = loose.pop(0)
            if how.get("required", True) and not values[name]:
                return False
        return not loose

    def built(self) -> click.Command:
        """The same for click, which writes the help and says what is wrong."""
        import click

        made: Any = self.run
        for names, how in reversed(self._parts):
            typed = {"type": _clicks(how["type"])} if "type" in how else {}
            made = (click.option if names[0].startswith("-") else click.argument)(*names, **how | typed)(made)
        return click.command(self.name)(made)


def _clicks(kind: range | tuple[str, ...] | type[int]) -> click.ParamType[Any] | type[int]:
    import click

    if isinstance(kind, type):
        return kind
    return click.IntRange(kind.start, kind.stop - 1) if isinstance(kind, range) else click.Choice(kind)


def _key(part: Part) -> str:
    """The parameter of an option or argument: its name without dashes, where none is given, else the longest."""
    bare = [name for name in part[0] if not name.startswith("-")]
    return bare[0] if bare else max(part[0], key=len).lstrip("-").replace("-", "_")


def _absent(how: How) -> object:
    return how.get("default", False if how.get("is_flag") else None)


def _value(part: Part | None, text: str | None, rest: Iterator[str]) -> object:
    """What an option is given, with `=` or as the next word; None where it is none, or cannot be that."""
    if part is None:
        return None
    how = part[1]
    if how.get("is_flag"):
        return True if text is None else None
    text = next(rest, None) if text is None else text
    kind = how.get("type")
    if isinstance(kind, (type, range)):
        is_number = text and text.isascii() and text.isdigit() and (isinstance(kind, type) or int(text) in kind)
        return int(text or 0) if is_number else None
    return text if kind is None or text in kind else None
