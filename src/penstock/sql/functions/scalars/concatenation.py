"""Concatenation of strings, bytes and arrays: the operator ``||`` and ``concat``; and the literals of strings and bytes.

Sources: Trino's documentation, "String operators", "Binary operators", "Array operators", "Data types" (literals).
"""

import re
from collections.abc import Sequence
from functools import reduce

from sqlglot import exp

from penstock.sql.functions.build import text
from penstock.sql.functions.rows import Call, Definition, Macro, Row, Types, call_engine
from penstock.sql.trino_types import UNKNOWN, VARBINARY, VARCHAR, Type, common

__all__ = ["DEFINITIONS", "ROWS"]

_ESCAPED = re.compile(r"\\(?:\\|\+([0-9A-Fa-f]{6})|([0-9A-Fa-f]{4}))")


def _concat_type(types: Types) -> Type | None:
    arrays = [type_ for type_ in types if type_ is not None and type_.name == "array"]
    if arrays:
        return common(
            type_ if type_ is not None and type_.name in {"array", "unknown"} else Type.array(type_) for type_ in types
        )
    types_of_values = [type_ for type_ in types if type_ is not None and type_ != UNKNOWN]
    if not types_of_values:
        return None
    return VARBINARY if types_of_values[0].name == "varbinary" else VARCHAR


def _concat(call: Call) -> exp.Expr:
    arrays = [type_ is not None and type_.name == "array" for type_ in call.types]
    if any(arrays):
        return _concat_arrays(call, arrays)
    families = {"text" if type_.is_text else type_.name for type_ in call.types if type_ is not None and type_ != UNKNOWN}
    if families - {"text", "varbinary"} or len(families) > 1:
        types = ", ".join(str(type_ or "unknown") for type_ in call.types)
        raise call.error(f"Unexpected parameters ({types}) for function concat", code="FUNCTION_NOT_FOUND")
    pairs = reduce(lambda left, right: exp.DPipe(this=left, expression=right, safe=False), call.arguments)
    return exp.Paren(this=pairs)


def _concat_arrays(call: Call, arrays: Sequence[bool]) -> exp.Expr:
    result, is_array = call.arguments[0], arrays[0]
    for value, array, type_ in zip(call.arguments[1:], arrays[1:], call.types[1:], strict=True):
        if is_array and (array or type_ == UNKNOWN):
            result = call_engine("trino_array_concat", result, value)
        elif is_array:
            result = call_engine("trino_array_append", result, value)
        else:
            result = call_engine("trino_array_prepend", result, value)
        is_array = True
    return result


def _unicode(call: Call) -> exp.Expr:
    node = call.node
    escape = node.args.get("escape")
    sign = escape.name if isinstance(escape, exp.Expr) else "\\"
    literal = node.name.replace(sign, "\\") if sign != "\\" else node.name

    def character(match: re.Match[str]) -> str:
        if match[0] == "\\\\":
            return sign
        point = int(match[1] or match[2], 16)
        if point > 0x10FFFF or 0xD800 <= point < 0xE000:
            raise call.error(f"Invalid escaped character: {match[1] or match[2]}", code="SYNTAX_ERROR")
        return chr(point)

    value = _ESCAPED.sub(character, literal)
    if "\\" in _ESCAPED.sub("", literal):
        raise call.error("Incomplete escape sequence", code="SYNTAX_ERROR")
    return text(value)


def _hex(call: Call) -> exp.Expr:
    digits = re.sub(r"\s", "", call.node.name)
    if len(digits) % 2 or not re.fullmatch("[0-9A-Fa-f]*", digits):
        raise call.error("Binary literal must contain an even number of hexadecimal digits", code="SYNTAX_ERROR")
    return call_engine("unhex", text(digits))


def _no_operands(_: exp.Expr) -> Sequence[exp.Expr]:
    return ()


ROWS: Sequence[Row] = [
    Row("||", nodes=(exp.DPipe,), returns=_concat_type, write=_concat),
    Row("concat", arity=(2, None), returns=_concat_type, write=_concat),
    Row("U&''", nodes=(exp.UnicodeString,), returns=VARCHAR, write=_unicode, operands=_no_operands),
    Row("X''", nodes=(exp.HexString,), returns=VARBINARY, write=_hex, operands=_no_operands),
]

DEFINITIONS: Sequence[Definition] = [
    Macro("trino_array_concat", "(a, b) AS CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN list_concat(a, b) END"),
    Macro("trino_array_append", "(a, x) AS CASE WHEN a IS NOT NULL THEN list_append(a, x) END"),
    Macro("trino_array_prepend", "(x, a) AS CASE WHEN a IS NOT NULL THEN list_prepend(x, a) END"),
]
