"""Validation of default values by the table of the Avro specification's 'Complex Types, Records'."""

import math
from collections.abc import Mapping
from typing import Any

from penstock.schema.avro.model import (
    ArrayType,
    AvroType,
    EnumType,
    FixedType,
    MapType,
    NamedType,
    PrimitiveType,
    RecordType,
    Reference,
    UnionType,
)

__all__ = ["check_default", "normal_default"]

_RANGES = {"int": (-(2**31), 2**31 - 1), "long": (-(2**63), 2**63 - 1)}


def check_default(avro_type: AvroType, value: Any, names: Mapping[str, NamedType]) -> str | None:  # noqa: PLR0911, C901 - one case a type
    """Return why ``value`` is not a valid default of ``avro_type``, or None.

    A union's default belongs to its first branch (Avro 1.11). The recursion is as deep as the JSON value, which
    :func:`~penstock.schema.json_text.read_json` limits.
    """
    match avro_type:
        case Reference():
            return check_default(names[avro_type.name], value, names)
        case PrimitiveType():
            return _primitive(avro_type.name, value)
        case UnionType():
            return _union(avro_type, value, names)
        case EnumType():
            return None if value in avro_type.symbols else f"{_show(value)} is not one of its symbols."
        case FixedType():
            problem = _primitive("bytes", value)
            if problem is None and len(value) != avro_type.size:
                return f"it has {len(value)} bytes, not {avro_type.size}."
            return problem
        case ArrayType():
            if not isinstance(value, list):
                return f"{_show(value)} is not a list."
            return _first(check_default(avro_type.items, item, names) for item in value)
        case MapType():
            if not isinstance(value, dict):
                return f"{_show(value)} is not an object."
            return _first(check_default(avro_type.values, item, names) for item in value.values())
        case RecordType():
            return _record(avro_type, value, names)


def normal_default(avro_type: AvroType, value: Any, names: Mapping[str, NamedType]) -> Any:  # noqa: PLR0911 - one case a type
    """Return ``value`` so that equal defaults are spelled alike: ``1``, ``1.0`` and the text "1.0" of a double.

    A value that does not fit its type stays unchanged; a definition whose defaults are not checked may have one.
    """
    match avro_type, value:
        case PrimitiveType(name="float" | "double"), _ if _is_number(value):
            number = float(value)
            return number if math.isfinite(number) else str(number)
        case UnionType(), _:
            return normal_default(avro_type.branches[0], value, names)
        case ArrayType(), list():
            return [normal_default(avro_type.items, item, names) for item in value]
        case MapType(), dict():
            return {key: normal_default(avro_type.values, item, names) for key, item in value.items()}
        case Reference(), _:
            return normal_default(names[avro_type.name], value, names)
        case RecordType(), dict():
            types = {field.name: field.type for field in avro_type.fields}
            return {key: normal_default(types[key], item, names) if key in types else item for key, item in value.items()}
        case _:
            return value


def _primitive(name: str, value: Any) -> str | None:
    fits: bool
    match name:
        case "null":
            fits = value is None
        case "boolean":
            fits = isinstance(value, bool)
        case "int" | "long":
            low, high = _RANGES[name]
            fits = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
        case "float" | "double":
            fits = _is_number(value)
        case "string":
            fits = isinstance(value, str)
        case _:
            fits = isinstance(value, str) and all(ord(char) <= 0xFF for char in value)
    return None if fits else f"{_show(value)} is not {_EXPECTED[name]}."


_EXPECTED = {
    "null": "null",
    "boolean": "true or false",
    "int": "a whole number of 32 bits",
    "long": "a whole number of 64 bits",
    "float": "a number",
    "double": "a number",
    "string": "a string",
    "bytes": "a string of the characters U+0000 to U+00FF, one for each byte",
}


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return False
    try:
        # Avro's Java client also accepts strings here, which is how NaN and infinity are written.
        float(value)
    except (ValueError, OverflowError):
        return False
    return True


def _union(avro_type: UnionType, value: Any, names: Mapping[str, NamedType]) -> str | None:
    problem = check_default(avro_type.branches[0], value, names)
    if problem is None or not any(check_default(branch, value, names) is None for branch in avro_type.branches[1:]):
        return problem
    return f"{problem} It fits a later branch, but a union's default belongs to the first: put that branch first."


def _record(avro_type: RecordType, value: Any, names: Mapping[str, NamedType]) -> str | None:
    if not isinstance(value, dict):
        return f"{_show(value)} is not an object."
    for field in avro_type.fields:
        if field.name in value:
            problem = check_default(field.type, value[field.name], names)
            if problem is not None:
                return f"field '{field.name}': {problem}"
        elif not field.has_default:
            return f"field '{field.name}' is missing and has no default of its own."
    return None


def _first(problems: Any) -> str | None:
    return next((problem for problem in problems if problem is not None), None)


def _show(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str():
            return f'"{value[:60]}"'
        case dict():
            return "an object"
        case list():
            return "a list"
        case _:
            return str(value)[:60]
