"""CAST and TRY_CAST: values by Trino's rules, which differ from the engine's in rounding, in text and in what is refused.

Sources: Trino's documentation, "Conversion functions", "Data types"; Trino's own tests of the casts of each type.
"""

import json
import re
from collections.abc import Sequence

from sqlglot import exp

from penstock.sql.functions import addresses
from penstock.sql.functions.build import as_type, cast_to, integer, is_null, text
from penstock.sql.functions.casts import from_json
from penstock.sql.functions.casts.from_json import nested_from_json, scalar_from_json
from penstock.sql.functions.casts.nested import cast_nested
from penstock.sql.functions.rows import Call, Definition, Macro, Row, call_engine, fail
from penstock.sql.functions.times.moments import zoned_literal
from penstock.sql.functions.times.zones import ZONED
from penstock.sql.trino_types import DATE, JSON, SKETCHES, UNKNOWN, VARCHAR, Type

__all__ = ["DEFINITIONS", "ROWS", "convert"]

_INTEGERS = ("tinyint", "smallint", "integer", "bigint")
_NUMBERS = {*_INTEGERS, "decimal", "real", "double"}
_MOMENTS = {"date", "timestamp", "timestamp with time zone"}
_TIMES = {"time", "time with time zone"}

_SKETCHES = frozenset(type_.name for type_ in SKETCHES)

# The types that can be cast to a type, beside itself, NULL, and types that are not known.
_SOURCES = {
    **dict.fromkeys((*_NUMBERS, "boolean"), _NUMBERS | {"boolean", "varchar", "char", "json"}),
    "varchar": _NUMBERS | _MOMENTS | _TIMES | {"boolean", "char", "json", "uuid", "ipaddress", "interval day to second"}
    | {"interval year to month"},
    "char": {"varchar"},
    "varbinary": {"uuid", "ipaddress", *_SKETCHES},
    "date": _MOMENTS | {"varchar", "char", "json"},
    "timestamp": _MOMENTS | {"varchar", "char", "time", "json"},
    "timestamp with time zone": _MOMENTS | {"varchar", "char", "time"},
    "time": {"varchar", "char", "timestamp", "timestamp with time zone", "time with time zone"},
    "time with time zone": {"varchar", "char", "time", "timestamp with time zone"},
    "json": _NUMBERS | _MOMENTS | {"boolean", "varchar", "array", "map", "row"},
    "array": {"json"},
    "map": {"json"},
    "row": {"json"},
    "uuid": {"varchar", "char", "varbinary"},
    **{name: {"varbinary"} for name in _SKETCHES},
    "HyperLogLog": {"varbinary", "P4HyperLogLog"},
    "P4HyperLogLog": {"varbinary", "HyperLogLog"},
    "ipaddress": {"varchar", "varbinary"},
    "interval day to second": {"varchar"},
    "interval year to month": {"varchar"},
}  # fmt: skip


def convert(call: Call, value: exp.Expr, source: Type | None, target: Type) -> exp.Expr:
    """Return ``value``, of type ``source``, as ``target``. Raises Trino's error for a cast that does not exist."""
    if source is not None and source.name not in {target.name, "unknown"}:
        is_cut = source.name == "ipaddress" and bool(target.numbers)
        if is_cut or source.name not in _SOURCES.get(target.name, ()):
            raise call.error(f"Cannot cast {source} to {target}", code="TYPE_MISMATCH")
    elif source == target and target.name not in {"time", "timestamp"}:
        return value
    if source == UNKNOWN or _is_plain_literal(value, target):
        return as_type(value, target)
    if source == JSON and target.name != "json":
        return _from_json(call, value, target)
    return _converted(call, value, source, target)


def _is_plain_literal(value: exp.Expr, target: Type) -> bool:
    """Return whether ``value`` is text in the form that the engine's cast reads as Trino's does, such as DATE '2024-01-31'.

    Conditions with a plain cast can be used to prune.
    """
    form = _FORMS.get(target.name)
    return form is not None and isinstance(value, exp.Literal) and value.is_string and form.fullmatch(value.name) is not None


_FORMS = {
    "date": re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])"),
    "timestamp": re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8]) ([01]\d|2[0-3]):[0-5]\d:[0-5]\d"),
    "decimal": re.compile(r"-?\d+(\.\d+)?"),
    **dict.fromkeys((*_INTEGERS, "double"), re.compile(r"-?\d+")),
}


def _converted(call: Call, value: exp.Expr, source: Type | None, target: Type) -> exp.Expr:
    name = target.name
    if name in {"varchar", "char"}:
        result = _as_text(value, source, target)
    elif name == "decimal":
        result = as_type(_as_decimal_source(value, source), target)
    elif name in {*_INTEGERS, "real", "double", "boolean"}:
        result = _as_plain(value, source, target)
    elif name == "date":
        result = call_engine("trino_to_date", value)
    elif name in {"timestamp", "timestamp with time zone", "time"}:
        result = _as_moment(call, value, target)
    elif name == "json":
        result = _as_json(call, value, source)
    elif name in {"array", "map", "row"}:
        result = cast_nested(value, source, target, lambda inner, type_, to: convert(call, inner, type_, to))
    elif name == "uuid":
        result = as_type(value, target)
    elif name in {"varbinary", "ipaddress"} or name in _SKETCHES:
        addresses = name == "ipaddress" or (source is not None and source.name == "ipaddress")
        result = (_as_address if addresses else _as_bytes)(call, value, source, target)
    else:
        raise call.error(f"The type {target} is not supported.", code="NOT_SUPPORTED")
    return result


def _as_bytes(call: Call, value: exp.Expr, source: Type | None, target: Type) -> exp.Expr:
    """Return the bytes of a sketch, or the sketch that they are; what reads them refuses bytes of others."""
    if source is not None and source.name == "HyperLogLog" and target.name == "P4HyperLogLog":
        return call_engine("trino_hll_dense", value)
    if target.name == "varbinary" and (source is None or source.name not in _SKETCHES):
        raise call.error(f"A cast of {source or 'an unknown type'} to {target} is not supported.", code="NOT_SUPPORTED")
    return value


def _as_address(call: Call, value: exp.Expr, source: Type | None, target: Type) -> exp.Expr:
    """Return text or bytes as an ipaddress, or an ipaddress as its bytes, which it is in the engine."""
    if target.name == "varbinary":
        return value
    if source is None:
        raise call.error(
            "A cast of a value whose type is not known to ipaddress is not supported.",
            code="NOT_SUPPORTED",
            remedy="CAST the value to varchar or varbinary first.",
        )
    return call_engine(f"trino_address_of_{'text' if source.is_text else 'binary'}", value)


def _as_plain(value: exp.Expr, source: Type | None, target: Type) -> exp.Expr:
    """Return ``value`` as an integer, a real, a double or a boolean."""
    if source is None:
        return call_engine(f"trino_to_{target.name}", value)
    if source.is_text:
        return call_engine(f"trino_text_to_{target.name}", value)
    if target.is_integer and source.is_floating:
        return as_type(call_engine("round", value), target)
    return as_type(value, target)


def _as_decimal_source(value: exp.Expr, source: Type | None) -> exp.Expr:
    if source is None:
        return call_engine("trino_to_decimal_text", value)
    if source.is_text:
        return call_engine("trino_decimal_text", value)
    # By its shortest text, as Trino does: the engine's cast multiplies the binary value.
    return cast_to(value, "VARCHAR") if source.is_floating else value


_TEXTS = {
    "double": "trino_double_text",
    "real": "trino_real_text",
    "timestamp": "trino_timestamp_text",
    "timestamp with time zone": "trino_timestamptz_text",
    "time": "trino_time_text",
    "interval day to second": "trino_days_text",
    "interval year to month": "trino_months_text",
    "ipaddress": "trino_address_text",
}


def _as_text(value: exp.Expr, source: Type | None, target: Type) -> exp.Expr:
    is_text = source is not None and source.is_text
    if source is None:
        result = call_engine("trino_text", value)
    elif source.name in _TEXTS:
        numbers = (0,) if source.name.startswith("interval") else source.numbers
        result = call_engine(_TEXTS[source.name], value, *(integer(number) for number in numbers))
    else:
        result = value if is_text else cast_to(value, "VARCHAR")
    if not target.numbers:
        return result
    length = integer(target.numbers[0])
    if is_text or source is None:
        fits = source is not None and bool(source.numbers) and source.numbers[0] <= target.numbers[0]
        result = result if fits else call_engine("left", result, length)
    else:
        result = call_engine("trino_bounded_text", result, length)
    return call_engine("rpad", result, length.copy(), text(" ")) if target.name == "char" else result


def _as_moment(call: Call, value: exp.Expr, target: Type) -> exp.Expr:
    precision = target.numbers[0] if target.numbers else 3
    if precision > 6:
        raise call.error(
            f"{target} is not supported: values have at most microseconds.", code="NOT_SUPPORTED", remedy="Use precision 6."
        )
    if target.name == "timestamp with time zone" and isinstance(value, exp.Literal) and value.is_string:
        return zoned_literal(call, value.name)
    macro = {"timestamp": "trino_to_timestamp", "time": "trino_to_time"}.get(target.name, "trino_to_timestamptz")
    result = call_engine(macro, value)
    return result if precision == 6 else call_engine("trino_to_precision", result, integer(10 ** (6 - precision)))


def _as_json(call: Call, value: exp.Expr, source: Type | None) -> exp.Expr:
    """Return the JSON of a value; the engine's to_json cuts a decimal's zeros and has another form of doubles."""
    if source is None:
        return call_engine("to_json", value)
    if source.is_floating:
        return call_engine("trino_json_double", cast_to(value, "DOUBLE"))
    if source.name == "decimal":
        return cast_to(cast_to(value, "VARCHAR"), "JSON")
    if source.name in _MOMENTS:
        return call_engine("to_json", _as_text(value, source, VARCHAR))
    if source.inner and not _is_json_plain(source):
        return _nested_as_json(call, value, source)
    return call_engine("to_json", value)


def _nested_as_json(call: Call, value: exp.Expr, source: Type) -> exp.Expr:
    if source.name == "row":
        return _row_as_json(call, value, source)
    if source.name == "map" and source.inner[0] is not None and source.inner[0].is_floating:
        raise call.error(f"A cast of {source} to json is not supported.", code="NOT_SUPPORTED", remedy="Cast the keys.")
    if source.element is None:
        return call_engine("to_json", value)
    texts = cast_nested(
        value,
        source,
        _json_inside(source),
        lambda inner, type_, target: _as_json(call, inner, type_) if target == JSON else inner,
    )
    return call_engine(f"trino_json_{source.name}", texts)


def _row_as_json(call: Call, value: exp.Expr, source: Type) -> exp.Expr:
    """Return the object with a row's fields, which the engine's to_json writes in forms of its own."""
    pieces: list[exp.Expr] = [text("{")]
    for at, (name, type_) in enumerate(zip(source.fields, source.inner, strict=True)):
        field = _as_json(call, call_engine("struct_extract_at", value.copy(), integer(at + 1)), type_)
        pieces += [text(f"{',' if at else ''}{json.dumps(name or '')}:"), call_engine("trino_json_or_null", field)]
    whole = call_engine("concat", *pieces, text("}"))
    absent = is_null(value)
    return cast_to(exp.Paren(this=exp.Case(ifs=[exp.If(this=exp.Not(this=absent), true=whole)])), "JSON")


def _json_inside(source: Type) -> Type:
    return Type(source.name, inner=(*source.inner[:-1], JSON))


def _is_json_plain(type_: Type) -> bool:
    """Return whether the engine's to_json has Trino's text for every value of ``type_``."""
    if type_.name == "array":
        return type_.element is not None and _is_json_plain(type_.element)
    return type_.is_integer or type_.is_text or type_.name in {"boolean", "json", "unknown"}


def _from_json(call: Call, value: exp.Expr, target: Type) -> exp.Expr:
    if target.inner:
        return nested_from_json(call, value, target)
    if target.is_number or target.name == "boolean":
        # Written once: the engine computes what stands twice before TRY, which then does not catch its errors.
        return as_type(scalar_from_json(value, target), target)
    return convert(call, scalar_from_json(value, target), VARCHAR, target)


def _target(node: exp.Expr) -> Type | None:
    type_ = node.args.get("to")
    return Type.of(type_) if isinstance(type_, exp.DataType) else None


def _cast(call: Call) -> exp.Expr:
    target = _target(call.node)
    if target is None:
        raise call.error(
            f"The type {call.node.args['to'].sql('trino').lower()[:100]} is not supported.", code="NOT_SUPPORTED"
        )
    return convert(call, call.node.this, call.types[0], target)


def _try_cast(call: Call) -> exp.Expr:
    return call_engine("try", _cast(call))


ROWS: Sequence[Row] = [
    Row("cast", nodes=(exp.Cast,), node_type=_target, write=_cast, note="Precision of times: at most microseconds."),
    Row("date", arity=1, returns=DATE, write=lambda call: convert(call, call.arguments[0], call.types[0], DATE)),
    Row("try_cast", nodes=(exp.TryCast,), node_type=_target, write=_try_cast),
]


def _strict(pattern: str, cast: str, type_: str) -> str:
    """Return the overload for text: what Java's parser refuses must not reach the engine's, which is more lenient."""
    message = f"CAST(CAST('TRINO[INVALID_CAST_ARGUMENT] Cannot cast ''' || x || ''' to {type_}' AS INTEGER) AS {type_})"
    return f"(x VARCHAR) AS CASE WHEN regexp_full_match(x, '{pattern}') THEN {cast} ELSE {message} END"


_DIGITS = "[+-]?[0-9]+"
_DECIMAL = "[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?"
_FLOAT = r"\\s*([+-]?(([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?|Infinity|NaN))[dDfF]?\\s*".replace("\\\\", "\\")
_TEXT_BOUND = (
    "(x, n) AS CASE WHEN length(x) <= n THEN x ELSE CAST(CAST('TRINO[INVALID_CAST_ARGUMENT] Value ' || x || "
    "' cannot be represented as varchar(' || n || ')' AS INTEGER) AS VARCHAR) END"
)


def _to_integer(name: str) -> Sequence[Macro]:
    type_ = name.upper()
    return [
        Macro(f"trino_text_to_{name}", _strict(_DIGITS, f"CAST(x AS {type_})", type_)),
        Macro(
            f"trino_to_{name}",
            f"(x) AS CASE WHEN typeof(x) = 'VARCHAR' THEN trino_text_to_{name}(CAST(x AS VARCHAR)) "
            f"WHEN typeof(x) IN ('DOUBLE', 'FLOAT') THEN CAST(round(CAST(CAST(x AS VARCHAR) AS DOUBLE)) AS {type_}) "
            f"ELSE CAST(x AS {type_}) END",
        ),
    ]


def _to_other(name: str, type_: str, pattern: str, cast: str) -> Sequence[Macro]:
    return [
        Macro(f"trino_text_to_{name}", _strict(pattern, cast, type_)),
        Macro(
            f"trino_to_{name}",
            f"(x) AS CASE WHEN typeof(x) = 'VARCHAR' THEN trino_text_to_{name}(CAST(x AS VARCHAR)) "
            f"ELSE CAST(x AS {type_}) END",
        ),
    ]


_FLOAT_CAST = f"CAST(regexp_extract(x, '{_FLOAT}', 1) AS {{}})"
_TRUE = "lower(x) IN ('t', 'true', '1')"

_UNTYPED = fail("The type of a value that is cast to varchar is not known", "VARCHAR", code="NOT_SUPPORTED")

DEFINITIONS: Sequence[Definition] = [
    *addresses.DEFINITIONS,
    *from_json.DEFINITIONS,
    *(macro for name in _INTEGERS for macro in _to_integer(name)),
    *_to_other("double", "DOUBLE", _FLOAT, _FLOAT_CAST.format("DOUBLE")),
    *_to_other("real", "FLOAT", _FLOAT, _FLOAT_CAST.format("FLOAT")),
    *_to_other("boolean", "BOOLEAN", "(?i)(t|f|true|false|1|0)", _TRUE),
    Macro("trino_decimal_text", _strict(_DECIMAL, "x", "VARCHAR")),
    Macro(
        "trino_to_decimal_text",
        "(x) AS CASE WHEN typeof(x) = 'VARCHAR' THEN trino_decimal_text(CAST(x AS VARCHAR)) ELSE CAST(x AS VARCHAR) END",
    ),
    Macro(
        "trino_text",
        "(x) AS CASE typeof(x) WHEN 'DOUBLE' THEN trino_double_text(CAST(CAST(x AS VARCHAR) AS DOUBLE)) "
        "WHEN 'FLOAT' THEN trino_real_text(CAST(CAST(x AS VARCHAR) AS FLOAT)) "
        "WHEN 'TIMESTAMP' THEN trino_timestamp_text(CAST(CAST(x AS VARCHAR) AS TIMESTAMP), 3) "
        "WHEN 'TIMESTAMP WITH TIME ZONE' THEN trino_timestamptz_text(CAST(CAST(x AS VARCHAR) AS TIMESTAMPTZ), 3) "
        "WHEN 'TIME' THEN trino_time_text(CAST(CAST(x AS VARCHAR) AS TIME), 3) "
        f"WHEN '{ZONED}' THEN {_UNTYPED} WHEN 'INTERVAL' THEN {_UNTYPED} ELSE CAST(x AS VARCHAR) END",
    ),
    # The engine's to_json would write the numbers inside anew.
    Macro(
        "trino_json_array",
        "(items) AS CASE WHEN items IS NOT NULL THEN CAST('[' || array_to_string(list_transform(items, "
        "lambda item: coalesce(CAST(item AS VARCHAR), 'null')), ',') || ']' AS JSON) END",
    ),
    Macro("trino_json_or_null", "(x) AS coalesce(CAST(x AS VARCHAR), 'null')"),
    Macro(
        "trino_json_map",
        "(items) AS CASE WHEN items IS NOT NULL THEN CAST('{' || array_to_string(list_transform("
        "list_sort(list_transform(map_entries(items), lambda item: "
        "{'key': CAST(struct_extract(item, 'key') AS VARCHAR), "
        "'value': CAST(struct_extract(item, 'value') AS VARCHAR)})), "
        "lambda item: CAST(to_json(struct_extract(item, 'key')) AS VARCHAR) || ':' || "
        "coalesce(struct_extract(item, 'value'), 'null')), ',') || '}' AS JSON) END",
    ),
    Macro(
        "trino_json_double",
        "(x) AS CASE WHEN isfinite(x) THEN CAST(trino_double_plain(x) AS JSON) ELSE to_json(trino_double_plain(x)) END",
    ),
    Macro("trino_bounded_text", _TEXT_BOUND),
]
