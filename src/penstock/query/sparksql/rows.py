"""What of Trino's functions and operators Spark SQL computes alike, and how each is written for it.

Trino's own types and Trino's errors are those of :mod:`penstock.sql`: a statement is translated for the other
engine first, so what arrives here has passed its checks. What has no entry here is refused by name. Sources: Spark SQL's
reference, "ANSI Compliance", "Built-in Functions"; Trino's documentation of each function.
"""

from collections.abc import Callable, Mapping

from sqlglot import exp

from penstock.query.sparksql.casts import convert
from penstock.query.sparksql.types import cast_to, spark_type
from penstock.sql.errors import StatementError
from penstock.sql.functions.build import integer, text
from penstock.sql.functions.rows import Call, call_engine
from penstock.sql.functions.scalars.comparison import without_nan
from penstock.sql.trino_types import Type, common, decimal_of

__all__ = ["BY_NAME", "BY_NODE", "Write", "refused"]

Write = Callable[[Call, Type | None], exp.Expr]
"""Returns Spark's expression for a call, whose result has Trino's type, if that is known."""

_CONDITIONED = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)


def refused(call: Call, why: str, remedy: str | None = None) -> StatementError:
    """Return the error for a call that Spark SQL would compute otherwise, or not at all."""
    return call.error(
        f"'{call.name}' is not supported by the engine Spark SQL: {why}.",
        code="NOT_SUPPORTED",
        remedy=remedy or "Run it in a work group of the other engine.",
    )


def _kinds(call: Call, most: int | None = None) -> list[Type]:
    """Return the first arguments' types. Raises :class:`StatementError` if one is unknown or Spark has no such type."""
    types = call.types[:most]
    for type_ in types:
        if type_ is None:
            raise refused(call, "the type of an argument is not known", "CAST the argument to its type.")
        if type_.name != "unknown" and spark_type(type_) is None:
            raise refused(call, f"it has no type {type_}")
    return [type_ for type_ in types if type_ is not None]


def _as(value: exp.Expr, type_: Type | None, source: Type | None) -> exp.Expr:
    spark = spark_type(type_) if type_ is not None else None
    return value if spark is None or type_ == source else cast_to(value, spark)


def _parted(call: Call) -> list[exp.Expr]:
    """Return the arguments, each of them as the type that all are coerced to."""
    types = _kinds(call)
    if any(type_.inner for type_ in types):
        raise refused(call, "values of nested types are not compared")
    shared = common(types)
    if shared is None:
        raise refused(call, f"its arguments have the types {', '.join(map(str, types))}")
    plain = shared if not shared.is_text else Type("varchar")
    return [
        _as(argument, plain, plain if type_.is_text else type_)
        for argument, type_ in zip(call.arguments, types, strict=True)
    ]


def _compared(call: Call, _: Type | None) -> exp.Expr:
    node = call.node
    parts = _parted(call)
    keys = ("this", "low", "high") if isinstance(node, exp.Between) else ("this", "expression")
    for key, part in zip(keys, parts, strict=True):
        node.set(key, part)
    if isinstance(node, _CONDITIONED) and any(type_ is not None and type_.is_floating for type_ in call.types):
        return without_nan(call, "isnan")
    if isinstance(node, exp.Between) and call.types[2] is not None and call.types[2].is_floating:
        # NaN is above all numbers for Spark, and above none for Trino.
        return exp.Paren(this=exp.And(this=node, expression=exp.Not(this=call_engine("isnan", parts[2].copy()))))
    return node


def _in(call: Call, _: Type | None) -> exp.Expr:
    node = call.node
    if node.args.get("query") is not None:
        if common(_kinds(call)[:2]) is None:
            raise refused(call, "the types of both sides differ")
        return node
    constant = all(isinstance(argument.unnest(), exp.Literal) for argument in call.arguments[1:])
    if not constant and any(type_.is_floating for type_ in _kinds(call)):
        raise refused(call, "floating point numbers that are not constants may be NaN")
    first, *others = _parted(call)
    node.set("this", first)
    node.set("expressions", others)
    return node


def _like(call: Call, _: Type | None) -> exp.Expr:
    pattern = call.text(1)
    if pattern is None or "\\" in pattern:
        raise refused(call, "the pattern is not a constant without backslashes")
    return call.node


def _escape(call: Call, _: Type | None) -> exp.Expr:
    if call.text(1) is None or len(str(call.text(1))) != 1:
        raise refused(call, "the escape character is not a constant")
    return call.node


def _branches(call: Call, result: Type | None) -> exp.Expr:
    """CASE, IF: each branch as the type of the result."""
    if isinstance(call.node.parent, exp.Case) and isinstance(call.node, exp.If):
        return call.node  # a WHEN of it
    if result is None or (result.name != "unknown" and spark_type(result) is None):
        raise refused(call, "the type of the result is not known", "CAST the results to one type.")
    node = call.node
    if isinstance(node, exp.Case):
        if node.args.get("this") is not None:
            raise refused(call, "CASE with an operand", "Write CASE WHEN x = 1 THEN ... instead of CASE x WHEN 1 THEN ...")
        for branch in node.args["ifs"]:
            branch.set("true", _as(branch.args["true"], result, None))
        keys: tuple[str, ...] = ("default",)
    else:
        keys = ("true", "false")
    for key in keys:
        if node.args.get(key) is not None:
            node.set(key, _as(node.args[key], result, None))
    return node


def _nullif(call: Call, _: Type | None) -> exp.Expr:
    types = _kinds(call)
    texts = types[0].is_text and types[1].is_text
    if (types[0] != types[1] and not texts) or types[0].is_floating:
        raise refused(call, "its arguments have different types, or are floating point numbers", "CAST one of them.")
    return call_engine("nullif", *call.arguments)


# Arithmetic


def _computed(call: Call, result: Type | None) -> exp.Expr:
    node = call.node
    if isinstance(node, exp.Add | exp.Sub) and isinstance(call.arguments[1], exp.Interval):
        return _moved_date(call)
    types = _kinds(call)
    if result is None or not result.is_number or any(not type_.is_number for type_ in types):
        raise refused(call, f"its arguments have the types {', '.join(map(str, types))}")
    for key, value, type_ in zip(("this", "expression"), call.arguments, types, strict=True):
        operand_type = result if result.name != "decimal" else decimal_of(type_)
        node.set(key, _as(value, operand_type, None))
    if result.name == "decimal":
        # Spark's product has a digit more.
        return cast_to(exp.Paren(this=node), str(spark_type(result)))
    return node


def _moved_date(call: Call) -> exp.Expr:
    """Return a date plus or minus an interval of whole days, months or years."""
    interval = call.arguments[1]
    if _kinds(call, 1)[0].name != "date":
        raise refused(call, f"the sum of a {call.types[0]} and an interval")
    count, unit = interval.this, str(interval.args.get("unit") or "").lower() if isinstance(interval, exp.Interval) else ""
    if not isinstance(count, exp.Literal) or not count.name.isascii() or not count.name.isdigit() or len(count.name) > 6:
        raise refused(call, "an interval is not a constant of whole days, months or years")
    many = int(count.name) * (-1 if isinstance(call.node, exp.Sub) else 1)
    if unit == "day":
        return call_engine("date_add", call.arguments[0], integer(many))
    if unit not in {"month", "year"}:
        raise refused(call, f"an interval of the unit {unit}")
    return call_engine("add_months", call.arguments[0], integer(many * (12 if unit == "year" else 1)))


def _interval(call: Call, _: Type | None) -> exp.Expr:
    if not isinstance(call.node.parent, exp.Add | exp.Sub):
        raise refused(call, "an interval outside of a sum with a date")
    return call.node


def _quotient(call: Call, result: Type | None) -> exp.Expr:
    types = _kinds(call)
    if result is not None and result.is_integer:
        left, right = (_as(argument, result, type_) for argument, type_ in zip(call.arguments, types, strict=True))
        return cast_to(exp.Paren(this=exp.IntDiv(this=left, expression=right)), str(spark_type(result)))
    if result is None or result.name != "double":
        raise refused(call, f"the quotient of {types[0]} and {types[1]} is rounded otherwise", "CAST an operand to double.")
    left, right = (_as(argument, result, type_) for argument, type_ in zip(call.arguments, types, strict=True))
    plain = exp.Paren(this=exp.Div(this=left, expression=right, typed=False, safe=False))
    divisor = right.unnest()
    if isinstance(divisor, exp.Literal) and float(divisor.name) != 0:
        return plain
    # Spark refuses to divide by zero where IEEE 754 has an infinity, or NaN.
    minus = exp.NEQ(
        this=exp.Paren(this=exp.LT(this=left.copy(), expression=integer(0))),
        expression=call_engine("startswith", cast_to(right.copy(), "STRING"), text("-")),
    )
    infinite = call_engine("if", minus, _double("-Infinity"), _double("Infinity"))
    no_number = exp.Or(this=call_engine("isnan", left.copy()), expression=exp.EQ(this=left.copy(), expression=integer(0)))
    by_zero = call_engine("if", no_number, _double("NaN"), infinite)
    divides_by_zero = exp.And(
        this=exp.EQ(this=right.copy(), expression=integer(0)), expression=exp.Not(this=_is_null(left.copy()))
    )
    return call_engine("if", divides_by_zero, by_zero, call_engine("try_divide", left.copy(), right.copy()))


def _is_null(value: exp.Expr) -> exp.Expr:
    return exp.Paren(this=exp.Is(this=value, expression=exp.Null()))


def _double(value: str) -> exp.Expr:
    return cast_to(text(value), "DOUBLE")


def _remainder(call: Call, result: Type | None) -> exp.Expr:
    if result is None or not result.is_integer:
        raise refused(call, "the remainder of numbers that are not integers", "CAST both to bigint.")
    left, right = (_as(argument, result, type_) for argument, type_ in zip(call.arguments, _kinds(call), strict=True))
    return exp.Paren(this=exp.Mod(this=exp.Paren(this=left), expression=exp.Paren(this=right)))


def _negated(call: Call, result: Type | None) -> exp.Expr:
    if result is None or not result.is_number:
        raise refused(call, f"the opposite of a {result}")
    if isinstance(call.node.this.unnest(), exp.Literal):
        return call.node
    return _as(exp.Paren(this=call.node), result, None)


def _cast(call: Call, result: Type | None) -> exp.Expr:
    if result is None:
        raise refused(call, f"the type {call.node.args['to'].sql('trino')[:50]}")
    value = convert(call.arguments[0], _kinds(call, 1)[0], result)
    if value is None:
        raise refused(call, f"{call.types[0]} as {result}")
    return value


# Functions of one value


def _renamed(name: str, fits: Callable[[Type], bool] = lambda _: True, *, cast: bool = False) -> Write:
    """Return how a call is written that Spark's ``name`` computes alike for first arguments of a type that ``fits``."""

    def write(call: Call, result: Type | None) -> exp.Expr:
        types = _kinds(call)
        if types and types[0].name != "unknown" and not fits(types[0]):
            raise refused(call, f"the argument is a {types[0]}")
        renamed = call_engine(name, *call.arguments)
        return _as(renamed, result, None) if cast else renamed

    return write


def _constant(number: int, least: int) -> Callable[[Call], None]:
    def check(call: Call) -> None:
        if number < len(call.arguments):
            value = call.arguments[number].unnest()
            if not (isinstance(value, exp.Literal) and value.name.isdigit() and int(value.name) >= least):
                raise refused(call, f"argument {number + 1} is not a constant from {least} on")

    return check


def _substr(call: Call, _: Type | None) -> exp.Expr:
    if not _kinds(call)[0].is_text:
        raise refused(call, f"the argument is a {call.types[0]}")
    _constant(1, 1)(call)
    _constant(2, 0)(call)
    return call_engine("substr", *call.arguments)


def _with_text(name: str) -> Write:
    """Return how a call is written whose second argument has to be a constant that is not empty."""

    def write(call: Call, result: Type | None) -> exp.Expr:
        if not call.text(1):
            raise refused(call, "argument 2 is not a constant, or is empty")
        return _as(call_engine(name, *call.arguments), result, None)

    return write


def _is_text(type_: Type) -> bool:
    return type_.name == "varchar"


def _is_moment(type_: Type) -> bool:
    return type_.name in {"date", "timestamp"}


def _power(call: Call, _: Type | None) -> exp.Expr:
    return call_engine(
        "power",
        *(_as(argument, Type("double"), type_) for argument, type_ in zip(call.arguments, _kinds(call), strict=True)),
    )


def _extract(call: Call, result: Type | None) -> exp.Expr:
    unit = call.node.this.name.lower()
    if unit not in _FIELDS:
        raise refused(call, f"the field {unit}")
    return _field(unit)(call, result)


_FIELDS = {
    "year": "year",
    "quarter": "quarter",
    "month": "month",
    "week": "weekofyear",
    "day": "day",
    "day_of_month": "day",
    "day_of_year": "dayofyear",
    "doy": "dayofyear",
    "hour": "hour",
    "minute": "minute",
    "second": "second",
}


def _field(unit: str) -> Write:
    def write(call: Call, result: Type | None) -> exp.Expr:
        type_, value = call.types[-1], call.arguments[-1]
        if type_ is None or not _is_moment(type_) or (type_.name == "date" and unit in {"hour", "minute", "second"}):
            raise refused(call, f"the field {unit} of a {type_}")
        return _as(call_engine(_FIELDS[unit], value), result, None)

    return write


def _date_trunc(call: Call, result: Type | None) -> exp.Expr:
    unit, type_ = (call.text(0) or "").lower(), _kinds(call)[1]
    if unit not in {"second", "minute", "hour", "day", "week", "month", "quarter", "year"} or not _is_moment(type_):
        raise refused(call, f"the unit {unit} of a {type_}")
    # Its result is an instant, in the session's time zone, which is UTC.
    return _as(call_engine("date_trunc", *call.arguments), result, None)


def _date_diff(call: Call, result: Type | None) -> exp.Expr:
    types = _kinds(call)
    if (call.text(0) or "").lower() != "day" or {type_.name for type_ in types[1:]} != {"date"}:
        raise refused(call, "it is not about days between dates")
    return _as(call_engine("datediff", call.arguments[2], call.arguments[1]), result, None)


def _date(call: Call, _: Type | None) -> exp.Expr:
    value = convert(call.arguments[0], _kinds(call)[0], Type("date"))
    if value is None:
        raise refused(call, f"the argument is a {call.types[0]}")
    return value


# Aggregates and windows


def _number(type_: Type) -> bool:
    return type_.is_number


def _sum(call: Call, result: Type | None) -> exp.Expr:
    type_ = _kinds(call)[0]
    if not type_.is_number or result is None:
        raise refused(call, f"the argument is a {type_}")
    value = _as(call.arguments[0], result, type_) if result.name == "decimal" else call.arguments[0]
    return _as(call.engine("sum", value), result, None)


def _avg(call: Call, result: Type | None) -> exp.Expr:
    type_ = _kinds(call)[0]
    if not (type_.is_integer or type_.is_floating):
        raise refused(call, f"the mean of a {type_} is rounded otherwise", "CAST the argument to double.")
    return _as(call.engine("avg", cast_to(call.arguments[0], "DOUBLE")), result, None)


def _extreme(name: str) -> Write:
    def write(call: Call, _: Type | None) -> exp.Expr:
        type_ = _kinds(call)[0]
        if len(call.arguments) != 1 or type_.inner or spark_type(type_) is None:
            raise refused(call, f"the arguments have the types {', '.join(map(str, call.types))}")
        value = call.arguments[0]
        if name == "max" and type_.is_floating:
            # NaN is the maximum only of NaNs.
            numbers = call_engine("nullif", value.copy(), _as(_double("NaN"), type_, Type("double")))
            return call_engine("coalesce", call.engine(name, numbers), call.engine(name, value))
        return call.engine(name, value)

    return write


def _aggregate(name: str, fits: Callable[[Type], bool]) -> Write:
    def write(call: Call, result: Type | None) -> exp.Expr:
        types = _kinds(call)
        if types and not fits(types[0]):
            raise refused(call, f"the argument is a {types[0]}")
        values = [
            _as(argument, Type("double"), type_) if type_.is_number else argument
            for argument, type_ in zip(call.arguments, types, strict=True)
        ]
        return _as(call.engine(name, *values), result, None)

    return write


def _window(name: str) -> Write:
    def write(call: Call, result: Type | None) -> exp.Expr:
        if not call.is_windowed:
            raise refused(call, "it has no OVER")
        return _as(call.engine(name, *call.arguments), result, None)

    return write


def _double_of(name: str) -> Write:
    def write(call: Call, _: Type | None) -> exp.Expr:
        type_ = _kinds(call)[0]
        if not type_.is_number:
            raise refused(call, f"the argument is a {type_}")
        return call_engine(name, _as(call.arguments[0], Type("double"), type_))

    return write


def _concat(call: Call, _: Type | None) -> exp.Expr:
    if any(not type_.is_text and type_.name != "unknown" for type_ in _kinds(call)):
        raise refused(call, "an argument is not a varchar")
    return call_engine("concat", *call.arguments)


_LENGTHS: Mapping[str, str] = {"length": "length", "upper": "upper", "lower": "lower", "reverse": "reverse"}

BY_NODE: Mapping[type[exp.Expr], Write] = {
    **dict.fromkeys((*_CONDITIONED, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Between), _compared),
    **dict.fromkeys((exp.And, exp.Or, exp.Not, exp.Is, exp.Exists), lambda call, _: call.node),
    exp.In: _in,
    exp.Like: _like,
    exp.Escape: _escape,
    exp.Case: _branches,
    exp.If: _branches,
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul), _computed),
    exp.Interval: _interval,
    exp.Div: _quotient,
    exp.Mod: _remainder,
    exp.Neg: _negated,
    exp.Cast: _cast,
    exp.DPipe: _concat,
    exp.Extract: _extract,
    exp.Substring: _substr,
}
"""By the parser's node of an operator, or of a call with a syntax of its own."""

BY_NAME: Mapping[str, Write] = {
    "coalesce": lambda call, _: call_engine("coalesce", *_parted(call)),
    "nullif": _nullif,
    "mod": _remainder,
    "abs": _renamed("abs", _number),
    "sqrt": _double_of("sqrt"),
    "exp": _double_of("exp"),
    "power": _power,
    "pow": _power,
    **{name: _renamed(spark, _is_text, cast=True) for name, spark in _LENGTHS.items()},
    "concat": _concat,
    "substr": _substr,
    "substring": _substr,
    "replace": _with_text("replace"),
    "strpos": _with_text("instr"),
    "starts_with": _with_text("startswith"),
    **{name: _field(name) for name in _FIELDS if name != "doy"},
    "date_trunc": _date_trunc,
    "date_diff": _date_diff,
    "date": _date,
    "count": lambda call, _: call.engine("count", *call.arguments),
    "count_if": _aggregate("count_if", lambda type_: type_.name == "boolean"),
    "sum": _sum,
    "avg": _avg,
    "min": _extreme("min"),
    "max": _extreme("max"),
    **{name: _aggregate("bool_and", lambda type_: type_.name == "boolean") for name in ("bool_and", "every")},
    "bool_or": _aggregate("bool_or", lambda type_: type_.name == "boolean"),
    **{
        name: _aggregate(name, _number)
        for name in ("stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop")
    },
    **{name: _window(name) for name in ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist")},
    **{name: _window(name) for name in ("first_value", "last_value", "lag", "lead")},
}
"""By the name of a call."""
