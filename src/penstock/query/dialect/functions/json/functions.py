"""JSON functions and operators: the rows.

Source: Trino's documentation, "JSON functions and operators".
"""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from sqlglot import exp

from penstock.query.dialect.functions.build import text
from penstock.query.dialect.functions.json.documents import (
    Number,
    extract,
    extract_scalar,
    parse,
    read_steps,
    scalar_text,
    write,
)
from penstock.query.dialect.functions.json.path import PathError, evaluate
from penstock.query.dialect.functions.python import each_row, invalid
from penstock.query.dialect.functions.rows import (
    ArrowFunction,
    Call,
    Definition,
    Macro,
    Row,
    call_engine,
    fail,
    refuse,
    renamed,
)
from penstock.query.dialect.functions.scalars.conversion import convert
from penstock.query.dialect.kinds import BIGINT, BOOLEAN, JSON, VARCHAR, Type

__all__ = ["DEFINITIONS", "ROWS"]


def _check_text(call: Call) -> None:
    kind = call.types[0]
    if kind is not None and kind.name not in {"varchar", "char", "json", "unknown"}:
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
            raise call.wrong(str(error).partition("] ")[2]) from None
        if any(step.isdecimal() or not re.fullmatch(r"[^\"\\]+", step) for step in steps):
            return call_engine(python, *call.arguments)
        own = "$" + "".join(f'."{step}"' for step in steps)
        return call_engine(macro, call.arguments[0], text(own), call.arguments[1])

    return write_call


def _literal(call: Call) -> exp.Expr:
    try:
        return call_engine("trino_json", text(write(parse(call.node.this.name), sort=True)))
    except ValueError:
        raise call.wrong(f"Cannot convert '{call.node.this.name[:100]}' to JSON", code="INVALID_LITERAL") from None


def _contains(call: Call) -> exp.Expr:
    kind = call.types[1]
    if kind is None or not (kind.is_text or kind.name == "boolean" or kind.is_integer or kind.name == "double"):
        raise call.unexpected("json_array_contains(json, bigint, boolean, double or varchar)")
    value = convert(call, call.arguments[1], kind, VARCHAR)
    family = "string" if kind.is_text else "integer" if kind.is_integer else kind.name
    return call_engine("trino_json_array_contains", call.arguments[0], value, text(family))


def _on(node: exp.Expr, what: str) -> Any:
    condition = node.args.get("on_condition")
    return condition.args.get(what) if condition is not None else None


def _behaviour(call: Call, what: str, sql: str, kind: Type) -> exp.Expr:
    """Return what json_value gives ON EMPTY or ON ERROR."""
    wanted = _on(call.node, what)
    if isinstance(wanted, exp.Expr):
        return convert(call, wanted, None, kind)
    if wanted is not None and str(wanted).upper().startswith("ERROR"):
        return call_engine("trino_json_path_error", text(sql))
    return exp.Null()


def _returning(node: exp.Expr) -> Type | None:
    kind = node.args.get("returning")
    return Type.of(kind) if isinstance(kind, exp.DataType) else VARCHAR


def _value(call: Call) -> exp.Expr:
    kind = _returning(call.node)
    if kind is None:
        raise call.wrong("json_value: this type of RETURNING is not supported.", code="NOT_SUPPORTED")
    source, path = call.node.this, call.node.args["path"]
    _check_path(call, path)
    state = call_engine("trino_json_value_state", source, path)
    value = call_engine("trino_json_value", source.copy(), path.copy())
    converted = value if kind == VARCHAR else convert(call, value, VARCHAR, kind)
    error = _behaviour(call, "error", "ON ERROR", kind)
    if isinstance(error, exp.Null) and kind != VARCHAR:
        converted = call_engine("try", converted)
    branches = [
        exp.If(this=text("EMPTY"), true=_behaviour(call, "empty", "ON EMPTY", kind)),
        exp.If(this=text("ERROR"), true=error),
    ]
    return exp.Paren(this=exp.Case(this=state, ifs=branches, default=converted))


def _check_path(call: Call, path: exp.Expr) -> None:
    if not (isinstance(path, exp.Literal) and path.is_string):
        raise call.wrong("The JSON path is not a literal.", code="SYNTAX_ERROR")
    try:
        evaluate(None, path.name)
    except PathError:
        return
    except ValueError as error:
        raise call.wrong(str(error).partition("] ")[2]) from None


def _query(call: Call) -> exp.Expr:
    node = call.node
    if not node.args.get("json_query"):
        raise call.wrong("This JSON operator is not supported.", code="NOT_SUPPORTED")
    _check_path(call, node.expression)
    option = node.args.get("option")
    words = (option.name if isinstance(option, exp.Expr) else "WITHOUT").upper()
    wrapper = "CONDITIONAL" if " CONDITIONAL" in words else "WITH" if words.startswith("WITH ") else "WITHOUT"
    quote = node.args.get("quote")
    keeps = quote is None or str(quote.args.get("option")).upper() != "OMIT"
    on = [_query_behaviour(node, what) for what in ("empty", "error")]
    return call_engine("trino_json_query", node.this, node.expression, text(f"{wrapper} {keeps} {' '.join(on)}"))


def _query_behaviour(node: exp.Expr, what: str) -> str:
    wanted = _on(node, what)
    words = str(wanted or "NULL").upper()
    return (
        "ERROR" if words.startswith("ERROR") else "ARRAY" if "ARRAY" in words else "OBJECT" if "OBJECT" in words else "NULL"
    )


def _exists(call: Call) -> exp.Expr:
    _check_path(call, call.arguments[1])
    return call_engine("trino_json_exists", *call.arguments)


def _item(call: Call, value: exp.Expr, kind: Type | None) -> exp.Expr:
    """Return the JSON text of a value in json_array and json_object."""
    if isinstance(value, exp.Anonymous) and value.name.startswith("trino_json_"):
        return value  # JSON already
    if kind is None or kind.inner:
        raise call.wrong(f"{call.name}: values are numbers, text, booleans or JSON functions.", code="NOT_SUPPORTED")
    if kind.is_number or kind.name == "boolean":
        return call_engine("trino_json_number", value)
    return call_engine("trino_json_string", convert(call, value, kind, VARCHAR))


def _array(call: Call) -> exp.Expr:
    items = [_item(call, value, kind) for value, kind in zip(call.arguments, call.types, strict=True)]
    return call_engine("trino_json_array_text", exp.Array(expressions=items))


def _pairs(node: exp.Expr) -> Sequence[exp.Expr]:
    return [part for pair in node.expressions for part in (pair.this, pair.expression)]


def _object(call: Call) -> exp.Expr:
    keys = call.arguments[::2]
    values = [_item(call, value, kind) for value, kind in zip(call.arguments[1::2], call.types[1::2], strict=True)]
    absent = "ABSENT" in str(call.node.args.get("null_handling") or "").upper()
    names = [call_engine("trino_json_string", key) for key in keys]
    return call_engine(
        "trino_json_object_text", exp.Array(expressions=names), exp.Array(expressions=values), exp.Boolean(this=absent)
    )


_NOT_IN_ATHENA = "Athena engine version 3 has no such function"

ROWS: Sequence[Row] = [
    Row(name="JSON ''", nodes=(exp.ParseJSON,), returns=JSON, write=_literal, operands=lambda _: ()),
    renamed("json_parse", "trino_json_parse", 1, JSON),
    renamed("json_format", "trino_json_format", 1, VARCHAR),
    Row(name="json_extract", arity=(2, 2), returns=JSON, write=_extracted("trino_json_extract", "trino_json_extract_any")),
    Row(
        name="json_extract_scalar",
        arity=(2, 2),
        returns=VARCHAR,
        write=_extracted("trino_json_extract_scalar", "trino_json_extract_scalar_any"),
    ),
    Row(name="json_array_contains", arity=(2, 2), returns=BOOLEAN, write=_contains),
    renamed("json_array_get", "trino_json_array_get", 2, JSON),
    renamed("json_array_length", "trino_json_array_length", 1, BIGINT),
    renamed("json_size", "trino_json_size", 2, BIGINT),
    renamed("is_json_scalar", "trino_is_json_scalar", 1, BOOLEAN),
    Row(name="json_exists", arity=(2, 2), returns=BOOLEAN, write=_exists, note="No PASSING, no ON ERROR."),
    Row(name="json_value", nodes=(exp.JSONValue,), node_type=_returning, write=_value, note="No PASSING."),
    Row(name="json_query", nodes=(exp.JSONExtract,), returns=VARCHAR, write=_query, note="No PASSING, no RETURNING."),
    Row(name="json_array", arity=(0, None), returns=VARCHAR, write=_array, note="Absent on NULL."),
    Row(name="json_object", nodes=(exp.JSONObject,), returns=VARCHAR, write=_object, operands=_pairs),
    *refuse("json_scalar json_serialize json json_table", _NOT_IN_ATHENA),
]


def _parse(value: str) -> str:
    try:
        return write(parse(value), sort=True)
    except ValueError:
        raise invalid(f"Cannot convert '{value[:100]}' to JSON") from None


def _array_of(value: str) -> list[Any] | None:
    try:
        found = parse(value)
    except ValueError:
        return None
    return found if isinstance(found, list) else None


def _array_contains(value: str, wanted: str, family: str) -> bool | None:
    items = _array_of(value)
    if items is None:
        return None
    for each in items:
        # As in Trino, 1 and 1.0 are different.
        if family == "integer" and isinstance(each, Number) and each.is_whole and int(each) == int(wanted):
            return True
        if family == "double" and isinstance(each, Number) and not each.is_whole and float(each) == float(wanted):
            return True
        if family == "string" and isinstance(each, str) and not isinstance(each, Number) and each == wanted:
            return True
        if family == "boolean" and isinstance(each, bool) and scalar_text(each) == wanted:
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
    found = extract(value, path)
    if found is None:
        return None
    inner = parse(found)
    return len(inner) if isinstance(inner, dict | list) else 0


def _is_scalar(value: str) -> bool:
    try:
        return not isinstance(parse(value), dict | list)
    except ValueError:
        raise invalid(f"Invalid JSON value: {value[:100]}") from None


def _plain(item: Any) -> Any:
    """Return an item with the numbers that a path computed as those of a document."""
    return Number(format(item, "f")) if isinstance(item, Decimal) else item


def _items(value: str, path: str) -> list[Any] | None:
    """Return what the path finds, None for an error."""
    try:
        return [_plain(each) for each in evaluate(parse(value), path)]
    except ValueError:
        return None


def _value_state(value: str, path: str) -> str:
    items = _items(value, path)
    if items is None or len(items) > 1 or (items and isinstance(items[0], dict | list)):
        return "ERROR"
    return "OK" if items else "EMPTY"


def _value_of(value: str, path: str) -> str | None:
    items = _items(value, path)
    return scalar_text(items[0]) if items is not None and len(items) == 1 else None


def _query_of(value: str, path: str, options: str) -> str | None:
    wrapper, keeps, on_empty, on_error = options.split()
    items = _items(value, path)
    if items is None:
        return _given(on_error, "ON ERROR")
    if not items:
        return _given(on_empty, "ON EMPTY")
    if wrapper == "WITH" or (wrapper == "CONDITIONAL" and (len(items) > 1 or not isinstance(items[0], dict | list))):
        return write(items)
    if len(items) > 1:
        return _given(on_error, "ON ERROR")
    if keeps == "False" and isinstance(items[0], str) and not isinstance(items[0], Number):
        return items[0]
    return write(items[0])


def _given(behaviour: str, when: str) -> str | None:
    if behaviour == "ERROR":
        raise invalid(f"cannot extract a value from JSON: ERROR {when}", "JSON_VALUE_RESULT_ERROR")
    return {"ARRAY": "[]", "OBJECT": "{}"}.get(behaviour)


def _exists_in(value: str, path: str) -> bool:
    return bool(_items(value, path))


def _string(value: str | None) -> str | None:
    return None if value is None else write(value)


# The engine fails on text that is not JSON; NULL is what Trino gives.
_JSON = "CASE WHEN json_valid(x) THEN x END"
_CASES = f"CASE coalesce(json_type({_JSON}, path), 'NONE') {{}} END"
_TEXTS = "WHEN 'VARCHAR' THEN {0} WHEN 'BOOLEAN' THEN {0} WHEN 'UBIGINT' THEN {0} WHEN 'BIGINT' THEN {0}"

DEFINITIONS: Sequence[Definition] = [
    Macro(
        "trino_json_extract",
        [
            "(x, path, own) AS "
            + _CASES.format(
                f"WHEN 'NONE' THEN NULL {_TEXTS.format(f'json_extract({_JSON}, path)')} ELSE trino_json_extract_any(x, own)"
            )
        ],
    ),
    Macro(
        "trino_json_extract_scalar",
        [
            "(x, path, own) AS "
            + _CASES.format(
                f"WHEN 'NONE' THEN NULL {_TEXTS.format(f'json_extract_string({_JSON}, path)')} WHEN 'OBJECT' THEN NULL "
                "WHEN 'ARRAY' THEN NULL WHEN 'NULL' THEN NULL ELSE trino_json_extract_scalar_any(x, own)"
            )
        ],
    ),
    Macro("trino_json", ["(x) AS CAST(x AS JSON)"]),
    Macro("trino_json_parse", ["(x) AS CAST(trino_json_canonical(x) AS JSON)"]),
    Macro("trino_json_format", ["(x) AS CAST(x AS VARCHAR)"]),
    Macro("trino_json_extract_any", ["(x, path) AS CAST(trino_json_extract_text(x, path) AS JSON)"]),
    Macro("trino_json_array_get", ["(x, n) AS trino_json_array_item(x, n)"]),
    Macro("trino_json_number", ["(x) AS CAST(to_json(x) AS VARCHAR)"]),
    Macro("trino_json_array_text", ["(items) AS '[' || array_to_string(items, ',') || ']'"]),
    Macro(
        "trino_json_object_text",
        [
            "(names, items, absent) AS '{' || array_to_string(list_filter(list_transform(list_zip(names, items), "
            "lambda p: CASE WHEN p[2] IS NOT NULL THEN p[1] || ':' || p[2] WHEN NOT absent THEN p[1] || ':null' END), "
            "lambda t: t IS NOT NULL), ',') || '}'"
        ],
    ),
    Macro(
        "trino_json_path_error",
        [f"(x) AS {fail('JSON_VALUE_RESULT_ERROR', 'cannot extract SQL scalar from JSON: ERROR', 'VARCHAR')}"],
    ),
    ArrowFunction("trino_json_canonical", ["VARCHAR"], "VARCHAR", each_row("VARCHAR", _parse)),
    ArrowFunction("trino_json_extract_text", ["VARCHAR", "VARCHAR"], "VARCHAR", each_row("VARCHAR", extract)),
    ArrowFunction("trino_json_extract_scalar_any", ["VARCHAR", "VARCHAR"], "VARCHAR", each_row("VARCHAR", extract_scalar)),
    ArrowFunction("trino_json_array_contains", ["VARCHAR"] * 3, "BOOLEAN", each_row("BOOLEAN", _array_contains)),
    ArrowFunction("trino_json_array_item", ["VARCHAR", "BIGINT"], "VARCHAR", each_row("VARCHAR", _array_get)),
    ArrowFunction("trino_json_array_length", ["VARCHAR"], "BIGINT", each_row("BIGINT", _array_length)),
    ArrowFunction("trino_json_size", ["VARCHAR", "VARCHAR"], "BIGINT", each_row("BIGINT", _size)),
    ArrowFunction("trino_is_json_scalar", ["VARCHAR"], "BOOLEAN", each_row("BOOLEAN", _is_scalar)),
    ArrowFunction("trino_json_exists", ["VARCHAR", "VARCHAR"], "BOOLEAN", each_row("BOOLEAN", _exists_in)),
    ArrowFunction("trino_json_value_state", ["VARCHAR", "VARCHAR"], "VARCHAR", each_row("VARCHAR", _value_state)),
    ArrowFunction("trino_json_value", ["VARCHAR", "VARCHAR"], "VARCHAR", each_row("VARCHAR", _value_of)),
    ArrowFunction("trino_json_query", ["VARCHAR"] * 3, "VARCHAR", each_row("VARCHAR", _query_of)),
    ArrowFunction("trino_json_string", ["VARCHAR"], "VARCHAR", each_row("VARCHAR", _string, nulls=True)),
]
