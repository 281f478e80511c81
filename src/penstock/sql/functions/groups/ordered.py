"""Aggregates over the values of a group in their order: percentiles, also by weights, and listagg.

Source: Trino's documentation, "Aggregate functions"; for ON OVERFLOW Trino's own listagg.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from sqlglot import exp

from penstock.sql.functions.build import cast_to, text
from penstock.sql.functions.python import by_row, invalid
from penstock.sql.functions.rows import Call, Definition, Macro, Row, Types, call_engine, fail
from penstock.sql.trino_types import BIGINT, DOUBLE, VARCHAR, Type

__all__ = ["DEFINITIONS", "ROWS"]

_MAX_LISTAGG = 1 << 20  # bytes
_LONGER = f"Concatenated string has the length in bytes larger than the maximum output length {_MAX_LISTAGG}"


def _percentile(call: Call) -> exp.Expr:
    type_ = call.types[0]
    if type_ is None:
        raise call.error(
            f"{call.name} is not supported for a value whose type is not known.",
            code="NOT_SUPPORTED",
            remedy="CAST the argument to its type.",
        )
    at = _percentage(call.types)
    numbers = [item for number, item in enumerate(call.types) if item is not None and number != at]
    if not all(number.is_number or number.name == "unknown" for number in numbers):
        raise call.unexpected("approx_percentile(bigint, double), approx_percentile(double, double)")
    percentage_type = call.types[at]
    many = percentage_type is not None and percentage_type.name == "array"
    engine = "BIGINT" if type_.is_integer else "FLOAT" if type_.name == "real" else "DOUBLE"
    percentage = cast_to(call.arguments[at], "DOUBLE[]" if many else "DOUBLE")
    if at == 1:
        return call.engine("quantile_disc", cast_to(call.arguments[0], engine), percentage)
    value_type = "BIGINT" if type_.is_integer else "DOUBLE"
    pair = call_engine("row", cast_to(call.arguments[0], value_type), cast_to(call.arguments[1], "DOUBLE"))
    pairs = cast_to(call.engine("list", pair), f"STRUCT(x {value_type}, w DOUBLE)[]")
    # One value of a group: the percentages are the same in all of its rows.
    shares = call.engine("any_value", percentage)
    listed = shares if many else call_engine("list_value", shares)
    percentiles = call_engine(f"trino_weighted_{value_type.lower()}", pairs, listed)
    result = cast_to(percentiles, f"{engine}[]") if engine == "FLOAT" else percentiles
    return result if many else call_engine("list_extract", result, exp.Literal.number(1))


def _percentage(types: Types) -> int:
    """Return which argument is the percentage: behind the weight if there is one; the accuracy is last."""
    return 1 if len(types) == 2 else 2


def _percentile_type(types: Types) -> Type | None:
    type_ = types[0]
    if type_ is None:
        return None
    one = BIGINT if type_.is_integer else type_ if type_.name == "real" else DOUBLE
    percentage = types[_percentage(types)] if len(types) > 1 else None
    return Type.array(one) if percentage is not None and percentage.name == "array" else one


def _weighted(pairs: list[dict[str, Any] | None], shares: list[float | None]) -> list[Any] | None:
    """Return for each share the least value with at least that share of the weights at or below it."""
    rows = [(pair["x"], pair["w"]) for pair in pairs if pair is not None and None not in pair.values()]
    if any(not weight > 0 for _, weight in rows):
        raise invalid("percentile weight must be > 0")
    if any(share is None or not 0 <= share <= 1 for share in shares):
        raise invalid("Percentile must be between 0 and 1")
    if not rows:
        return None
    rows.sort(key=lambda row: (row[0] != row[0], row[0]))  # NaN is the greatest
    sums = list(accumulate(weight for _, weight in rows))
    values = []
    for share in shares:
        rank = (share or 0) * sums[-1]
        values.append(next((value for (value, _), total in zip(rows, sums, strict=True) if total >= rank), rows[-1][0]))
    return values


def _listagg(call: Call) -> exp.Expr:
    node = call.node
    type_ = call.types[0]
    if type_ is not None and not type_.is_text and type_.name != "unknown":
        raise call.error(f"Expected expression of varchar, but it has {type_} type", code="TYPE_MISMATCH", remedy="CAST it.")
    value, order = node.this, []
    if isinstance(value, exp.Order):
        value, order = value.this, value.expressions
    distinct = isinstance(value, exp.Distinct)
    if distinct:
        value = value.expressions[0]
    separator = node.args.get("separator") or text("")
    inside: exp.Expr = exp.Distinct(expressions=[value]) if distinct else value
    plain = Call(name=call.name, arguments=[], types=[], node=node, around=call.around)
    overflow = node.args.get("on_overflow")
    keys = [item.copy() for item in order]
    if not isinstance(overflow, exp.OverflowTruncateBehavior):
        last: exp.Expr = exp.Order(this=separator, expressions=keys) if order else separator
        return call_engine("trino_listagg", plain.engine("string_agg", inside, last))
    values = plain.engine("list", exp.Order(this=inside, expressions=keys) if order else inside)
    filler = overflow.this if overflow.this is not None else text("...")
    counts = exp.Boolean(this=bool(overflow.args.get("with_count")))
    return call_engine("trino_listagg_cut", values, separator.copy(), filler.copy(), counts)


def _cut(values: list[str | None], separator: str, filler: str, counts: bool) -> str | None:
    present = [name for name in values if name is not None]
    if not present:
        return None
    length, count = 0, 0
    gap = len(separator.encode())
    for name in present:
        length += len(name.encode()) + (gap if count else 0)
        if length > _MAX_LISTAGG:
            break
        count += 1
    left = len(present) - count
    if not left:
        return separator.join(present)
    return separator.join([*present[:count], filler]) + (f"({left})" if counts else "")


ROWS: Sequence[Row] = [
    Row("listagg", nodes=(exp.GroupConcat,), returns=VARCHAR, write=_listagg, kind="aggregate"),
    Row(
        "approx_percentile",
        arity=(2, 4),
        returns=_percentile_type,
        write=_percentile,
        kind="aggregate",
        note="The percentile is exact: the smallest value with at least that share at or below it. "
        "An accuracy is ignored. With weights, all values of a group are in memory at once.",
    ),
]

_PAIRS = "STRUCT(x {0}, w DOUBLE)[]"

DEFINITIONS: Sequence[Definition] = [
    Macro(
        "trino_listagg",
        f"(x) AS CASE WHEN strlen(x) <= {_MAX_LISTAGG} THEN x WHEN x IS NOT NULL THEN "
        f"{fail(_LONGER, 'VARCHAR', code='EXCEEDED_FUNCTION_MEMORY_LIMIT')} END",
    ),
    by_row("trino_listagg_cut", ["VARCHAR[]", "VARCHAR", "VARCHAR", "BOOLEAN"], "VARCHAR", _cut),
    *(
        by_row(f"trino_weighted_{type_.lower()}", [_PAIRS.format(type_), "DOUBLE[]"], f"{type_}[]", _weighted)
        for type_ in ("BIGINT", "DOUBLE")
    ),
]
