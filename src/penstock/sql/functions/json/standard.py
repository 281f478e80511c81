"""The SQL standard's JSON functions: the rows of json_exists, json_value, json_query, json_array and json_object.

Source: Trino's documentation, "JSON functions and operators".
"""

from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

from sqlglot import exp

from penstock.sql.functions.build import text
from penstock.sql.functions.casts.conversion import convert
from penstock.sql.functions.json.path import PathError, evaluate, variables_of
from penstock.sql.functions.json.syntax import JsonOptions, options_of
from penstock.sql.functions.json_documents import Number, parse, scalar_text, write
from penstock.sql.functions.python import by_row, invalid
from penstock.sql.functions.rows import Call, Definition, Macro, Row, call_engine, fail
from penstock.sql.trino_types import BOOLEAN, JSON, VARCHAR, Type

__all__ = ["DEFINITIONS", "ROWS"]

_UNCHECKED = "\x01"
"""Before a text of which it is not known yet whether it is JSON."""
_OUTPUTS = frozenset({"varchar", "char", "varbinary"})
_MULTIPLE = "JSON path found multiple items"


# What all of them have


def _document(call: Call) -> exp.Expr:
    value, type_ = call.arguments[0], call.types[0]
    if type_ is not None and type_.name == "varbinary":
        return call_engine("trino_json_decoded", value)
    if type_ is not None and not (type_.is_text or type_.name in {"json", "unknown"}):
        raise call.error(f"Cannot read input of type {type_} as JSON using formatting JSON", code="TYPE_MISMATCH")
    return value


def _path(call: Call, options: JsonOptions) -> exp.Expr:
    path = call.arguments[1]
    if not (isinstance(path, exp.Literal) and path.is_string):
        raise call.error("The JSON path is not a literal.", code="SYNTAX_ERROR")
    try:
        used = variables_of(path.name)
    except ValueError as error:
        raise call.error(str(error).partition("] ")[2]) from None
    for name in used:
        if name not in options.names:
            message = f'no value passed for parameter {name}. Try quoting "{name}" in the PASSING clause to match case'
            raise call.error(message, code="INVALID_PATH")
    if len(set(options.names)) != len(options.names):
        raise call.error("JSON path parameter is specified more than once", code="DUPLICATE_PARAMETER_NAME")
    return path


def _parameters(call: Call, options: JsonOptions) -> exp.Expr:
    """Return the JSON array of names and values, each as JSON in a text; NULL for no item."""
    parts: list[exp.Expr] = []
    for at, name in enumerate(options.names, 2):
        value = _item(call, call.arguments[at], call.types[at], is_json=options.is_json[at], checked=False)
        if not options.is_json[at]:
            value = call_engine("coalesce", value, text("null"))
        parts += [call_engine("trino_json_string", text(name)), call_engine("trino_json_string", value)]
    items = [call_engine("coalesce", part, text("null")) for part in parts]
    return call_engine("trino_json_array_text", exp.Array(expressions=items)) if items else text("[]")


def _item(call: Call, value: exp.Expr, type_: Type | None, *, is_json: bool, checked: bool = True) -> exp.Expr:
    """Return the JSON text of a value."""
    if is_json or (type_ is not None and type_.name == "json"):
        if type_ is not None and type_.name == "varbinary":
            value = call_engine("trino_json_decoded", value)
        value = exp.cast(value, "VARCHAR")
        return exp.paren(exp.DPipe(this=text(_UNCHECKED), expression=value), copy=False) if checked else value
    if type_ is None or type_.inner:
        raise call.error(f"{call.name}: values are numbers, text, booleans or JSON functions.", code="NOT_SUPPORTED")
    if type_.is_number or type_.name == "boolean":
        return exp.cast(convert(call, value, type_, JSON), "VARCHAR")
    return call_engine("trino_json_string", convert(call, value, type_, VARCHAR))


@lru_cache(maxsize=256)
def _variables(parameters: str) -> dict[str, list[Any]]:
    """Return the items of each variable. Raises :class:`ValueError` for one that is not JSON."""
    parts = parse(parameters)
    return {str(name): [] if value is None else [parse(value)] for name, value in zip(parts[::2], parts[1::2], strict=True)}


def _matches(value: str, path: str, parameters: str) -> list[Any]:
    """Return what the path finds. Raises :class:`PathError`, and ValueError for what is not JSON."""
    return [_plain(item) for item in evaluate(parse(value), path, _variables(parameters))]


def _plain(item: Any) -> Any:
    """Return an item with the numbers that a path computed as those of a document."""
    return Number(format(item, "f")) if isinstance(item, Decimal) else item


def _failed(error: ValueError) -> ValueError:
    """Return the error of a statement that asks for ERROR ON ERROR."""
    if isinstance(error, PathError):
        return invalid(f"path evaluation failed: {error}", "PATH_EVALUATION_ERROR")
    return invalid("conversion to JSON failed: the text is not JSON", "JSON_INPUT_CONVERSION_ERROR")


def _returned(call: Call, value: exp.Expr, type_: Type | None) -> exp.Expr:
    """Return the text of a JSON function in the type of its RETURNING."""
    if type_ is None or type_.name not in _OUTPUTS:
        raise call.error(f"Cannot output JSON value as {type_} using formatting JSON", code="TYPE_MISMATCH")
    if type_.name == "varbinary":
        return call_engine("encode", value)
    return value if type_ == VARCHAR else convert(call, value, VARCHAR, type_)


def _returns(node: exp.Expr) -> Type | None:
    type_ = options_of(node).returning
    return Type.of(type_) if type_ is not None else VARCHAR


# json_exists


def _exists(call: Call) -> exp.Expr:
    options = options_of(call.node)
    arguments = [_document(call), _path(call, options), _parameters(call, options)]
    return call_engine("trino_json_exists", *arguments, text(options.on_error or "FALSE"))


def _exists_in(value: str, path: str, parameters: str, on_error: str) -> bool | None:
    try:
        return bool(_matches(value, path, parameters))
    except ValueError as error:
        if on_error == "ERROR":
            raise _failed(error) from None
        return {"TRUE": True, "FALSE": False}.get(on_error)


# json_value


def _value(call: Call) -> exp.Expr:
    options, type_ = options_of(call.node), _returns(call.node)
    if type_ is None or type_.inner:
        raise call.error("json_value: this type of RETURNING is not supported.", code="NOT_SUPPORTED")
    arguments = [_document(call), _path(call, options), _parameters(call, options), text(options.on_error or "NULL")]
    state = call_engine("trino_json_value_state", *arguments)
    value = call_engine("trino_json_value", *(argument.copy() for argument in arguments[:3]))
    converted = value if type_ == VARCHAR else convert(call, value, VARCHAR, type_)
    error = _given(call, options, "ERROR", type_)
    if type_ != VARCHAR and options.on_error != "ERROR":
        converted = call_engine("try", converted)
        if not isinstance(error, exp.Null):
            converted = call_engine("coalesce", converted, error.copy())
    branches = [
        exp.If(this=text("EMPTY"), true=_given(call, options, "EMPTY", type_)),
        exp.If(this=text("ERROR"), true=error),
        exp.If(this=text("NULL"), true=exp.Null()),
    ]
    return exp.Paren(this=exp.Case(this=state, ifs=branches, default=converted))


def _given(call: Call, options: JsonOptions, when: str, type_: Type) -> exp.Expr:
    """Return what json_value gives ON EMPTY or ON ERROR."""
    number = options.defaults.get(when)
    if number is not None:
        return convert(call, call.arguments[number], call.types[number], type_)
    if (options.on_empty if when == "EMPTY" else options.on_error) == "ERROR":
        return call_engine("trino_json_path_error", text(when))
    return exp.Null()


def _value_state(value: str, path: str, parameters: str, on_error: str) -> str:
    try:
        items = _matches(value, path, parameters)
    except ValueError as error:
        if on_error == "ERROR":
            raise _failed(error) from None
        return "ERROR"
    if len(items) > 1 or (items and isinstance(items[0], dict | list)):
        return "ERROR"
    return "EMPTY" if not items else "NULL" if items[0] is None else "OK"


def _value_of(value: str, path: str, parameters: str) -> str | None:
    try:
        items = _matches(value, path, parameters)
    except ValueError:
        return None
    return scalar_text(items[0]) if len(items) == 1 else None


# json_query


def _query(call: Call) -> exp.Expr:
    options = options_of(call.node)
    if options.wrapper != "WITHOUT" and options.quotes:
        words = "CONDITIONAL" if options.wrapper == "CONDITIONAL" else "UNCONDITIONAL"
        message = f"{options.quotes} QUOTES behavior specified with WITH {words} ARRAY WRAPPER behavior"
        raise call.error(message, code="INVALID_FUNCTION_ARGUMENT")
    behaviours = (name.removeprefix("EMPTY ") for name in (options.on_empty or "NULL", options.on_error or "NULL"))
    words = f"{options.wrapper} {options.quotes or 'KEEP'} {' '.join(behaviours)}"
    arguments = [_document(call), _path(call, options), _parameters(call, options), text(words)]
    return _returned(call, call_engine("trino_json_query", *arguments), _returns(call.node))


def _query_of(value: str, path: str, parameters: str, options: str) -> str | None:
    wrapper, quotes, on_empty, on_error = options.split()
    try:
        items = _matches(value, path, parameters)
    except ValueError as error:
        if on_error == "ERROR":
            raise _failed(error) from None
        return _instead(on_error, "")
    if not items and wrapper != "WITH":
        return _instead(on_empty, "JSON path found no items")
    if wrapper == "WITH" or (wrapper == "CONDITIONAL" and (len(items) > 1 or not isinstance(items[0], dict | list))):
        return write(items) if items else _instead(on_empty, "JSON path found no items")
    if len(items) > 1:
        return _instead(on_error, _MULTIPLE)
    if quotes == "OMIT" and isinstance(items[0], str) and not isinstance(items[0], Number):
        return items[0]
    return write(items[0])


def _instead(behaviour: str, what: str) -> str | None:
    if behaviour == "ERROR":
        raise invalid(f"conversion from JSON failed: {what}", "JSON_OUTPUT_CONVERSION_ERROR")
    return {"ARRAY": "[]", "OBJECT": "{}"}.get(behaviour)


# json_array and json_object


def _array(call: Call) -> exp.Expr:
    options = options_of(call.node)
    items = []
    for value, type_, is_json in zip(call.arguments, call.types, options.is_json, strict=True):
        item = _item(call, value, type_, is_json=is_json)
        items.append(call_engine("coalesce", item, text("null")) if options.on_null == "NULL" else item)
    listed = exp.cast(exp.Array(expressions=items), "VARCHAR[]")
    return _returned(call, call_engine("trino_json_array_text", listed), _returns(call.node))


def _object(call: Call) -> exp.Expr:
    options = options_of(call.node)
    names, values = [], []
    for at in range(0, len(call.arguments), 2):
        type_ = call.types[at]
        if type_ is not None and not type_.is_text and type_.name != "unknown":
            raise call.error(f"Invalid type of JSON object key: {type_}", code="TYPE_MISMATCH")
        names.append(exp.cast(call.arguments[at], "VARCHAR"))
        values.append(_item(call, call.arguments[at + 1], call.types[at + 1], is_json=options.is_json[at + 1]))
    if options.unique_keys and any(options.is_json):
        raise call.error(
            "WITH UNIQUE KEYS behavior is not supported for JSON_OBJECT function when input expression has FORMAT",
            code="NOT_SUPPORTED",
        )
    absent, unique = exp.Boolean(this=options.on_null == "ABSENT"), exp.Boolean(this=options.unique_keys)
    arrays = [exp.cast(exp.Array(expressions=item), "VARCHAR[]") for item in (names, values)]
    return _returned(call, call_engine("trino_json_object_text", *arrays, absent, unique), _returns(call.node))


def _object_text(names: list[str | None], values: list[str | None], absent: bool, unique: bool) -> str:
    members: dict[str, str] = {}
    for name, value in zip(names, values, strict=True):
        if name is None:
            raise invalid("null value passed for JSON object key to JSON_OBJECT function")
        if value is None and absent:
            continue
        if unique and name in members:
            raise invalid("duplicate key passed to JSON_OBJECT function")
        members[name] = "null" if value is None else _checked(value)
    return "{" + ",".join(f"{write(name)}:{value}" for name, value in members.items()) + "}"


def _array_text(items: list[str | None]) -> str:
    return f"[{','.join(_checked(item) for item in items if item is not None)}]"


def _checked(value: str) -> str:
    if not value.startswith(_UNCHECKED):
        return value
    try:
        return write(parse(value.removeprefix(_UNCHECKED)))
    except ValueError as error:
        raise _failed(error) from None


def _string(value: str | None) -> str | None:
    return None if value is None else write(value)


ROWS: Sequence[Row] = [
    Row("json_exists", arity=(2, None), returns=BOOLEAN, write=_exists),
    Row("json_value", arity=(2, None), node_type=_returns, write=_value),
    Row("json_query", arity=(2, None), node_type=_returns, write=_query),
    Row("json_array", arity=(0, None), node_type=_returns, write=_array),
    Row("json_object", arity=(0, None), node_type=_returns, write=_object),
]

DEFINITIONS: Sequence[Definition] = [
    # The engine fails on bytes that are not text; what is not JSON is for ON ERROR.
    Macro("trino_json_decoded", "(x) AS coalesce(try(decode(x)), CASE WHEN x IS NOT NULL THEN '' END)"),
    Macro(
        "trino_json_path_error",
        "(x) AS CASE x WHEN 'EMPTY' THEN "
        + fail("cannot extract SQL scalar from JSON: JSON path found no items", "VARCHAR", code="JSON_VALUE_RESULT_ERROR")
        + " ELSE "
        + fail(f"cannot extract SQL scalar from JSON: {_MULTIPLE}", "VARCHAR", code="JSON_VALUE_RESULT_ERROR")
        + " END",
    ),
    by_row("trino_json_exists", ["VARCHAR"] * 4, "BOOLEAN", _exists_in),
    by_row("trino_json_value_state", ["VARCHAR"] * 4, "VARCHAR", _value_state),
    by_row("trino_json_value", ["VARCHAR"] * 3, "VARCHAR", _value_of),
    by_row("trino_json_query", ["VARCHAR"] * 4, "VARCHAR", _query_of),
    by_row("trino_json_object_text", ["VARCHAR[]", "VARCHAR[]", "BOOLEAN", "BOOLEAN"], "VARCHAR", _object_text),
    by_row("trino_json_array_text", ["VARCHAR[]"], "VARCHAR", _array_text),
    by_row("trino_json_string", ["VARCHAR"], "VARCHAR", _string, nulls=True),
]
