"""The arguments of a call: each is checked once, and a wrong one is answered with what a right one looks like."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass

from howcome.clients.decode import clean_text
from howcome.errors import UsageError

MAX_TEXT_CHARS = 20_000


@dataclass(slots=True, eq=False)
class Parameter:
    """One argument: its JSON type (`string`, `integer`, `boolean`, `strings`, `query`), and what it is for.

    One that is not listed is taken all the same; choices that `help` names are not enumerated again.
    """

    name: str
    kind: str
    help: str
    _: KW_ONLY
    is_required: bool = False
    low: int = 0
    high: int = 1_000_000
    choices: tuple[str, ...] = ()
    is_listed: bool = True

    def schema(self) -> dict[str, object]:
        """As JSON Schema."""
        item: dict[str, object] = {"type": "string"}
        if self.kind == "string" and any(choice not in self.help for choice in self.choices):
            item["enum"] = list(self.choices)
        shapes: dict[str, dict[str, object]] = {
            "string": item,
            "strings": {"type": "array", "items": item},
            "query": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
            "integer": {"type": "integer"},
            "boolean": {"type": "boolean"},
        }
        return shapes[self.kind] | {"description": self.help}

    def check(self, value: object) -> object:
        """A usable value.

        Raises:
            UsageError: it is none; the message says what one looks like.
        """
        if self.kind == "integer":
            return self._whole_number(value)
        if self.kind == "boolean":
            if value in (True, "true"):
                return True
            if value in (False, "false"):
                return False
            raise UsageError(f"{self.name}: expected true or false")
        if self.kind == "string":
            return self._word(value)
        if self.kind == "query" and isinstance(value, str):
            return self._word(value)
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list) or not 1 <= len(values) <= max(self.high, 1):
            what = "a text or a list of texts" if self.kind == "query" else "a list of texts"
            raise UsageError(f"{self.name}: expected {what}, 1 to {self.high} of them")
        return [self._word(item) for item in values]

    def _whole_number(self, value: object) -> int:
        if isinstance(value, str) and value.strip().isdecimal() and len(value) < 10:
            value = int(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise UsageError(f"{self.name}: expected a whole number")
        if not self.low <= value <= self.high:
            raise UsageError(f"{self.name}: expected {self.low} to {self.high}, not {value}")
        return value

    def _word(self, value: object) -> str:
        if not isinstance(value, str) or not value.strip():
            raise UsageError(f"{self.name}: expected a text that is not empty")
        if len(value) > MAX_TEXT_CHARS:
            raise UsageError(f"{self.name}: at most {MAX_TEXT_CHARS} characters")
        value = clean_text(value)
        if self.choices and value not in self.choices:
            raise UsageError(f"{self.name}: {value[:60]!r} is not one of {', '.join(self.choices)}")
        return value


class Arguments:
    """The checked arguments of one call.

    Raises:
        UsageError: something is missing, unknown or wrong.
    """

    def __init__(self, tool: str, parameters: Iterable[Parameter], given: object) -> None:
        if not isinstance(given, dict):
            raise UsageError("arguments: expected an object")
        known = {parameter.name: parameter for parameter in parameters}
        unknown = [str(name)[:60] for name in given if name not in known]
        if unknown:
            raise UsageError(f"{tool} has no argument {unknown[0]!r}; it takes {', '.join(known) or 'none'}")
        self._values = {name: known[name].check(value) for name, value in given.items() if value is not None}
        missing = [name for name, parameter in known.items() if parameter.is_required and name not in self._values]
        if missing:
            raise UsageError(f"{tool} needs {missing[0]!r}: {known[missing[0]].help}")

    def text(self, name: str) -> str | None:
        """A text, or None when it was not given."""
        value = self._values.get(name)
        return value if isinstance(value, str) else None

    def texts(self, name: str) -> list[str]:
        """A list of texts; a single one counts as a list of one."""
        value = self._values.get(name, [])
        return [value] if isinstance(value, str) else list(value) if isinstance(value, list) else []

    def number(self, name: str, default: int) -> int:
        """A whole number."""
        value = self._values.get(name, default)
        return value if isinstance(value, int) else default

    def flag(self, name: str) -> bool:
        """True or (when it was not given) False."""
        return self._values.get(name) is True
