"""What the JSON of pages is: schemas of JSON Schema 2020-12, as OpenAPI 3.1 has them.

Each field is described, and there are no others: tests compare what a busy controller answers.
"""

from collections.abc import Mapping
from types import UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

import attrs

from ingress.explain.plain_data import camel

Schema = Mapping[str, Any]


def text(meaning: str = "", **more: object) -> Schema:
    """Return the schema of a text."""
    return _described({"type": "string", **more}, meaning)


def whole_number(meaning: str = "", **more: object) -> Schema:
    """Return that of a whole number."""
    return _described({"type": "integer", **more}, meaning)


def number(meaning: str = "") -> Schema:
    """Return that of a number."""
    return _described({"type": "number"}, meaning)


def truth(meaning: str = "") -> Schema:
    """Return that of true or false."""
    return _described({"type": "boolean"}, meaning)


def moment(meaning: str = "") -> Schema:
    """Return that of a time by RFC 3339."""
    return text(meaning, format="date-time")


def one_of(values: Any, meaning: str = "") -> Schema:
    """Return that of a text that is one of *values*."""
    return text(meaning, enum=list(values))


def or_null(schema: Schema, meaning: str = "") -> Schema:
    """Return that of what *schema* says, or null."""
    if isinstance(schema.get("type"), str):
        found = {**schema, "type": [schema["type"], "null"]}
        if "enum" in found:
            found["enum"] = [*found["enum"], None]
        return _described(found, meaning)
    return _described({"anyOf": [schema, {"type": "null"}]}, meaning)


def list_of(items: Schema, meaning: str = "") -> Schema:
    """Return that of a list."""
    return _described({"type": "array", "items": items}, meaning)


def fields_of(fields: Mapping[str, Schema], meaning: str = "") -> Schema:
    """Return that of an object with just these fields, all of them."""
    return _described(
        {
            "type": "object",
            "properties": dict(fields),
            "required": list(fields),
            "additionalProperties": False,
        },
        meaning,
    )


def anything(meaning: str) -> Schema:
    """Return that of an object of which the fields are for others to say."""
    return {"type": "object", "description": meaning}


def numbers_by(names: Any, meaning: str) -> Schema:
    """Return that of an object with a whole number for each of *names*."""
    return fields_of({name: whole_number() for name in names}, meaning)


def _described(schema: dict[str, Any], meaning: str) -> Schema:
    return {**schema, "description": meaning} if meaning else schema


ERROR: Final = fields_of({"error": text("What is wrong with the query, and what it may be.")})


def page_of(name: str, entry: Schema, besides: Mapping[str, Schema]) -> Schema:
    """Return the schema of a page of the list *name*, whose entries are of the schema *entry*."""
    return fields_of(
        {
            name: list_of(entry),
            "next": or_null(text("What `after` is to say for the next page; null where this is the last.")),
            "snapshot": whole_number("The number of the snapshot that was current."),
            **besides,
        }
    )


def schema_of_class(kind: Any) -> Schema:
    """Return the schema of what ``ingress.explain.plain_data`` makes of an attrs class."""
    hints = get_type_hints(kind)
    return fields_of({camel(one.name): _schema_of(hints[one.name]) for one in attrs.fields(kind)})


_PLAIN: Final[dict[object, Schema]] = {str: text(), int: whole_number(), float: number(), bool: truth()}


def _schema_of(hint: Any) -> Schema:
    if hint in _PLAIN:
        return _PLAIN[hint]
    arguments = get_args(hint)
    if get_origin(hint) in (Union, UnionType):
        (rest,) = (one for one in arguments if one is not type(None))
        return or_null(_schema_of(rest))
    if get_origin(hint) is tuple:
        if arguments[-1] is Ellipsis:
            return list_of(_schema_of(arguments[0]))
        return {
            "type": "array",
            "prefixItems": list(map(_schema_of, arguments)),
            "items": False,
            "minItems": len(arguments),
        }
    if attrs.has(hint):
        return schema_of_class(hint)
    return one_of(value.value for value in hint)
