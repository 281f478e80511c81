"""JSON functions and operators: the rows.

Source: Trino's documentation, "JSON functions and operators".
"""

import re
from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from penstock.sql.functions.build import text
from penstock.sql.functions.casts.conversion import convert
from penstock.sql.functions.json_documents import (
    Number,
    extract,
    extract_scalar,
    parse,
    read_steps,
    scalar_text,
    write,
)
from penstock.sql.functions.python import by_row, invalid
from penstock.sql.functions.rows import (
    Call,
    Definition,
    Macro,
    Row,
    call_engine,
    refuse,
    renamed,
)
from penstock.sql.trino_types import BIGINT, BOOLEAN, JSON, VARCHAR

__all__ = ["DEFINITIONS", "ROWS"]


def _check_text(call: Call) -> None:
    type_ = call.types[0]
    if type_ is not None and type_.name not in {"varchar", "char", "json", "unknown"}:
        raise call.unexpected(f"{call.name}(json, varchar)")


def _extracted(macro: str, python: str) -> Any:
    def write_call(call: Call) -> exp.Expr:
        _check_text(call)
        path = call.text(1)
        if path is None:
            return call_engine(python, *call.arguments)
        try:
            steps = read_steps(path)
        except ValueError as error:
            raise call.error(str(error).partition("] ")[2]) from None
        if any(step.isdecimal() or not re.fullmatch(r"[^\"\\]+", step) for step in steps):
            return call_engine(python, *call.arguments)
        own = "$" + "".join(f'."{step}"' for step in steps)
        return call_engine(macro, call.arguments[0], text(own), call.arguments[1])

    return write_call


def _literal(call: Call) -> exp.Expr:
    try:
        return call_engine("trino_json", text(write(parse(call.node.this.name), sort=True)))
    except ValueError:
        raise call.error(f"Cannot convert '{call.node.this.name[:100]}' to JSON", code="INVALID_LITERAL") from None


def _contains(call: Call) -> exp.Expr:
    type_ = call.types[1]
    if type_ is None or not (type_.is_text or type_.name == "boolean" or type_.is_integer or type_.name == "double"):
        raise call.unexpected("json_array_contains(json, bigint, boolean, double or varchar)")
    value = convert(call, call.arguments[1], type_, VARCHAR)
    family = "string" if type_.is_text else "integer" if type_.is_integer else type_.name
    return call_engine("trino_json_array_contains", call.arguments[0], value, text(family))


_NOT_IN_ATHENA = "Athena engine version 3 has no such function"

ROWS: Sequence[Row] = [
    Row("JSON ''", nodes=(exp.ParseJSON,), returns=JSON, write=_literal, operands=lambda _: ()),
    renamed("json_parse", "trino_json_parse", 1, JSON),
    renamed("json_format", "trino_json_format", 1, VARCHAR),
    Row("json_extract", arity=2, returns=JSON, write=_extracted("trino_json_extract", "trino_json_extract_any")),
    Row(
        "json_extract_scalar",
        arity=2,
        returns=VARCHAR,
        write=_extracted("trino_json_extract_scalar", "trino_json_extract_scalar_any"),
    ),
    Row("json_array_contains", arity=2, returns=BOOLEAN, write=_contains),
    renamed("json_array_get", "trino_json_array_get", 2, JSON),
    renamed("json_array_length", "trino_json_array_length", 1, BIGINT),
    renamed("json_size", "trino_json_size", 2, BIGINT),
    renamed("is_json_scalar", "trino_is_json_scalar", 1, BOOLEAN),
    *refuse("json_scalar json_serialize json json_table", _NOT_IN_ATHENA),
]


def _parse(value: str) -> str:
    try:
        return write(parse(value), sort=True)
    except ValueError:
        raise invalid(f"Cannot convert '{value[:100]}' to JSON") from None


def _array_of(value: str) -> list[Any] | None:
    try:
        document = parse(value)
    except ValueError:
        return None
    return document if isinstance(document, list) else None


def _array_contains(value: str, item: str, family: str) -> bool | None:
    items = _array_of(value)
    if items is None:
        return None
    for entry in items:
        # As in Trino, 1 and 1.0 are different.
        if family == "integer" and isinstance(entry, Number) and entry.is_whole and int(entry) == int(item):
            return True
        if family == "double" and isinstance(entry, Number) and not entry.is_whole and float(entry) == float(item):
            return True
        if family == "string" and isinstance(entry, str) and not isinstance(entry, Number) and entry == item:
            return True
        if family == "boolean" and isinstance(entry, bool) and scalar_text(entry) == item:
            return True
    return False


def _array_get(value: str, index: int) -> str | None:
    items = _array_of(value)
    if items is None or not -len(items) <= index < len(items):
        return None
    # A string comes without its quotes, as Trino documents it.
    return scalar_text(items[index]) or write(items[index])


def _array_length(value: str) -> int | None:
    items = _array_of(value)
    return None if items is None else len(items)


def _size(value: str, path: str) -> int | None:
    part = extract(value, path)
    if part is None:
        return None
    inner = parse(part)
    return len(inner) if isinstance(inner, dict | list) else 0


def _is_scalar(value: str) -> bool:
    try:
        return not isinstance(parse(value), dict | list)
    except ValueError:
        raise invalid(f"Invalid JSON value: {value[:100]}") from None


# The engine fails on text that is not JSON; NULL is what Trino gives.
_JSON = "CASE WHEN json_valid(x) THEN x END"
_CASES = f"CASE coalesce(json_type({_JSON}, path), 'NONE') {{}} END"
_TEXTS = "WHEN 'VARCHAR' THEN {0} WHEN 'BOOLEAN' THEN {0} WHEN 'UBIGINT' THEN {0} WHEN 'BIGINT' THEN {0}"

DEFINITIONS: Sequence[Definition] = [
    Macro(
        "trino_json_extract",
        "(x, path, own) AS "
        + _CASES.format(
            f"WHEN 'NONE' THEN NULL {_TEXTS.format(f'json_extract({_JSON}, path)')} ELSE trino_json_extract_any(x, own)"
        ),
    ),
    Macro(
        "trino_json_extract_scalar",
        "(x, path, own) AS "
        + _CASES.format(
            f"WHEN 'NONE' THEN NULL {_TEXTS.format(f'json_extract_string({_JSON}, path)')} WHEN 'OBJECT' THEN NULL "
            "WHEN 'ARRAY' THEN NULL WHEN 'NULL' THEN NULL ELSE trino_json_extract_scalar_any(x, own)"
        ),
    ),
    Macro("trino_json", "(x) AS CAST(x AS JSON)"),
    Macro("trino_json_parse", "(x) AS CAST(trino_json_canonical(x) AS JSON)"),
    Macro("trino_json_format", "(x) AS CAST(x AS VARCHAR)"),
    Macro("trino_json_extract_any", "(x, path) AS CAST(trino_json_extract_text(x, path) AS JSON)"),
    Macro("trino_json_array_get", "(x, n) AS trino_json_array_item(x, n)"),
    by_row("trino_json_canonical", ["VARCHAR"], "VARCHAR", _parse),
    by_row("trino_json_extract_text", ["VARCHAR", "VARCHAR"], "VARCHAR", extract),
    by_row("trino_json_extract_scalar_any", ["VARCHAR", "VARCHAR"], "VARCHAR", extract_scalar),
    by_row("trino_json_array_contains", ["VARCHAR"] * 3, "BOOLEAN", _array_contains),
    by_row("trino_json_array_item", ["VARCHAR", "BIGINT"], "VARCHAR", _array_get),
    by_row("trino_json_array_length", ["VARCHAR"], "BIGINT", _array_length),
    by_row("trino_json_size", ["VARCHAR", "VARCHAR"], "BIGINT", _size),
    by_row("trino_is_json_scalar", ["VARCHAR"], "BOOLEAN", _is_scalar),
]
