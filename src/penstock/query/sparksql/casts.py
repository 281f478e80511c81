"""The casts that Spark SQL computes as Trino does: between numbers, of dates, and of constants in their plain form."""

import re
from collections.abc import Mapping

from sqlglot import exp

from penstock.query.sparksql.types import cast_to, spark_type
from penstock.sql.functions.build import integer
from penstock.sql.functions.rows import call_engine
from penstock.sql.trino_types import Type

__all__ = ["convert"]

_FORMS: Mapping[str, re.Pattern[str]] = {
    "date": re.compile(r"\d{4}-\d{2}-\d{2}"),
    "timestamp": re.compile(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(\.\d{1,6})?"),
    "decimal": re.compile(r"-?\d+(\.\d+)?"),
    "double": re.compile(r"-?\d+(\.\d+)?([eE]-?\d+)?"),
    **dict.fromkeys(("tinyint", "smallint", "integer", "bigint"), re.compile(r"-?\d+")),
}


def convert(value: exp.Expr, source: Type, target: Type) -> exp.Expr | None:
    """Return ``value``, of type ``source``, as ``target``; None where Spark's cast has other results or other errors."""
    spark = spark_type(target)
    if spark is None or (spark_type(source) is None and source.name != "unknown"):
        return None
    if source == target or source.name == "unknown":
        return cast_to(value, spark)
    if isinstance(value, exp.Literal) and value.is_string:
        form = _FORMS.get(target.name)
        if form is not None:
            return cast_to(value, spark) if form.fullmatch(value.name) else None
    if target.name == "varchar":
        return _text(value, source, target, spark)
    if (source.name, target.name) in {
        ("date", "timestamp"),
        ("timestamp", "date"),
        ("boolean", "integer"),
        ("boolean", "bigint"),
    }:
        return cast_to(value, spark)
    return _number(value, source, target, spark) if source.is_number and target.is_number else None


def _number(value: exp.Expr, source: Type, target: Type, spark: str) -> exp.Expr | None:
    if target.is_integer and not source.is_integer:
        # Spark cuts the fraction, Trino rounds half away from zero.
        return cast_to(call_engine("round", value, integer(0)), spark)
    if target.name == "decimal" and source.name == "real":
        return None  # by way of a double, which has other digits
    if target.name == "real" and source.name == "decimal":
        return None  # rounded twice
    return cast_to(value, spark)


def _text(value: exp.Expr, source: Type, target: Type, spark: str) -> exp.Expr | None:
    if source.is_text:
        return call_engine("left", value, integer(target.numbers[0])) if target.numbers else value
    if target.numbers or not (source.is_integer or source.name in {"decimal", "boolean", "date"}):
        return None
    return cast_to(value, spark)
