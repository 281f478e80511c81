"""General and statistical aggregate functions.

Sources: Trino's documentation, "Aggregate functions"; Trino's own tests of each aggregation. Where the result's type follows
from the argument's, an argument of unknown type is refused.
"""

from collections.abc import Callable, Sequence

from sqlglot import exp

from penstock.sql.functions.build import as_type, cast_to, integer, text
from penstock.sql.functions.rows import Call, Definition, Macro, Row, Types, call_engine, fail, first_type, refuse
from penstock.sql.functions.times.zones import instant
from penstock.sql.trino_types import BIGINT, BOOLEAN, DOUBLE, Type, decimal_of

__all__ = ["DEFINITIONS", "ROWS"]

_MONTHS = "interval year to month"
_MAX_DIGITS = 37  # a decimal of 38 digits, without the one that a product adds
_ROW_DIGITS = 13  # of the number of rows, which a sum has besides those of its values
_MAX_RESULTS = 10_000


def _plain(name: str, engine: str, returns: object, accepts: Callable[[Type], bool] | None = None, count: int = 1) -> Row:
    """Return the row of an aggregate that is the engine's ``engine``."""

    def write(call: Call) -> exp.Expr:
        for type_ in call.types:
            if accepts is not None and type_ is not None and type_.name != "unknown" and not accepts(type_):
                raise call.unexpected(f"{name} of another type")
        return call.engine(engine, *call.arguments)

    return Row(name, arity=count, returns=returns, write=write, kind="aggregate")  # type: ignore[arg-type]


# sum and avg


def _sum_type(types: Types) -> Type | None:
    type_ = types[0]
    if type_ is None or type_.is_floating or type_.name.startswith("interval"):
        return type_
    if type_.is_integer:
        return BIGINT
    return Type.decimal(38, type_.numbers[1]) if type_.name == "decimal" else None


def _sum(call: Call) -> exp.Expr:
    type_ = call.known_type()
    value = call.arguments[0]
    if type_.name.startswith("interval"):
        return _of_interval(call, type_, "sum")
    if type_.name == "unknown":
        return call.engine("sum", cast_to(value, "BIGINT"))
    if not type_.is_number:
        raise call.unexpected("sum(bigint), sum(decimal(p,s)), sum(double), sum(real)")
    # The engine's sum of integers has 128 bits, of reals 64.
    return as_type(call.engine("sum", value), _sum_type(call.types))


def _of_interval(call: Call, type_: Type, engine: str) -> exp.Expr:
    macro = "trino_months" if type_.name == _MONTHS else "trino_micros"
    total = call.engine(engine, call_engine(macro, call.arguments[0]))
    return call_engine("to_months" if type_.name == _MONTHS else "trino_of_micros", cast_to(total, "BIGINT"))


def _avg_type(types: Types) -> Type | None:
    type_ = types[0]
    return DOUBLE if type_ is not None and (type_.is_integer or type_.name == "unknown") else type_


def _avg(call: Call) -> exp.Expr:
    type_ = call.known_type()
    value = call.arguments[0]
    if type_.name.startswith("interval"):
        return _of_interval(call, type_, "avg")
    if type_.name == "decimal":
        return _avg_decimal(call, type_)
    if type_.name == "unknown":
        return call.engine("avg", cast_to(value, "DOUBLE"))
    if not type_.is_number:
        raise call.unexpected("avg(decimal(p,s)), avg(double), avg(real)")
    return as_type(call.engine("avg", cast_to(value, "DOUBLE")), _avg_type(call.types))


def _avg_decimal(call: Call, type_: Type) -> exp.Expr:
    """Divide the sum of the unscaled integers by their number, and round half away from zero."""
    precision, scale = decimal_of(type_).numbers
    value = as_type(call.arguments[0], type_)
    if precision + scale + _ROW_DIGITS <= _MAX_DIGITS:
        # The engine sums decimals faster than integers of 128 bits.
        total = cast_to(_unscaled(call.engine("sum", value), scale), "HUGEINT")
    elif precision + scale <= _MAX_DIGITS:
        total = call.engine("sum", cast_to(_unscaled(value, scale), "HUGEINT"))
    else:
        digits = call_engine("replace", cast_to(value, "VARCHAR"), text("."), text(""))
        total = call.engine("sum", cast_to(digits, "HUGEINT"))
    count = cast_to(call.engine("count", call.arguments[0].copy()), "HUGEINT")
    mean: exp.Expr = cast_to(call_engine("trino_mean", total, count), "DECIMAL(38,0)")
    if scale:
        mean = exp.Paren(this=exp.Mul(this=mean, expression=cast_to(text(f"1e-{scale}"), f"DECIMAL({scale + 1},{scale})")))
    return as_type(mean, type_)


def _unscaled(value: exp.Expr, scale: int) -> exp.Expr:
    power = cast_to(text("1" + "0" * scale), f"DECIMAL({scale + 1},0)")
    return exp.Paren(this=exp.Mul(this=value, expression=power)) if scale else value


# min and max


def _extreme(name: str) -> Row:
    def write(call: Call) -> exp.Expr:
        type_ = call.known_type()
        if type_.name in {"map", "json"}:
            raise call.unexpected(f"{name}(E) of a type that can be ordered")
        value = call.arguments[0]
        if len(call.arguments) == 1:
            if name == "max" and type_.is_floating:
                # NaN is the maximum only of NaNs. The engine takes it for the greatest number.
                numbers = call.engine(name, call_engine("trino_without_nan", value))
                return call_engine("coalesce", numbers, call.engine(name, value.copy()))
            return call.engine(name, value)
        if name == "max" and type_.is_floating:
            raise call.error("max(x, n) is not supported for floating point numbers.", code="NOT_SUPPORTED")
        return call.engine(name, value, _count(call, 1))

    def returns(types: Types) -> Type | None:
        return Type.array(types[0]) if len(types) == 2 else types[0]

    return Row(name, arity=(1, 2), returns=returns, write=write, kind="aggregate")


def _count(call: Call, number: int) -> exp.Expr:
    """Return the argument that says how many results there are."""
    literal = call.arguments[number]
    if not isinstance(literal, exp.Literal) or literal.is_string or not literal.name.isdigit():
        raise call.error(
            f"{call.name} is not supported with a number of results that is not a number in the query.", code="NOT_SUPPORTED"
        )
    if not 0 < int(literal.name) <= _MAX_RESULTS:
        raise call.error(f"{call.name}: the number of results must be from 1 to {_MAX_RESULTS}: {literal.name}")
    return literal


def _by(name: str, engine: str) -> Row:
    def write(call: Call) -> exp.Expr:
        value, order = call.arguments[:2]
        type_ = call.known_type(1)
        if type_.is_floating and name == "max_by":
            order = call_engine("trino_nan_first", order)
        if type_.name == "timestamp with time zone":
            order = instant(order)
        # In a row, since the engine passes over values that are NULL.
        row = call_engine("row", value)
        if len(call.arguments) == 2:
            return call_engine("struct_extract_at", call.engine(engine, row, order), integer(1))
        aggregate = call.engine(engine, row, order, _count(call, 2))
        return call_engine("trino_unpacked", aggregate)

    def returns(types: Types) -> Type | None:
        return Type.array(types[0]) if len(types) == 3 else types[0]

    return Row(name, arity=(2, 3), returns=returns, write=write, kind="aggregate")


# Counts and others


def _count_if(call: Call) -> exp.Expr:
    true = exp.Case(ifs=[exp.If(this=call.arguments[0], true=integer(1))])
    return call.engine("count", true)


def _approx_distinct(call: Call) -> exp.Expr:
    value = call.arguments[0]
    type_ = call.types[0]
    if type_ is not None and type_.name == "timestamp with time zone":
        value = instant(value)
    distinct = Call(
        name=call.name, arguments=[value], types=call.types[:1], node=call.node, distinct=True, around=call.around
    )
    return distinct.engine("count", value)


def _bitwise(name: str, engine: str) -> Row:
    def write(call: Call) -> exp.Expr:
        type_ = call.types[0]
        if type_ is not None and not type_.is_integer and type_.name != "unknown":
            raise call.unexpected(f"{name}(bigint)")
        return call.engine(engine, cast_to(call.arguments[0], "BIGINT"))

    return Row(name, arity=1, returns=BIGINT, write=write, kind="aggregate")


# Statistics


def _statistic(name: str, engine: str, count: int = 1, finite: bool = False) -> Row:
    def write(call: Call) -> exp.Expr:
        for type_ in call.types:
            if type_ is not None and not type_.is_number and type_.name != "unknown":
                raise call.unexpected(f"{name}({', '.join(['double'] * count)})")
        result = call.engine(engine, *(cast_to(argument, "DOUBLE") for argument in call.arguments))
        return call_engine("trino_finite", result) if finite else result

    return Row(name, arity=count, returns=DOUBLE, write=write, kind="aggregate")


def _skewness(call: Call) -> exp.Expr:
    value = cast_to(call.arguments[0], "DOUBLE")
    return call_engine("trino_skewness", call.engine("skewness", value), call.engine("count", value.copy()))


def _entropy(call: Call) -> exp.Expr:
    value = cast_to(call.arguments[0], "DOUBLE")
    total = call.engine("sum", call_engine("trino_entropy_count", value))
    return call_engine("trino_entropy", total, call.engine("sum", call_engine("trino_entropy_term", value.copy())))


def _is_boolean(type_: Type) -> bool:
    return type_ == BOOLEAN


ROWS: Sequence[Row] = [
    Row(
        "count",
        arity=(0, 1),
        returns=BIGINT,
        write=lambda call: call.engine("count", *(call.arguments or [exp.Star()])),
        kind="aggregate",
    ),
    Row("count_if", arity=1, returns=BIGINT, write=_count_if, kind="aggregate"),
    Row("sum", arity=1, returns=_sum_type, write=_sum, kind="aggregate"),
    Row("avg", arity=1, returns=_avg_type, write=_avg, kind="aggregate"),
    _extreme("min"),
    _extreme("max"),
    _by("min_by", "arg_min"),
    _by("max_by", "arg_max"),
    _plain("any_value", "any_value", first_type),
    _plain("arbitrary", "any_value", first_type),
    _plain("bool_and", "bool_and", BOOLEAN, _is_boolean),
    _plain("every", "bool_and", BOOLEAN, _is_boolean),
    _plain("bool_or", "bool_or", BOOLEAN, _is_boolean),
    _bitwise("bitwise_and_agg", "bit_and"),
    _bitwise("bitwise_or_agg", "bit_or"),
    _bitwise("bitwise_xor_agg", "bit_xor"),
    Row(
        "approx_distinct", arity=(1, 2), returns=BIGINT, write=_approx_distinct, kind="aggregate", note="The count is exact."
    ),
    _statistic("geometric_mean", "geomean"),
    _statistic("stddev", "stddev_samp"),
    _statistic("stddev_samp", "stddev_samp"),
    _statistic("stddev_pop", "stddev_pop"),
    _statistic("variance", "var_samp"),
    _statistic("var_samp", "var_samp"),
    _statistic("var_pop", "var_pop"),
    _statistic("corr", "corr", 2, finite=True),
    _statistic("covar_pop", "covar_pop", 2),
    _statistic("covar_samp", "covar_samp", 2),
    _statistic("regr_intercept", "regr_intercept", 2, finite=True),
    _statistic("regr_slope", "regr_slope", 2, finite=True),
    _statistic("kurtosis", "kurtosis", finite=True),
    Row("skewness", arity=1, returns=DOUBLE, write=_skewness, kind="aggregate"),
    Row("entropy", arity=1, returns=DOUBLE, write=_entropy, kind="aggregate"),
    *refuse("numeric_histogram", "the engine has no such histogram", "Use histogram or width_bucket.", kind="aggregate"),
]

DEFINITIONS: Sequence[Definition] = [
    Macro("trino_months", "(x) AS date_part('year', x) * 12 + date_part('month', x)"),
    Macro("trino_micros", "(x INTERVAL) AS epoch_us(x) // 1000"),
    Macro("trino_of_micros", "(x) AS to_microseconds(x * 1000)"),
    Macro(
        "trino_mean",
        "(total, n) AS CASE WHEN n > 0 THEN (total + (CASE WHEN total < 0 THEN -1 ELSE 1 END) * (n // 2)) // n END",
    ),
    Macro("trino_without_nan", "(x) AS CASE WHEN NOT trino_is_nan(x) THEN x END"),
    Macro("trino_nan_first", "(x) AS CASE WHEN trino_is_nan(x) THEN CAST('-Infinity' AS DOUBLE) ELSE CAST(x AS DOUBLE) END"),
    Macro("trino_unpacked", "(a) AS list_transform(a, lambda trino_x: struct_extract_at(trino_x, 1))"),
    Macro("trino_finite", "(x) AS CASE WHEN isfinite(x) THEN x END"),
    # The engine's is the estimate for a sample, Trino's the value of the population.
    Macro("trino_skewness", "(x, n) AS trino_finite(CASE WHEN n >= 3 THEN x * (n - 2) / sqrt(n * (n - 1)) END)"),
    Macro(
        "trino_entropy_count",
        f"(x) AS CASE WHEN x < 0 THEN {fail('Entropy count argument must be non-negative', 'DOUBLE')} ELSE x END",
    ),
    Macro("trino_entropy_term", "(x) AS CASE WHEN x > 0 THEN x * log2(x) ELSE 0 END"),
    Macro(
        "trino_entropy", "(total, terms) AS CASE WHEN total > 0 THEN greatest(log2(total) - terms / total, 0e0) ELSE 0e0 END"
    ),
]
