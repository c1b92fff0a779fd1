"""Whether an answer has the shape that was asked for: the few words of JSON Schema that our schemas use.

`type` (one name), `enum`, `anyOf`, `properties`, `required`, `additionalProperties` (false), `items`, `maxItems`,
`maxLength`, `minimum`, `maximum`. Other words are not looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_NUMBERS = (int, float)
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "object": dict, "array": list, "string": str, "number": _NUMBERS, "integer": int, "boolean": bool,
    "null": type(None),
}  # fmt: skip


def problem_with(value: Any, schema: Mapping[str, Any], place: str = "the answer") -> str:  # noqa: ANN401 - any JSON
    """The first thing that is wrong with a value, in a sentence without its texts; '' when nothing is.

    Args:
        value: Any JSON value.
        schema: What it should be.
        place: What the value is called in the sentence.
    """
    wanted = schema.get("type")
    if wanted is not None and not _is_a(value, wanted):
        return f"{place} is no {wanted}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{place} is none of {', '.join(map(str, schema['enum']))}"
    if "anyOf" in schema and all(problem_with(value, each, place) for each in schema["anyOf"]):
        return f"{place} has none of the forms that it may have"
    if isinstance(value, dict):
        return _in_object(value, schema, place)
    if isinstance(value, list):
        return _in_array(value, schema, place)
    if isinstance(value, str):
        return f"{place} is too long" if len(value) > schema.get("maxLength", len(value)) else ""
    if isinstance(value, _NUMBERS) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        return f"{place} is out of range"
    return ""


def _is_a(value: Any, wanted: str) -> bool:  # noqa: ANN401 - any JSON
    if isinstance(value, bool):
        return wanted == "boolean"
    return isinstance(value, _TYPES[wanted])


def _in_object(value: Mapping[str, Any], schema: Mapping[str, Any], place: str) -> str:
    known: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
    missing = [name for name in schema.get("required", ()) if name not in value]
    if missing:
        return f"{place} has no {missing[0]!r}"
    if schema.get("additionalProperties", True) is False and not value.keys() <= known.keys():
        return f"{place} has more than {', '.join(known)}"
    found = (problem_with(value[name], each, repr(name)) for name, each in known.items() if name in value)
    return next((problem for problem in found if problem), "")


def _in_array(value: Sequence[Any], schema: Mapping[str, Any], place: str) -> str:
    if len(value) > schema.get("maxItems", len(value)):
        return f"{place} has too many items"
    found = (problem_with(item, schema.get("items", {}), f"an item of {place}") for item in value)
    return next((problem for problem in found if problem), "")
