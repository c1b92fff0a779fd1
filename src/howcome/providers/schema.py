"""Whether an answer has the shape that was asked for: our schemas as msgspec's types.

They use few words of JSON Schema: `type` (one name), `enum`, `anyOf`, `properties`, `required`, `additionalProperties`
(false), `items`, `maxItems`, `maxLength`, `minimum`, `maximum`. Other words are not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal

import msgspec

_SAID = re.compile(r"(?<=^Invalid enum value) .*(?= - at `\$)|(?<=unknown field) `.*`(?= - at|$)", re.DOTALL)
"""What of an explanation is the answer's own words."""

_TYPES: Mapping[str, object] = {
    "object": dict, "array": list, "string": str, "number": float, "integer": int, "boolean": bool, "null": None,
}  # fmt: skip
_LIMITS = {"maxItems": "max_length", "maxLength": "max_length", "minimum": "ge", "maximum": "le"}


def problem_with(value: object, schema: Mapping[str, Any]) -> str:
    """The first thing that is wrong with a JSON value, by its place and without its texts; '' when nothing is."""
    try:
        msgspec.convert(value, _type_of(schema))
    except msgspec.ValidationError as error:
        return _SAID.sub("", str(error))
    return ""


def _type_of(schema: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any type
    if "anyOf" in schema:
        return reduce(or_, map(_type_of, schema["anyOf"]))
    if "enum" in schema:
        return Literal[tuple(schema["enum"])]
    if "properties" in schema:
        return _object(schema)
    kind = list[_type_of(schema["items"])] if "items" in schema else _TYPES[schema["type"]]  # type: ignore[misc]
    limits = {name: schema[word] for word, name in _LIMITS.items() if word in schema}
    return Annotated[kind, msgspec.Meta(**limits)] if limits else kind


def _object(schema: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any type
    types = {name: _type_of(each) for name, each in schema["properties"].items()}
    fields = [
        (name, kind) if name in schema.get("required", ()) else (name, kind | msgspec.UnsetType, msgspec.UNSET)
        for name, kind in types.items()
    ]
    is_closed = schema.get("additionalProperties", True) is False
    return msgspec.defstruct("Answer", fields, kw_only=True, forbid_unknown_fields=is_closed)
