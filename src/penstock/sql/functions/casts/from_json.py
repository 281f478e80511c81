"""Casts from JSON: to scalars by the document's token, to arrays, maps and rows part by part.

Sources: Trino's documentation, "JSON functions and operators" (Cast from JSON); trinodb/trino, JsonOperators and JsonUtil.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation, localcontext
from functools import lru_cache
from math import floor, isfinite
from typing import Any

from sqlglot import exp

from penstock.sql.functions.build import cast_to, engine_type, integer, text
from penstock.sql.functions.java import java_double
from penstock.sql.functions.json_documents import Number, parse, write
from penstock.sql.functions.python import by_row, invalid
from penstock.sql.functions.rows import Call, Definition, Macro, call_engine, fail
from penstock.sql.trino_types import VARCHAR, Type

__all__ = ["DEFINITIONS", "nested_from_json", "scalar_from_json"]

_BITS = {"tinyint": 8, "smallint": 16, "integer": 32, "bigint": 64}
_DIGITS = {"tinyint": 2, "smallint": 4, "integer": 9, "bigint": 18}
"""As many digits always fit."""
_WORDS = {"t": True, "true": True, "1": True, "f": False, "false": False, "0": False}
_MAX_SHOWN = 200


def scalar_from_json(value: exp.Expr, target: Type) -> exp.Expr:
    """Return the text of a JSON value that is to be cast to the scalar type ``target``, in a form that the cast reads."""
    if target.name not in {"varchar", "char"} and not target.is_number and target.name != "boolean":
        return call_engine("trino_json_string_of", value)
    macro = "whole" if target.is_integer else target.name if target.name in {"varchar", "double"} else "any"
    digits = [integer(_DIGITS[target.name])] if target.is_integer else []
    return call_engine(f"trino_json_as_{macro}", value, text(_described(target)), *digits)


def nested_from_json(call: Call, value: exp.Expr, target: Type) -> exp.Expr:
    """Return a JSON value as the array, map or row ``target``."""
    engine = engine_type(target)
    if engine is None:
        raise call.error(f"Cannot cast json to {target}", code="TYPE_MISMATCH")
    plain = _PLAIN_INSIDE.get(str(target.element)) if target.name == "array" or _has_texts(target) else None
    if plain is not None:
        types = exp.Array(expressions=list(map(text, plain)))
        whole, path = ("ARRAY", "$[*]") if target.name == "array" else ("OBJECT", "$.*")
        shaped = call_engine("trino_json_items", value, text(_described(target)), text(whole), text(path), types)
    else:
        shaped = call_engine("trino_json_shape", value, text(_described(target)))
    return cast_to(shaped, engine)


def _has_texts(target: Type) -> bool:
    """Whether ``target`` is a map whose keys are texts."""
    return target.name == "map" and target.inner[0] == VARCHAR


def _described(type_: Type | None) -> str:
    return json.dumps(_plain(type_))


def _plain(type_: Type | None) -> Any:
    """Return a type as JSON: its text, its name, its numbers, the types and the names inside."""
    if type_ is None:
        return ["unknown", "unknown", [], [], []]
    return [str(type_), type_.name, list(type_.numbers), list(map(_plain, type_.inner)), list(type_.fields)]


@lru_cache(maxsize=256)
def _read(described: str) -> "_Kind":
    return _Kind(*json.loads(described))


class _OutOfRange(Exception):
    """A number is too large for a decimal."""


class _Kind:
    """A type of a cast."""

    def __init__(self, words: str, name: str, numbers: list[int], inner: list[Any], fields: list[str | None]) -> None:
        self.words = words
        self.name = name
        self.numbers = numbers
        self.inner = [_Kind(*item) for item in inner]
        self.fields = fields


def _scalar(value: str, described: str) -> str | None:
    type_ = _read(described)
    document = parse(value)
    if document is None:
        return None
    try:
        converted = _leaf(type_)(document, type_)
    except (ValueError, InvalidOperation, OverflowError):
        raise invalid(f"Cannot cast '{value[:_MAX_SHOWN]}' to {type_.words.upper()}", "INVALID_CAST_ARGUMENT") from None
    except _OutOfRange:
        raise invalid(f"Cannot cast input json to {type_.words.upper()}", "NUMERIC_VALUE_OUT_OF_RANGE") from None
    return converted if isinstance(converted, str) else json.dumps(converted)


def _shaped(value: str, described: str) -> str:
    type_ = _read(described)
    try:
        return _shape(parse(value), type_)
    except (ValueError, InvalidOperation, OverflowError) as error:
        message = f"Cannot cast to {type_.words}. {error}\n{value[:_MAX_SHOWN]}"
        raise invalid(message, "INVALID_CAST_ARGUMENT") from None


def _shape(value: Any, type_: _Kind) -> str:
    """Return the text of the document that the engine casts to ``type_`` as Trino casts ``value``."""
    if value is None:
        return "null"
    if type_.name == "json":
        return write(value)
    if type_.name == "array":
        if not isinstance(value, list):
            raise ValueError(f"Expected a json array, but got {_token(value)}")
        return f"[{','.join(_shape(item, type_.inner[0]) for item in value)}]"
    if type_.name == "map":
        if not isinstance(value, dict):
            raise ValueError(f"Expected a json object, but got {_token(value)}")
        return _object((_key(key, type_.inner[0]), _shape(item, type_.inner[1])) for key, item in value.items())
    if type_.name == "row":
        return _row(value, type_)
    if isinstance(value, dict | list):
        raise ValueError(f"Unexpected token when cast to {type_.words}: {_token(value)}")
    try:
        return _dumped(_leaf(type_)(value, type_))
    except (ValueError, InvalidOperation, OverflowError, _OutOfRange):
        raise ValueError(f"Cannot cast '{value}' to {type_.words}") from None


def _row(value: Any, type_: _Kind) -> str:
    names = [name or f"field{at}" for at, name in enumerate(type_.fields)]
    if isinstance(value, list):
        if len(value) != len(names):
            raise ValueError(f"Expected a json array of {len(names)} elements, but got {len(value)}")
        return _object((name, _shape(item, inner)) for name, item, inner in zip(names, value, type_.inner, strict=True))
    if not isinstance(value, dict):
        raise ValueError(f"Expected a json array or object, but got {_token(value)}")
    fields: dict[str, Any] = {}
    field_names = {name.lower() for name in names}
    for name, item in value.items():
        if name.lower() in fields and name.lower() in field_names:
            raise ValueError(f"Duplicate field: {name.lower()}")
        fields[name.lower()] = item
    return _object((name, _shape(fields.get(name.lower()), inner)) for name, inner in zip(names, type_.inner, strict=True))


def _object(pairs: Iterable[tuple[str, str]]) -> str:
    return "{" + ",".join(f"{_dumped(name)}:{value}" for name, value in pairs) + "}"


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _key(key: str, type_: _Kind) -> str:
    value = _leaf(type_)(key, type_)
    return value if isinstance(value, str) else json.dumps(value)


def _token(value: Any) -> str:
    return "{" if isinstance(value, dict) else "[" if isinstance(value, list) else write(value)


def _integer(value: Any, type_: _Kind) -> int:
    if isinstance(value, bool):
        whole = int(value)
    elif isinstance(value, Number) and not value.is_whole:
        real = float(value)
        if not isfinite(real):
            raise ValueError(value)
        whole = floor(abs(real) + 0.5) * (-1 if real < 0 else 1)
    elif isinstance(value, str) and value.removeprefix("-").removeprefix("+").isdecimal() and value.isascii():
        whole = int(value)
    else:
        raise ValueError(value)
    if not -(1 << _BITS[type_.name] - 1) <= whole < 1 << _BITS[type_.name] - 1:
        raise ValueError(value)
    return whole


def _real(value: Any, _: _Kind) -> float | str:
    if (
        isinstance(value, str)
        and not isinstance(value, Number)
        and ("_" in value or value.lower() in {"inf", "nan", "-inf"})
    ):
        if value != "NaN":
            raise ValueError(value)  # Java's words are NaN and Infinity
        return "NaN"
    if not isinstance(value, bool | str):
        raise ValueError(value)
    number = float(value)
    return number if isfinite(number) else str(number).replace("inf", "Infinity").replace("nan", "NaN")


def _decimal(value: Any, type_: _Kind) -> str:
    precision, scale = type_.numbers
    if not isinstance(value, bool | str):
        raise ValueError(value)
    with localcontext() as context:
        context.prec = 100
        number = Decimal(int(value) if isinstance(value, bool) else value).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)
    if not number.is_finite() or abs(number) >= Decimal(10) ** (precision - scale):
        raise _OutOfRange
    return format(number, "f")


def _boolean(value: Any, _: _Kind) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, Number):
        if value.is_whole and not -(1 << 63) <= int(value) < 1 << 63:
            raise ValueError(value)
        return float(value) != 0
    if not isinstance(value, str) or value.lower() not in _WORDS:
        raise ValueError(value)
    return _WORDS[value.lower()]


def _text(value: Any, _: _Kind) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Number):
        return str(value) if value.is_whole else java_double(float(value))
    if not isinstance(value, str):
        raise ValueError(value)
    return value


_LEAVES: Mapping[str, Callable[[Any, _Kind], Any]] = {
    **dict.fromkeys(_BITS, _integer),
    "real": _real,
    "double": _real,
    "decimal": _decimal,
    "boolean": _boolean,
}
"""What a scalar of each type becomes; every other one is a text."""


def _leaf(type_: _Kind) -> Callable[[Any, _Kind], Any]:
    return _LEAVES.get(type_.name, _text)


_PLAIN_INSIDE = {
    "bigint": ("UBIGINT", "BIGINT", "NULL"),
    "double": ("UBIGINT", "BIGINT", "DOUBLE", "NULL"),
    "varchar": ("UBIGINT", "BIGINT", "BOOLEAN", "VARCHAR", "NULL"),
}
"""The engine's types of items that its own cast to an array or a map reads as Trino does."""
_PLAIN = "json_extract_string(x, '$')"

DEFINITIONS: Sequence[Definition] = [
    # What the engine reads as Trino does needs no Python.
    *(
        Macro(
            f"trino_json_as_{name}",
            f"({names}) AS CASE WHEN {test} THEN {_PLAIN} ELSE trino_json_scalar_text(CAST(x AS VARCHAR), kind) END",
        )
        for name, names, test in (
            ("whole", "x, kind, digits", f"json_type(x) IN ('UBIGINT', 'BIGINT') AND length({_PLAIN}) <= digits"),
            ("double", "x, kind", "json_type(x) IN ('UBIGINT', 'BIGINT', 'DOUBLE')"),
            ("varchar", "x, kind", "json_type(x) IN ('UBIGINT', 'BIGINT', 'VARCHAR', 'BOOLEAN')"),
        )
    ),
    Macro(
        "trino_json_string_of",
        f"(x) AS CASE coalesce(json_type(x), 'NULL') WHEN 'VARCHAR' THEN {_PLAIN} WHEN 'NULL' THEN NULL ELSE "
        + fail("Cannot cast JSON that is not a string", "VARCHAR", code="INVALID_CAST_ARGUMENT")
        + " END",
    ),
    Macro("trino_json_as_any", "(x, kind) AS trino_json_scalar_text(CAST(x AS VARCHAR), kind)"),
    Macro(
        "trino_json_items",
        "(x, kind, whole, path, plain) AS CASE WHEN x IS NULL OR (json_type(x) = whole AND "
        "list_has_all(plain, json_type(x, path))) THEN x ELSE trino_json_shape(x, kind) END",
    ),
    Macro("trino_json_shape", "(x, kind) AS CAST(trino_json_shaped(CAST(x AS VARCHAR), kind) AS JSON)"),
    by_row("trino_json_scalar_text", ["VARCHAR", "VARCHAR"], "VARCHAR", _scalar),
    by_row("trino_json_shaped", ["VARCHAR", "VARCHAR"], "VARCHAR", _shaped),
]
