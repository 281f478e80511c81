"""Functions of the session, of formats and units, and the areas that are refused by name.

Sources: Trino's documentation, "Session information", "System functions", "Conversion functions" (formatting), and the
chapters on HyperLogLog, quantile digest, set digest, T-Digest, machine learning, colour, Teradata, IP address,
UUID and AI functions.
"""

import re
from collections.abc import Sequence
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal

from sqlglot import exp

from penstock.sql.functions.build import cast_to, text
from penstock.sql.functions.casts.conversion import convert
from penstock.sql.functions.java import java_text
from penstock.sql.functions.python import by_row, invalid
from penstock.sql.functions.rows import Call, Definition, Row, call_engine, refuse, renamed, same
from penstock.sql.trino_types import VARCHAR, Type

__all__ = ["DEFINITIONS", "ROWS"]

_SPEC = re.compile(r"%(?:(\d+)\$)?([-#+ 0,(]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])")
_DATES = re.compile(r"%(?:\d+\$)?[-#+ 0,(]*\d*t")
_KINDS = {"d": "integer", "x": "integer", "X": "integer", "o": "integer", "f": "number", "e": "floating", "E": "floating"}


def _format(call: Call) -> exp.Expr:
    form = call.text(0)
    if form is None:
        raise call.error("format needs a literal format.", code="NOT_SUPPORTED")
    if _DATES.search(form):
        raise call.error("format: dates and times (%t) are not supported.", code="NOT_SUPPORTED", remedy="Use date_format.")
    pieces: list[exp.Expr] = []
    at = following = 0
    for match in _SPEC.finditer(form):
        _literal(call, form[at : match.start()], pieces)
        at = match.end()
        if match[5] in "%n":
            pieces.append(text("%" if match[5] == "%" else "\n"))
            continue
        number = int(match[1]) if match[1] else (following := following + 1)
        if number >= len(call.arguments):
            raise call.error(f"Invalid format string: {form[:100]}: there is no argument {number}")
        pieces.append(_formatted(call, match, number))
    _literal(call, form[at:], pieces)
    result = pieces[0] if pieces else text("")
    for piece in pieces[1:]:
        result = exp.DPipe(this=result, expression=piece, safe=False)
    return exp.Paren(this=result)


def _literal(call: Call, piece: str, pieces: list[exp.Expr]) -> None:
    if "%" in piece:
        raise call.error(f"Invalid format string: {piece[:100]}")
    if piece:
        pieces.append(text(piece))


def _formatted(call: Call, match: re.Match[str], number: int) -> exp.Expr:
    type_, value, letter = call.types[number], call.arguments[number], match[5]
    if type_ is None or letter not in "sSdxXofeEbBc":
        raise call.error(f"format: {match[0]} of this argument is not supported.", code="NOT_SUPPORTED")
    families = _KINDS.get(letter)
    fits = {
        "integer": type_.is_integer,
        "number": type_.is_floating or type_.name == "decimal",
        "floating": type_.is_floating,
    }
    if families is not None and not fits[families]:
        raise call.error(f"Invalid format string: {match[0]} (of {type_})")
    if type_.inner or type_.name in {"varbinary", "json"}:
        raise call.error(f"format: {type_} is not supported.", code="NOT_SUPPORTED")
    # Java prints a double as Double.toString does; the cast to varchar has another form.
    shown = (
        cast_to(call_engine("trino_double_plain", value), "VARCHAR")
        if type_.is_floating
        else convert(call, value, type_, VARCHAR)
    )
    plain = f"%{match[2]}{match[3] or ''}{'.' + match[4] if match[4] else ''}{letter}"
    return call_engine("trino_format", text(plain), shown)


def _shown(spec: str, value: str | None) -> str:
    match = _SPEC.fullmatch(spec)
    assert match is not None
    flags, width, digits, letter = match[2], int(match[3] or 0), match[4], match[5]
    if value is None:
        result = "null" if letter not in "bB" else "false"
    elif letter in "sSbBc":
        result = value if digits is None else value[: int(digits)]
        result = result.upper() if letter in "SB" else result
    else:
        result = _number(letter, flags, value, 6 if digits is None else int(digits), width)
    if width > 10_000:
        raise invalid("Invalid format string: the width is over 10000")
    return result.ljust(width) if "-" in flags else result.rjust(width)


def _number(letter: str, flags: str, value: str, digits: int, width: int) -> str:
    if value in {"NaN", "Infinity", "-Infinity"}:
        return value
    number = Decimal(value)
    if letter in "xXo":
        whole = int(number) if number >= 0 else int(number) + (1 << 64)
        body = format(whole, letter)
    elif letter in "eE":
        body = _exponent(number, digits).replace("e", letter)
    else:
        places = Decimal(1).scaleb(-digits) if letter == "f" else Decimal(1)
        rounded = number.copy_abs().quantize(places, ROUND_HALF_UP)
        body = format(rounded, ",f" if "," in flags else "f")
    sign = "-" if number.is_signed() and letter not in "xXo" else "+" if "+" in flags else " " if " " in flags else ""
    if sign == "-" and "(" in flags:
        return f"({body})"
    body = body.lstrip("-")
    return sign + (body.rjust(width - len(sign), "0") if "0" in flags else body)


def _exponent(number: Decimal, digits: int) -> str:
    if number == 0:
        return f"{Decimal(0):.{digits}f}e+00"
    power = number.adjusted()
    mantissa = number.copy_abs().scaleb(-power).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    if mantissa >= 10:
        mantissa, power = (mantissa / 10).quantize(Decimal(1).scaleb(-digits), ROUND_DOWN), power + 1
    return f"{mantissa:f}e{'-' if power < 0 else '+'}{abs(power):02}"


_UNITS = ("", "K", "M", "B", "T", "Q")


def _format_number(value: str) -> str:
    number = Decimal(value)
    size, unit = number.copy_abs(), 0
    while size >= 1000 and unit < len(_UNITS) - 1:
        size, unit = size / 1000, unit + 1
    places = 0 if size >= 100 else 1 if size >= 10 else 2
    shown = size.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    body = format(shown, "f")
    body = body.rstrip("0").rstrip(".") if "." in body else body
    return f"{'-' if number < 0 else ''}{body}{_UNITS[unit]}"


_SIZES = ("B", "kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB")


def _data_size(value: str) -> Decimal:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]+)", value)
    if match is None or match[2] not in _SIZES:
        raise invalid(f"Invalid data size: '{value[:100]}'")
    unit: int = 1024 ** _SIZES.index(match[2])
    return (Decimal(match[1]) * unit).to_integral_value(ROUND_DOWN)


def _number_text(call: Call) -> exp.Expr:
    type_ = call.types[0]
    if type_ is None or not type_.is_number:
        raise call.unexpected("format_number(number)")
    return call_engine("trino_format_number", cast_to(call.arguments[0], "VARCHAR"))


_SKETCH = "set digests and theta sketches are not served"
_EXACT = "Count exactly, with count(DISTINCT x), or use approx_set."
_LEARNING = "machine learning functions are not served"
_TERMINAL = "colours of a terminal are not served"
_IDENTITY = "the session's identity is not known to a statement"
_PATTERN = "it has a meaning in MATCH_RECOGNIZE only"
_MULTISET = "Athena engine version 3 has no multisets"
_TABLE = "table functions are not served"
_CONNECTOR = "it is a function of a connector that is not served"

_SKETCHES = """
    cardinality_intersection hash_counts intersection_cardinality jaccard_index make_set_digest merge_set_digest
    theta_sketch_cardinality theta_sketch_union
"""
_MODELS = """
    classify features learn_classifier learn_libsvm_classifier learn_libsvm_regressor learn_regressor regress
    evaluate_classifier_predictions
"""

ROWS: Sequence[Row] = [
    *same("uuid", 0, Type("uuid"), repeatable=False, volatile=True),
    Row("format", arity=(2, None), returns=VARCHAR, write=_format, note="A literal format, without %t."),
    Row("format_number", arity=1, returns=VARCHAR, write=_number_text),
    renamed("parse_data_size", "trino_parse_data_size", 1, Type.decimal(38, 0)),
    renamed("parse_presto_data_size", "trino_parse_data_size", 1, Type.decimal(38, 0)),
    *refuse("timezone", "Athena engine version 3 has no such function"),
    *refuse("current_groups current_path", _IDENTITY),
    Row("current_user", nodes=(exp.CurrentUser,), refused=_IDENTITY),
    *refuse("version", "the engine's version says nothing about Trino's"),
    *refuse(_SKETCHES, _SKETCH, _EXACT),
    *refuse(_MODELS, _LEARNING, "Train in a job."),
    *refuse("bar color render rgb", _TERMINAL),
    *refuse("classifier first last match_number next permute prev", _PATTERN),
    *refuse("collect element fusion intersection set", _MULTISET),
    *refuse("exclude_columns", _TABLE),
    *refuse("objectid objectid_timestamp timestamp_objectid random_string", _CONNECTOR),
    *refuse("char2hexint index to_char to_date to_timestamp", "Athena does not have Teradata's functions"),
    *refuse(
        "all_columns_search ai_analyze_sentiment ai_classify ai_extract ai_fix_grammar ai_gen ai_mask ai_translate",
        _CONNECTOR,
    ),
]

DEFINITIONS: Sequence[Definition] = [
    by_row("trino_format", ["VARCHAR", "VARCHAR"], "VARCHAR", _shown, nulls=True),
    by_row("trino_double_plain", ["DOUBLE"], "VARCHAR", java_text),
    by_row("trino_format_number", ["VARCHAR"], "VARCHAR", _format_number),
    by_row("trino_parse_data_size", ["VARCHAR"], "DECIMAL(38,0)", _data_size),
]
