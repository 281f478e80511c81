"""The functions over Arrow columns that the engine gets for sketches."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.sql.functions.python import by_row
from penstock.sql.functions.rows import ArrowFunction, Definition
from penstock.sql.functions.sketches import hyperloglog, qdigest, tdigest
from penstock.sql.functions.sketches.columns import Values, each_list, each_pairs, whole

__all__ = ["DEFINITIONS"]

_ARROW = {"bigint": pa.int64(), "double": pa.float64(), "real": pa.float32()}
_ENGINE = {"bigint": "BIGINT", "double": "DOUBLE", "real": "FLOAT"}
_PARTS = pa.struct(
    [
        ("centroid_means", pa.list_(pa.float64())),
        ("centroid_weights", pa.list_(pa.int32())),
        ("compression", pa.float64()),
        ("min", pa.float64()),
        ("max", pa.float64()),
        ("sum", pa.float64()),
        ("count", pa.int64()),
    ]
)
_PARTS_ENGINE = (
    "STRUCT(centroid_means DOUBLE[], centroid_weights INTEGER[], compression DOUBLE, min DOUBLE, max DOUBLE, "
    '"sum" DOUBLE, "count" BIGINT)'
)


def _entries_of_doubles(column: Any) -> pa.Array:
    """Return the entries of doubles by their bits, one of every NaN, as Java's doubleToLongBits has them."""
    array = whole(column)
    numbers = pc.fill_null(array, 0.0).to_numpy(zero_copy_only=False).copy()
    numbers[np.isnan(numbers)] = np.nan
    bits = numbers.view(np.int64)
    return hyperloglog.entries_of_longs(pa.array(bits, mask=array.is_null().to_numpy(zero_copy_only=False)))


def _sketches(entries: Any, bits: Any) -> pa.Array:
    valid = whole(bits)
    size = valid[0].as_py() if len(valid) else 0
    return each_list(entries, lambda entry: hyperloglog.sketch(entry, size))


def _merged(merge: Callable[[list[bytes]], bytes | None]) -> Callable[[Any], pa.Array]:
    """Return the function that merges each row's list of sketches, NULL for none."""

    def apply(column: Any) -> pa.Array:
        lists = ([item for item in row if item is not None] for row in (sketches or [] for sketches in _rows(column)))
        return pa.array([merge(list_) if list_ else None for list_ in lists], pa.binary())

    return apply


def _rows(column: Any) -> Any:
    lists = whole(column)
    return (lists[row].as_py() for row in range(len(lists)))  # one list after the other in memory


def _merged_tdigests(sketches: list[bytes]) -> bytes | None:
    digest = tdigest.merged(sketches)
    return tdigest.packed(digest) if digest is not None else None


def _merged_qdigests(sketches: list[bytes]) -> bytes | None:
    digest = qdigest.merged(sketches)
    return qdigest.packed(digest) if digest is not None else None


def _tdigest(values: Values, weights: Values, _: float) -> bytes:
    return tdigest.packed(tdigest.digest(values, weights))


def _qdigest(type_: str) -> Callable[[Values, Values, float], bytes]:
    return lambda values, weights, error: qdigest.packed(qdigest.digest(qdigest.of_values(values, type_), weights, error))


def _asked(type_: pa.DataType, ask: Callable[[bytes, list[Any]], list[Any]]) -> Callable[[Any, Any], pa.Array]:
    """Return the function that answers each row's list of questions to its sketch; NULL to one that is NULL."""

    def apply(sketches: Any, questions: Any) -> pa.Array:
        rows = zip(whole(sketches).to_pylist(), whole(questions).to_pylist(), strict=True)
        return pa.array([_answers(data, row_questions, ask) for data, row_questions in rows], pa.list_(type_))

    return apply


def _answers(
    data: bytes | None, questions: list[Any] | None, ask: Callable[[bytes, list[Any]], list[Any]]
) -> list[Any] | None:
    if data is None or questions is None:
        return None
    answers = iter(ask(data, [question for question in questions if question is not None]))
    return [None if question is None else next(answers) for question in questions]


def _values_of_tdigest(data: bytes, quantiles: list[float]) -> list[float]:
    return tdigest.values_at(tdigest.opened(data), quantiles)


def _quantiles_of_tdigest(data: bytes, values: list[float]) -> list[float | None]:
    digest = tdigest.opened(data)
    return [tdigest.quantile_at(digest, item) for item in values]


def _values_of_qdigest(type_: str) -> Callable[[bytes, list[float]], list[Any]]:
    def ask(data: bytes, questions: list[float]) -> list[Any]:
        opened = qdigest.opened(data)
        quantiles = [qdigest.value_at(opened, question) for question in questions]
        values = qdigest.as_values(np.array([quantile or 0 for quantile in quantiles], np.int64), type_).tolist()
        return [None if quantile is None else value for quantile, value in zip(quantiles, values, strict=True)]

    return ask


def _quantiles_of_qdigest(type_: str) -> Callable[[bytes, list[Any]], list[float | None]]:
    def ask(data: bytes, values: list[Any]) -> list[float | None]:
        opened = qdigest.opened(data)
        return [qdigest.quantile_at(opened, int(item)) for item in qdigest.of_values(np.array(values), type_).tolist()]

    return ask


def _parts(column: Any) -> pa.Array:
    return pa.array([None if data is None else _part(tdigest.opened(data)) for data in whole(column).to_pylist()], _PARTS)


def _part(digest: tdigest.Digest) -> dict[str, Any]:
    weights = np.rint(digest.weights).astype(np.int64)
    return {
        "centroid_means": digest.means.tolist(),
        "centroid_weights": weights.tolist(),
        "compression": digest.compression,
        "min": digest.least,
        "max": digest.greatest,
        "sum": float((digest.means * digest.weights).sum()),
        "count": int(weights.sum()),
    }


def _scaled(data: bytes, factor: float) -> bytes:
    return tdigest.packed(tdigest.scaled(tdigest.opened(data), factor))


def _trimmed(data: bytes, lower: float, upper: float) -> float | None:
    return tdigest.trimmed_mean(tdigest.opened(data), lower, upper)


def _of_qdigest(type_: str) -> Sequence[Definition]:
    engine, arrow = _ENGINE[type_], _ARROW[type_]
    pairs = f"STRUCT(x {engine}, w BIGINT)[]"
    values = _asked(arrow, _values_of_qdigest(type_))
    quantiles = _asked(pa.float64(), _quantiles_of_qdigest(type_))
    return [
        ArrowFunction(f"trino_qdigest_{type_}", [pairs, "DOUBLE"], "BLOB", _pairs_by(_qdigest(type_))),
        ArrowFunction(f"trino_qdigest_{type_}_values", ["BLOB", "DOUBLE[]"], f"{engine}[]", values),
        ArrowFunction(f"trino_qdigest_{type_}_quantiles", ["BLOB", f"{engine}[]"], "DOUBLE[]", quantiles),
    ]


def _pairs_by(build: Callable[[Values, Values, float], bytes]) -> Callable[[Any, Any], pa.Array]:
    return lambda pairs, last: each_pairs(pairs, whole(last), build)


_QUANTILES = _asked(pa.float64(), _quantiles_of_tdigest)

DEFINITIONS: Sequence[Definition] = [
    ArrowFunction("trino_hll_long", ["BIGINT"], "UINTEGER", hyperloglog.entries_of_longs),
    ArrowFunction("trino_hll_double", ["DOUBLE"], "UINTEGER", _entries_of_doubles),
    ArrowFunction("trino_hll_bytes", ["BLOB"], "UINTEGER", hyperloglog.entries_of_bytes),
    ArrowFunction("trino_hll_sketch", ["UINTEGER[]", "INTEGER"], "BLOB", _sketches),
    ArrowFunction("trino_hll_merged", ["BLOB[]"], "BLOB", _merged(hyperloglog.merged)),
    by_row("trino_hll_cardinality", ["BLOB"], "BIGINT", hyperloglog.cardinality),
    by_row("trino_hll_dense", ["BLOB"], "BLOB", hyperloglog.dense),
    ArrowFunction("trino_tdigest", ["STRUCT(x DOUBLE, w DOUBLE)[]", "DOUBLE"], "BLOB", _pairs_by(_tdigest)),
    ArrowFunction("trino_tdigest_merged", ["BLOB[]"], "BLOB", _merged(_merged_tdigests)),
    ArrowFunction("trino_tdigest_values", ["BLOB", "DOUBLE[]"], "DOUBLE[]", _asked(pa.float64(), _values_of_tdigest)),
    ArrowFunction("trino_tdigest_quantiles", ["BLOB", "DOUBLE[]"], "DOUBLE[]", _QUANTILES),
    by_row("trino_tdigest_scaled", ["BLOB", "DOUBLE"], "BLOB", _scaled),
    by_row("trino_tdigest_trimmed", ["BLOB", "DOUBLE", "DOUBLE"], "DOUBLE", _trimmed),
    ArrowFunction("trino_tdigest_parts", ["BLOB"], _PARTS_ENGINE, _parts),
    ArrowFunction("trino_qdigest_merged", ["BLOB[]"], "BLOB", _merged(_merged_qdigests)),
    *(definition for type_ in _ENGINE for definition in _of_qdigest(type_)),
]
