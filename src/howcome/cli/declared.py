"""Commands that are read without click where their words are plain: importing click takes as long as three Pythons.

A command is a function: each parameter's default declares its option or argument, with click's words. `read`
understands them as people type them. What it does not understand (help, a mistake, an abbreviation) is click's to
answer, for which `built` makes the command.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    import click

    Body = Callable[..., None]
    How = dict[str, Any]
    Part = tuple[tuple[str, ...] | None, How]  # an option's names (an argument has none), and how it is read


def option(*names: str, **how: object) -> Any:  # noqa: ANN401 - it stands where a value will
    """As `click.option`, but a `bool` is a flag, a default is shown, and a `type` may be a tuple of choices or a range.

    Its long name is the parameter's where none is given.
    """
    return names, how


def argument(**how: object) -> Any:  # noqa: ANN401 - it stands where a value will
    """As `click.argument`."""
    return None, how


JSON = option("--json", help="Print JSON.")
ALL_PROJECTS = option(help="Of every project, not only this folder's.")
SINCE = option(
    metavar="TIME",
    help="Only what is not older than TIME: a date, a time, or how long ago (2026-10-01, 2026-10-01T12:00Z, 7d, 12h).",
)
PROJECT = option(metavar="PROJECT", help="Of this project: its folder, or its name.")


class Declared:
    """A command (as `click.command` makes, under the function's name): its options and arguments, and what it does."""

    def __init__(self, body: Body) -> None:
        self.name, self.run = body.__name__.strip("_").replace("_", "-"), body
        parameters = zip(body.__code__.co_varnames, body.__defaults__ or (), strict=False)
        self._parts = {key: _named(key, part, body.__annotations__[key] == "bool") for key, part in parameters}

    def read(self, words: Sequence[str]) -> dict[str, object] | None:
        """The values that words give; None where click has to look at them."""
        keys = {name: key for key, (names, _) in self._parts.items() for name in names}
        values: How = {
            key: () if how.get("multiple") else how.get("default", False if how.get("is_flag") else None)
            for key, (_, how) in self._parts.items()
        }
        loose: list[str] = []
        rest = iter(words)
        for word in rest:
            if word == "--":
                loose += rest
            elif word == "-" or not word.startswith("-"):
                loose.append(word)
            else:
                name, equals, text = word.partition("=") if word.startswith("--") else (word, "", "")
                if (key := keys.get(name)) is None:
                    return None
                how = self._parts[key][1]
                given = _value(how, text if equals else None, rest)
                if given is None:
                    return None
                values[key] = (*values[key], given) if how.get("multiple") else given
        return values if self._placed(loose, values) else None

    def _placed(self, loose: list[str], values: How) -> bool:
        """Whether what is no option fits the argument; it is among the values then."""
        for key, how in ((key, how) for key, (names, how) in self._parts.items() if not names):
            if how.get("nargs") == -1:
                values[key], loose = tuple(loose), []
            elif loose:
                values[key] = loose.pop(0)
            if how.get("required", True) and not values[key]:
                return False
        return not loose

    def built(self) -> click.Command:
        """The same for click, which writes the help and says what is wrong."""
        import click

        made: Any = self.run
        for key, (names, how) in reversed(self._parts.items()):
            typed = {"type": _clicks(how["type"])} if "type" in how else {}
            made = (click.option if names else click.argument)(key, *names, **how | typed)(made)
        return click.command(self.name)(made)


command = Declared


def click_command(body: Body) -> click.Command:
    """The same of what click reads in any case."""
    return Declared(body).built()


def _named(key: str, part: Part, is_flag: bool) -> tuple[tuple[str, ...], How]:
    """The names of a parameter's option (none: it is an argument), and how it is read."""
    names, how = part
    if names is None:
        return (), how
    if not any(name.startswith("--") for name in names):
        names = (f"--{key.replace('_', '-')}", *names)
    more = {"is_flag": True} if is_flag else {"show_default": how.get("default", "") != ""}
    return names, {**more, **how}


def _clicks(kind: Any) -> Any:  # noqa: ANN401 - what click takes
    import click

    if isinstance(kind, range):
        return click.IntRange(kind.start, kind.stop - 1)
    return click.Choice(kind) if isinstance(kind, tuple) else kind


def _value(how: How, text: str | None, rest: Iterator[str]) -> object:
    """What an option is given, with `=` or as the next word; None where it cannot be that."""
    if how.get("is_flag"):
        return True if text is None else None
    text = next(rest, None) if text is None else text
    kind = how.get("type")
    if isinstance(kind, (type, range)):
        is_number = text and text.isascii() and text.isdigit() and (isinstance(kind, type) or int(text) in kind)
        return int(text or 0) if is_number else None
    return text if kind is None or text in kind else None
