"""Rows of the functions over sketches: they are stored as bytes, and merged by later statements.

Sources: Trino's documentation, "HyperLogLog functions", "T-Digest functions", "Quantile digest functions"; what Trino's
reference names and does not have (destructure_tdigest, quantile_at_value, trimmed_mean and their like) is Presto's.
"""

from collections.abc import Sequence

from sqlglot import exp

from penstock.sql.functions.build import cast_to, integer
from penstock.sql.functions.rows import Call, Definition, Macro, Row, Types, call_engine
from penstock.sql.functions.sketches import served
from penstock.sql.trino_types import BIGINT, DOUBLE, HYPERLOGLOG, INTEGER, QDIGESTS, REAL, TDIGEST, Type

__all__ = ["DEFINITIONS", "ROWS"]

_SETS = frozenset({"HyperLogLog", "P4HyperLogLog"})
_HELD_TYPES = {"bigint": BIGINT, "double": DOUBLE, "real": REAL}
_LEAST_ERROR, _GREATEST_ERROR = 0.0040625, 0.26
_ERROR_OF_BUCKETS = 1.0816
_BITS = 12
_IN_MEMORY = "Values and weights of a group are in memory at once."


def _held_type(type_: Type) -> str | None:
    """Return the kind of a q-digest's values, None for another type."""
    return type_.name.removeprefix("qdigest(").removesuffix(")") if type_ in QDIGESTS else None


# HyperLogLog


def _approx_set(call: Call) -> exp.Expr:
    value, type_ = call.arguments[0], call.known_type()
    if type_.is_integer or type_.name == "unknown":
        entry = call_engine("trino_hll_long", cast_to(value, "BIGINT"))
    elif type_.is_number:
        entry = call_engine("trino_hll_double", cast_to(value, "DOUBLE"))
    elif type_.is_text:
        entry = call_engine("trino_hll_bytes", call_engine("encode", value))
    else:
        raise call.unexpected("approx_set(bigint), approx_set(double), approx_set(varchar)")
    bits = integer(_bits(call) if len(call.arguments) == 2 else _BITS)
    # Each entry once: no more than the hashes that differ are in memory.
    once = Call(name=call.name, arguments=[], types=[], node=call.node, distinct=True, around=call.around)
    return call_engine("trino_hll_sketch", once.engine("list", entry), bits)


def _bits(call: Call) -> int:
    literal = call.arguments[1]
    try:
        error = float(literal.name) if isinstance(literal, exp.Literal) else 0.0
    except ValueError:
        error = 0.0
    if not _LEAST_ERROR <= error <= _GREATEST_ERROR:
        raise call.error(f"Standard error must be a number in the query in [{_LEAST_ERROR}, {_GREATEST_ERROR}]")
    return (-int(-_ERROR_OF_BUCKETS // (error * error)) - 1).bit_length()


# Aggregates of digests


def _tdigest_agg(call: Call) -> exp.Expr:
    return _of_pairs(call, "tdigest", "DOUBLE", "DOUBLE", ["tdigest_agg(double)", "tdigest_agg(double, double)"])


def _qdigest_agg(call: Call) -> exp.Expr:
    type_ = _held_type(_qdigest_type(call.types) or QDIGESTS[0]) or "bigint"
    engine = {"bigint": "BIGINT", "double": "DOUBLE", "real": "FLOAT"}[type_]
    expected = [f"qdigest_agg({held_type}[, bigint[, double]])" for held_type in _HELD_TYPES]
    return _of_pairs(call, f"qdigest_{type_}", engine, "BIGINT", expected)


def _of_pairs(call: Call, name: str, value: str, weight: str, expected: Sequence[str]) -> exp.Expr:
    types = [call.known_type(number) for number in range(len(call.types))]
    whole = len(types) > 1 and weight == "BIGINT" and not (types[1].is_integer or types[1].name == "unknown")
    if whole or not all(type_.is_number or type_.name == "unknown" for type_ in types):
        raise call.unexpected(", ".join(expected))
    weighed = call.arguments[1] if len(types) > 1 else integer(1)
    pair = cast_to(call_engine("row", call.arguments[0], weighed), f"STRUCT(x {value}, w {weight})")
    error = cast_to(call.arguments[2] if len(types) > 2 else exp.Literal.number("0.01"), "DOUBLE")
    # One value of a group: the accuracy is the same in all of its rows.
    last = call.engine("any_value", error)
    return call_engine(f"trino_{name}", call.engine("list", pair), last)


def _qdigest_type(types: Types) -> Type | None:
    type_ = types[0]
    if type_ is None:
        return None
    name = "real" if type_.name == "real" else "bigint" if type_.is_integer or type_.name == "unknown" else "double"
    return Type(f"qdigest({name})")


def _merge(call: Call) -> exp.Expr:
    type_ = call.known_type()
    if type_.name in _SETS:
        name = "hll"
    elif type_ == TDIGEST:
        name = "tdigest"
    elif type_ in QDIGESTS:
        name = "qdigest"
    else:
        raise call.unexpected("merge(HyperLogLog), merge(tdigest), merge(qdigest(T))")
    return call_engine(f"trino_{name}_merged", call.engine("list", call.arguments[0]))


def _merge_type(types: Types) -> Type | None:
    return HYPERLOGLOG if types[0] is not None and types[0].name in _SETS else types[0]


# Questions to digests


def _question(name: str, to_values: bool, many: bool) -> Row:
    """Return the row of a function that asks for values by their quantiles, or for quantiles by values."""

    def engine_of(call: Call) -> tuple[str, str]:
        type_ = call.known_type()
        held_type = _held_type(type_)
        if held_type is None and type_ != TDIGEST:
            raise call.unexpected(f"{name}(tdigest, {_listed(DOUBLE, many)}), {name}(qdigest(T), {_listed(DOUBLE, many)})")
        value_type = "double" if to_values or held_type is None else held_type
        return f"trino_{'tdigest' if held_type is None else f'qdigest_{held_type}'}", value_type

    def write(call: Call) -> exp.Expr:
        engine, value_type = engine_of(call)
        asked_type = call.types[1]
        inner = asked_type.element if many and asked_type is not None else asked_type
        if (asked_type is not None and many and asked_type.name not in {"array", "unknown"}) or not (
            inner is None or inner.is_number or inner.name == "unknown"
        ):
            raise call.unexpected(f"{name}({call.types[0]}, {_listed(_HELD_TYPES[value_type], many)})")
        question_type = {"bigint": "BIGINT", "double": "DOUBLE", "real": "FLOAT"}[value_type]
        question = cast_to(call.arguments[1], f"{question_type}[]" if many else question_type)
        what = "values" if to_values else "quantiles"
        listed = question if many else call_engine("list_value", question)
        result = call_engine(f"{engine}_{what}", call.arguments[0], listed)
        return result if many else call_engine("list_extract", result, integer(1))

    def returns(types: Types) -> Type | None:
        held_type = _held_type(types[0]) if types[0] is not None else None
        one = _HELD_TYPES[held_type] if to_values and held_type is not None else DOUBLE
        return Type.array(one) if many else one

    return Row(name, arity=2, returns=returns, write=write)


def _listed(type_: Type, many: bool) -> Type:
    return Type.array(type_) if many else type_


def _of_tdigest(name: str, engine: str, returns: Type, *others: str) -> Row:
    """Return the row of a function whose first argument is a T-digest, the ``others`` of the engine's types."""

    def write(call: Call) -> exp.Expr:
        no_numbers = [
            type_ for type_ in call.types[1:] if type_ is not None and not (type_.is_number or type_.name == "unknown")
        ]
        if call.known_type() not in {TDIGEST, Type("unknown")} or no_numbers:
            raise call.unexpected(f"{name}({', '.join(['tdigest', *(item.lower() for item in others)])})")
        further = [cast_to(argument, type_) for argument, type_ in zip(call.arguments[1:], others, strict=True)]
        return call_engine(engine, call.arguments[0], *further)

    return Row(name, arity=1 + len(others), returns=returns, write=write)


def _merge_tdigest(call: Call) -> exp.Expr:
    if call.known_type() != Type.array(TDIGEST):
        raise call.unexpected("merge_tdigest(array(tdigest))")
    return call_engine("trino_tdigest_merged", call.arguments[0])


_PARTS = Type.row(
    [
        ("centroid_means", Type.array(DOUBLE)),
        ("centroid_weights", Type.array(INTEGER)),
        ("compression", DOUBLE),
        ("min", DOUBLE),
        ("max", DOUBLE),
        ("sum", DOUBLE),
        ("count", BIGINT),
    ]
)

ROWS: Sequence[Row] = [
    Row(
        "approx_set",
        arity=(1, 2),
        returns=HYPERLOGLOG,
        write=_approx_set,
        kind="aggregate",
        note="The hashes of a group that differ are in memory at once. A standard error is a number in the query.",
    ),
    Row("empty_approx_set", arity=0, returns=HYPERLOGLOG, write=lambda _: call_engine("trino_empty_approx_set")),
    Row(
        "merge",
        arity=1,
        returns=_merge_type,
        write=_merge,
        kind="aggregate",
        note="Of HyperLogLog, tdigest and qdigest. The sketches of a group are in memory at once.",
    ),
    Row("tdigest_agg", arity=(1, 2), returns=TDIGEST, write=_tdigest_agg, kind="aggregate", note=_IN_MEMORY),
    Row("qdigest_agg", arity=(1, 3), returns=_qdigest_type, write=_qdigest_agg, kind="aggregate", note=_IN_MEMORY),
    _question("value_at_quantile", to_values=True, many=False),
    _question("values_at_quantiles", to_values=True, many=True),
    _question("quantile_at_value", to_values=False, many=False),
    _question("quantiles_at_values", to_values=False, many=True),
    Row("merge_tdigest", arity=1, returns=TDIGEST, write=_merge_tdigest),
    _of_tdigest("scale_tdigest", "trino_tdigest_scaled", TDIGEST, "DOUBLE"),
    _of_tdigest("trimmed_mean", "trino_tdigest_trimmed", DOUBLE, "DOUBLE", "DOUBLE"),
    _of_tdigest("destructure_tdigest", "trino_tdigest_parts", _PARTS),
]

DEFINITIONS: Sequence[Definition] = [
    Macro("trino_empty_approx_set", "() AS unhex('020C0000')"),
    *served.DEFINITIONS,
]
