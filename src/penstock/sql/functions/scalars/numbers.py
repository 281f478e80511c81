"""Mathematical and bitwise functions.

Sources: Trino's documentation, "Mathematical functions and operators", "Bitwise functions"; results at the edges as in
Trino's own tests of them.
"""

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist

from sqlglot import exp

from penstock.sql.functions.build import as_type, cast_to, text
from penstock.sql.functions.python import by_row, invalid
from penstock.sql.functions.rows import (
    Call,
    Definition,
    Macro,
    Row,
    Types,
    Write,
    call_engine,
    fail,
    first_type,
    refuse,
    renamed,
    same,
    strict,
)
from penstock.sql.trino_types import BIGINT, BOOLEAN, DOUBLE, VARCHAR, Type

__all__ = ["DEFINITIONS", "ROWS"]

_BITS = {"tinyint": 8, "smallint": 16, "integer": 32, "bigint": 64}


def _number(call: Call, number: int = 0) -> Type | None:
    type_ = call.types[number]
    if type_ is not None and not type_.is_number and type_.name != "unknown":
        raise call.unexpected(f"{call.name}(number)")
    return type_


def _absolute(call: Call) -> exp.Expr:
    return as_type(call_engine("abs", as_type(call.arguments[0], _number(call))), call.types[0])


def _whole_type(types: Types) -> Type | None:
    type_ = types[0]
    if type_ is None or type_.name != "decimal":
        return type_
    precision, scale = type_.numbers
    return Type.decimal(precision - scale + min(scale, 1), 0)


def _whole(engine: str) -> Write:
    def write(call: Call) -> exp.Expr:
        type_ = _number(call)
        value = call.arguments[0]
        if type_ is not None and type_.is_integer:
            return as_type(value, type_)
        return as_type(call_engine(engine, value), _whole_type(call.types))

    return write


def _rounded_type(types: Types) -> Type | None:
    type_ = types[0]
    if type_ is None or type_.name != "decimal":
        return type_
    return _whole_type(types) if len(types) == 1 else Type.decimal(type_.numbers[0] + 1, type_.numbers[1])


def _digits(call: Call) -> int | None:
    """Return the number of digits of ``round(x, digits)`` if it is a literal."""
    node = call.arguments[1].unnest()
    sign = -1 if isinstance(node, exp.Neg) else 1
    literal = node.this if isinstance(node, exp.Neg) else node
    if isinstance(literal, exp.Literal) and not literal.is_string and literal.name.isdecimal():
        return sign * int(literal.name)
    return None


def _round(call: Call) -> exp.Expr:
    type_ = _number(call)
    if len(call.arguments) == 1:
        return _whole("round")(call)
    if type_ is not None and type_.name == "decimal" and _digits(call) is None:
        raise call.error("round of a decimal needs a literal number of digits.", code="NOT_SUPPORTED")
    return as_type(call_engine("round", as_type(call.arguments[0], type_), call.arguments[1]), _rounded_type(call.types))


def _truncated_type(types: Types) -> Type | None:
    type_ = types[0]
    if type_ is None or type_.name != "decimal" or len(types) == 2:
        return type_
    return Type.decimal(max(1, type_.numbers[0] - type_.numbers[1]), 0)


def _truncate(call: Call) -> exp.Expr:
    type_ = _number(call)
    value = call.arguments[0]
    if len(call.arguments) == 1:
        return as_type(call_engine("trunc", value), _truncated_type(call.types)) if type_ != BIGINT else value
    digits = _digits(call)
    if type_ is None or type_.name != "decimal" or digits is None:
        raise call.error("truncate(x, n) needs a decimal and a literal number of digits.", code="NOT_SUPPORTED")
    if digits >= type_.numbers[1]:
        return as_type(value, type_)
    unit = f"1e{-digits}"
    step = cast_to(text(unit), f"DECIMAL({max(1, 1 - digits) + max(digits, 0)},{max(digits, 0)})")
    value = as_type(value, type_)
    return as_type(
        exp.Paren(this=exp.Sub(this=value, expression=exp.Paren(this=exp.Mod(this=value.copy(), expression=step)))), type_
    )


def _sign_type(types: Types) -> Type | None:
    type_ = types[0]
    return Type.decimal(1, 0) if type_ is not None and type_.name == "decimal" else type_


def _sign(call: Call) -> exp.Expr:
    type_ = _number(call)
    if type_ is None or type_.is_floating:
        return as_type(call_engine("trino_sign", call.arguments[0]), type_)
    return as_type(call_engine("sign", call.arguments[0]), _sign_type(call.types))


def _double(name: str, engine: str | None = None, arity: int = 1) -> Row:
    """Return the row of a function of doubles; the engine's result is NaN where Trino's is."""

    def write(call: Call) -> exp.Expr:
        for number in range(len(call.arguments)):
            _number(call, number)
        return call_engine(engine or name, *(cast_to(argument, "DOUBLE") for argument in call.arguments))

    return Row(name, arity=arity, returns=DOUBLE, write=write)


def _random(call: Call) -> exp.Expr:
    if not call.arguments:
        return call_engine("random")
    whole = call.types[-1] if all(type_ is not None and type_.is_integer for type_ in call.types) else None
    if whole is None:
        raise call.error("random(m, n) is served for integers.", code="NOT_SUPPORTED")
    low, high = call.arguments if len(call.arguments) == 2 else (exp.Literal.number(0), call.arguments[0])
    return as_type(call_engine("trino_random", low, high), whole)


def _shift(name: str) -> Write:
    def write(call: Call) -> exp.Expr:
        type_ = call.types[0]
        if type_ is None or not type_.is_integer:
            raise call.unexpected(f"{call.name}(integer, integer)")
        width = exp.Literal.number(_BITS[type_.name])
        return as_type(call_engine(name, *(cast_to(argument, "BIGINT") for argument in (*call.arguments, width))), type_)

    return write


def _bits(engine: str) -> Write:
    def write(call: Call) -> exp.Expr:
        if any(type_ is not None and not type_.is_integer and type_.name != "unknown" for type_ in call.types):
            raise call.unexpected(f"{call.name}({', '.join(['bigint'] * len(call.arguments))})")
        return call_engine(engine, *(cast_to(argument, "BIGINT") for argument in call.arguments))

    return write


def _wrapped(value: int, width: int) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def _shifted_left(value: int, shift: int, width: int) -> int:
    return 0 if shift >= width else _wrapped(value << shift, width)


def _shifted_right(value: int, shift: int, width: int) -> int:
    return 0 if shift >= width else _wrapped((value & ((1 << width) - 1)) >> shift, width)


def _shifted_arithmetically(value: int, shift: int, width: int) -> int:
    return value >> min(shift, width - 1)


_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def _check_radix(radix: int) -> None:
    if not 2 <= radix <= 36:
        raise invalid("Radix must be between 2 and 36")


def _from_base(value: str, radix: int) -> int:
    _check_radix(radix)
    digits = value[1:] if value[:1] in {"+", "-"} else value
    if not digits or any(name not in _DIGITS[:radix] for name in digits.lower()):
        raise invalid(f"Not a valid base-{radix} number: {value}")
    number = int(value, radix)
    if not -(1 << 63) <= number < 1 << 63:
        raise invalid(f"Not a valid base-{radix} number: {value}")
    return number


def _to_base(value: int, radix: int) -> str:
    _check_radix(radix)
    number, digits = abs(value), ""
    while number or not digits:
        number, digit = divmod(number, radix)
        digits = _DIGITS[digit] + digits
    return "-" + digits if value < 0 else digits


def _normal_cdf(mean: float, deviation: float, value: float) -> float:
    if not deviation > 0:
        raise invalid("standardDeviation must be > 0")
    return 0.5 * (1 + math.erf((value - mean) / (deviation * math.sqrt(2.0))))


def _inverse_normal_cdf(mean: float, deviation: float, probability: float) -> float:
    if not 0 < probability < 1:
        raise invalid("p must be 0 > p > 1")
    if not deviation > 0:
        raise invalid("sd must be > 0")
    return NormalDist(mean, deviation).inv_cdf(probability)


def _cbrt(value: float) -> float:
    if value == 0 or not math.isfinite(value):
        return value
    root = math.cbrt(value)
    return root - (root * root * root - value) / (3 * root * root)  # the C library's is one unit off for some cubes


def _wilson(sign: int) -> Callable[[int, int, float], float]:
    def bound(successes: int, trials: int, z: float) -> float:
        if successes < 0 or trials <= 0 or successes > trials or z < 0:
            raise invalid("number of trials must be positive, with at most as many successes, and the z-score not negative")
        share = successes / trials
        spread = z * math.sqrt(share * (1 - share) / trials + z * z / (4.0 * trials * trials))
        return (share + z * z / (2.0 * trials) + sign * spread) / (1 + z * z / trials)

    return bound


def _similarity(name: str) -> Write:
    def write(call: Call) -> exp.Expr:
        type_ = call.types[0]
        if type_ is not None and type_.name == "map":
            return call_engine(f"trino_{name}_maps", *call.arguments)
        return call_engine(f"trino_{name}", *(cast_to(argument, "DOUBLE[]") for argument in call.arguments))

    return write


_NO_BETA = "its result cannot be computed to Trino's precision here"

ROWS: Sequence[Row] = [
    Row("abs", arity=1, returns=first_type, write=_absolute),
    *(Row(name, arity=1, returns=_whole_type, write=_whole("ceil")) for name in ("ceil", "ceiling")),
    Row("floor", arity=1, returns=_whole_type, write=_whole("floor")),
    Row("round", arity=(1, 2), returns=_rounded_type, write=_round, note="Digits of a decimal are a literal."),
    Row("truncate", arity=(1, 2), returns=_truncated_type, write=_truncate, note="Two arguments: a decimal and a literal."),
    Row("sign", arity=1, returns=_sign_type, write=_sign),
    _double("cbrt", "trino_cbrt"),
    *map(_double, "degrees exp ln log2 log10 radians sqrt acos asin atan cos cosh sin sinh tan tanh".split()),  # noqa: SIM905
    _double("log", "trino_log", 2),
    _double("atan2", arity=2),
    _double("pow", "pow", 2),
    _double("power", "pow", 2),
    Row("e", arity=0, returns=DOUBLE, write=lambda _: cast_to(text("2.718281828459045"), "DOUBLE")),
    *same("pi", 0, DOUBLE),
    Row("infinity", arity=0, returns=DOUBLE, write=lambda _: cast_to(text("infinity"), "DOUBLE")),
    Row("nan", arity=0, returns=DOUBLE, write=lambda _: cast_to(text("nan"), "DOUBLE")),
    renamed("is_nan", "trino_is_nan", 1, BOOLEAN),
    renamed("is_finite", "isfinite", 1, BOOLEAN),
    renamed("is_infinite", "isinf", 1, BOOLEAN),
    *(
        Row(
            name,
            arity=(0, 2),
            returns=lambda types: types[-1] if types else DOUBLE,
            write=_random,
            repeatable=False,
            volatile=True,
        )
        for name in ("rand", "random")
    ),
    renamed("width_bucket", "trino_width_bucket", (2, 4), BIGINT),
    renamed("from_base", "trino_from_base", 2, BIGINT),
    renamed("to_base", "trino_to_base", 2, VARCHAR),
    renamed("wilson_interval_lower", "trino_wilson_lower", 3, DOUBLE),
    renamed("wilson_interval_upper", "trino_wilson_upper", 3, DOUBLE),
    Row("cosine_similarity", arity=2, returns=DOUBLE, write=_similarity("cosine_similarity")),
    Row("cosine_distance", arity=2, returns=DOUBLE, write=_similarity("cosine_distance")),
    _double("normal_cdf", "trino_normal_cdf", 3),
    _double("inverse_normal_cdf", "trino_inverse_normal_cdf", 3),
    *refuse("beta_cdf inverse_beta_cdf t_cdf t_pdf", _NO_BETA, "Compute it in a job."),
    Row("bit_count", arity=2, returns=BIGINT, write=_bits("trino_bit_count")),
    Row("bitwise_and", arity=2, returns=BIGINT, write=_bits("trino_bitwise_and")),
    Row("bitwise_or", arity=2, returns=BIGINT, write=_bits("trino_bitwise_or")),
    Row("bitwise_xor", arity=2, returns=BIGINT, write=_bits("xor")),
    Row("bitwise_not", arity=1, returns=BIGINT, write=_bits("trino_bitwise_not")),
    Row("bitwise_left_shift", arity=2, returns=first_type, write=_shift("trino_shift_left")),
    Row("bitwise_right_shift", arity=2, returns=first_type, write=_shift("trino_shift_right")),
    Row("bitwise_right_shift_arithmetic", arity=2, returns=first_type, write=_shift("trino_shift_arithmetic")),
]

_RANGE = fail("Number must be representable with the bits specified", "BIGINT")
_BIT_RANGE = fail("Bits specified in bit_count must be between 2 and 64", "BIGINT")
_BUCKETS = fail("bucketCount must be greater than 0", "BIGINT")
_NO_NAN = fail("operand cannot be NaN", "BIGINT")
_BOUNDS = fail("bounds cannot equal each other", "BIGINT")
_BINS = fail("Bins cannot be an empty array", "BIGINT")
_SIZES = fail("The arguments must have the same length", "DOUBLE")


_DOT = (
    "(a, b) AS list_sum(list_transform(list_filter(map_keys(a), lambda k: map_contains(b, k)), "
    "lambda k: CAST(a[k] AS DOUBLE) * CAST(b[k] AS DOUBLE)))"
)
_NORM = "sqrt(list_sum(list_transform(map_values({0}), lambda v: CAST(v AS DOUBLE) * CAST(v AS DOUBLE))))"

DEFINITIONS: Sequence[Definition] = [
    Macro(
        "trino_sign",
        *(
            f"(x {type_}) AS CASE WHEN trino_is_nan(x) OR x = 0 THEN x ELSE CAST(sign(x) AS {type_}) END"
            for type_ in ("FLOAT", "DOUBLE")
        ),
    ),
    Macro("trino_log", "(b, x) AS ln(x) / ln(b)"),
    Macro("trino_random", "(low, high) AS CAST(floor(random() * (high - low)) AS BIGINT) + low"),
    Macro(
        "trino_width_bucket",
        strict(
            "x, low, high, n",
            f"CASE WHEN n <= 0 THEN {_BUCKETS} WHEN low = high THEN {_BOUNDS} "
            f"WHEN trino_is_nan(CAST(x AS DOUBLE)) THEN {_NO_NAN} "
            "WHEN low < high THEN CASE WHEN x < low THEN 0 WHEN x >= high THEN CAST(n AS BIGINT) + 1 "
            "ELSE CAST(floor(n * (CAST(x AS DOUBLE) - low) / (CAST(high AS DOUBLE) - low)) AS BIGINT) + 1 END "
            "ELSE CASE WHEN x > low THEN 0 WHEN x <= high THEN CAST(n AS BIGINT) + 1 "
            "ELSE CAST(floor(n * (CAST(low AS DOUBLE) - x) / (CAST(low AS DOUBLE) - high)) AS BIGINT) + 1 END END",
        ),
        f"(x, bins) AS CASE WHEN len(bins) = 0 THEN {_BINS} WHEN trino_is_nan(CAST(x AS DOUBLE)) THEN {_NO_NAN} "
        "ELSE CAST(len(list_filter(bins, lambda bin: bin <= x)) AS BIGINT) END",
    ),
    Macro(
        "trino_cosine_similarity",
        f"(a, b) AS CASE WHEN len(a) <> len(b) THEN {_SIZES} "
        "WHEN list_dot_product(a, a) = 0 OR list_dot_product(b, b) = 0 THEN CAST('nan' AS DOUBLE) "
        "ELSE list_dot_product(a, b) / (sqrt(list_dot_product(a, a)) * sqrt(list_dot_product(b, b))) END",
    ),
    Macro("trino_cosine_distance", "(a, b) AS 1 - trino_cosine_similarity(a, b)"),
    Macro("trino_dot_maps", _DOT),
    Macro(
        "trino_cosine_similarity_maps",
        f"(a, b) AS coalesce(trino_dot_maps(a, b), 0) / ({_NORM.format('a')} * {_NORM.format('b')})",
    ),
    Macro("trino_cosine_distance_maps", "(a, b) AS 1 - trino_cosine_similarity_maps(a, b)"),
    Macro(
        "trino_bit_count",
        strict(
            "x BIGINT, bits BIGINT",
            f"CASE WHEN bits < 2 OR bits > 64 THEN {_BIT_RANGE} "
            "WHEN bits < 64 AND (x >= pow(2, bits - 1) OR x < -pow(2, bits - 1)) "
            f"THEN {_RANGE} WHEN x >= 0 THEN CAST(bit_count(x) AS BIGINT) "
            "ELSE bits - CAST(bit_count(-(x + 1)) AS BIGINT) END",
        ),
    ),
    Macro("trino_bitwise_and", "(a, b) AS a & b"),
    Macro("trino_bitwise_or", "(a, b) AS a | b"),
    Macro("trino_bitwise_not", "(a) AS ~a"),
    by_row("trino_wilson_lower", ["BIGINT", "BIGINT", "DOUBLE"], "DOUBLE", _wilson(-1)),
    by_row("trino_wilson_upper", ["BIGINT", "BIGINT", "DOUBLE"], "DOUBLE", _wilson(1)),
    by_row("trino_cbrt", ["DOUBLE"], "DOUBLE", _cbrt),
    by_row("trino_shift_left", ["BIGINT"] * 3, "BIGINT", _shifted_left),
    by_row("trino_shift_right", ["BIGINT"] * 3, "BIGINT", _shifted_right),
    by_row("trino_shift_arithmetic", ["BIGINT"] * 3, "BIGINT", _shifted_arithmetically),
    by_row("trino_from_base", ["VARCHAR", "BIGINT"], "BIGINT", _from_base),
    by_row("trino_to_base", ["BIGINT", "BIGINT"], "VARCHAR", _to_base),
    by_row("trino_normal_cdf", ["DOUBLE"] * 3, "DOUBLE", _normal_cdf),
    by_row("trino_inverse_normal_cdf", ["DOUBLE"] * 3, "DOUBLE", _inverse_normal_cdf),
]
