"""Sketches over many rows: their errors, their parts together, and bytes that are no sketch.

Sources: Trino's documentation of each kind of sketch for the errors; trinodb/trino-python-client,
tests/integration/test_types_integration.py, for the bytes.
"""

import base64
import random
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pytest

from penstock.sql.errors import StatementError
from penstock.sql.functions.hashes import murmur3
from penstock.sql.functions.sketches import hyperloglog, qdigest, tdigest
from tests.unit.sql.engine import Engine

P4_OF_ONE = "AwwAAAAg" + "A" * 2730 + "=="
MANY = 1_000_000


@pytest.fixture(scope="module")
def engine() -> Engine:
    """Return an engine with a table of 10^6 rows: every 100th is NULL, the rest are 0 to 999,999 in another order."""
    made = Engine()
    made.create("ten", "SELECT x AS d FROM UNNEST(sequence(0, 9)) AS u(x)")
    made.create("thousand", "SELECT a.d * 100 + b.d * 10 + c.d AS m FROM ten a CROSS JOIN ten b CROSS JOIN ten c")
    order = "((a.m * 1000 + b.m) * 700001) % 1000000"
    value = f"CASE WHEN {order} % 100 = 0 THEN NULL ELSE CAST({order} AS bigint) END"
    made.create("many", f"SELECT {order} % 4 AS k, {value} AS x FROM thousand a CROSS JOIN thousand b")
    return made


def _entry(data: bytes) -> int:
    value = int.from_bytes(murmur3(data)[:8], "little")
    zeros = 64 - ((value << 26 & (1 << 64) - 1) | 1 << 25).bit_length()
    return (value >> 38) << 6 | zeros


def test_hashes_of_many_are_those_of_each() -> None:
    lengths = random.Random(1)
    texts = [lengths.randbytes(length) for length in (*range(70), 239, 240, 241, 5_000)]
    column = pa.array([None, *texts, b""], pa.binary())[1:]  # its buffers begin before it
    assert hyperloglog.entries_of_bytes(column).to_pylist() == [_entry(text) for text in [*texts, b""]]
    numbers = [0, 1, -1, 1 << 62, -(1 << 63)]
    expected = [_entry(number.to_bytes(8, "little", signed=True)) for number in numbers]
    assert hyperloglog.entries_of_longs(pa.array([*numbers, None])).to_pylist() == [*expected, None]


def test_a_dense_sketch_has_trinos_bytes() -> None:
    sparse = base64.b64decode("AgwBAIADRAA=")
    assert base64.b64encode(hyperloglog.dense(sparse)).decode() == P4_OF_ONE
    assert hyperloglog.merged([sparse, base64.b64decode(P4_OF_ONE)]) == base64.b64decode(P4_OF_ONE)


@pytest.mark.parametrize("count", [0, 1, 400, 3_000, 5_000, 12_000, 100_000, MANY])
@pytest.mark.parametrize("bits", [6, 12])
def test_cardinalities_are_within_four_standard_errors(count: int, bits: int) -> None:
    entries = hyperloglog.entries_of_longs(pa.array(np.arange(count))).to_numpy()
    estimate = hyperloglog.cardinality(hyperloglog.sketch(entries, bits))
    assert abs(estimate - count) <= 4 * 1.04 / 2 ** (bits / 2) * count


@pytest.mark.parametrize("count", [0, 100, 600, 50_000])
def test_parts_merge_to_the_sketch_of_the_whole(count: int) -> None:
    entries = hyperloglog.entries_of_longs(pa.array(np.arange(count))).to_numpy()
    whole = hyperloglog.dense(hyperloglog.sketch(entries))
    parts = [hyperloglog.sketch(entries[start : start + count // 2 + 1]) for start in range(0, count + 1, count // 5 + 1)]
    assert hyperloglog.dense(hyperloglog.merged(parts)) == whole


def test_buckets_far_above_the_least_are_kept_apart() -> None:
    # Of 16 buckets, one has the greatest number of zeros, and the least is not none.
    entries = np.array([bucket << 28 | 1 << 27 for bucket in range(16)] + [3 << 28 | 38], np.uint32)
    buckets = hyperloglog.dense(hyperloglog.sketch(entries, 4))
    assert buckets[:3] == bytes([3, 4, 1])
    assert buckets[-5:] == bytes([1, 0, 3, 0, 61 - 1 - 15])
    assert hyperloglog.merged([buckets, buckets]) == buckets


@pytest.mark.parametrize("group", ["", "GROUP BY k"])
def test_a_million_rows_are_within_the_errors(engine: Engine, group: str) -> None:
    asked = "value_at_quantile({}, 0.01), value_at_quantile({}, 0.5), value_at_quantile({}, 0.999)"
    sql = ", ".join(asked.replace("{}", name) for name in ("tdigest_agg(x)", "qdigest_agg(x)"))
    for row in engine.rows(f"SELECT cardinality(approx_set(x)), {sql} FROM many {group}"):
        every, *estimates = [float(name or "nan") for name in row]
        count = 990_000 / (4 if group else 1)
        assert abs(every - count) < 0.065 * count
        for value, quantile, error in zip(
            estimates, [0.01, 0.5, 0.999] * 2, [0.001, 0.01, 0.001, 0.011, 0.011, 0.011], strict=True
        ):
            assert abs(value / MANY - quantile) < error


def test_stored_parts_answer_as_the_whole_does(engine: Engine) -> None:
    engine.create(
        "stored",
        "SELECT k, CAST(approx_set(y) AS varbinary) AS h, CAST(tdigest_agg(y) AS varbinary) AS d, "
        "CAST(qdigest_agg(y, 1, 0.02) AS varbinary) AS q FROM (SELECT k, CAST(x AS bigint) AS y FROM many) GROUP BY k",
    )
    ((same, middle, median),) = engine.rows(
        "SELECT cardinality(merge(CAST(h AS HyperLogLog))) = (SELECT cardinality(approx_set(x)) FROM many), "
        "value_at_quantile(merge(CAST(d AS tdigest)), 0.5), value_at_quantile(merge(CAST(q AS qdigest(bigint))), 0.5) "
        "FROM stored"
    )
    assert same == "true"
    assert abs(float(middle or "nan") / MANY - 0.5) < 0.01
    assert abs(float(median or "nan") / MANY - 0.5) < 0.021


def _subtrees(data: bytes) -> int:
    """Return how many trees Trino's reader finds in the bytes of a q-digest: each node takes its children from a stack."""
    stack: list[tuple[int, int]] = []
    for at in range(45, len(data), 17):
        level, value = (data[at] >> 2) + (data[at] & 3 > 0), int.from_bytes(data[at + 9 : at + 17], "little")
        for bit in (2, 1):
            if data[at] & bit:
                child, below = stack.pop()
                assert below < level
                assert child >> level == value >> level
                assert child >> (level - 1) & 1 == bit - 1
        stack.append((value, level))
    return len(stack)


@pytest.mark.parametrize("type_", ["bigint", "double", "real"])
def test_a_qdigest_is_one_tree_that_reads_back(type_: str) -> None:
    given = np.random.default_rng(7).normal(0, 1e6, 30_000)
    values = qdigest.of_values(given.astype(np.int64) if type_ == "bigint" else given, type_)
    parts = [qdigest.digest(item, np.ones(len(item), int), 0.01) for item in np.array_split(values, 3)]
    merged = qdigest.merged(qdigest.packed(part) for part in parts)
    assert merged is not None
    for part in (*parts, merged):
        data = qdigest.packed(part)
        again = qdigest.opened(data)
        assert _subtrees(data) == 1
        assert [again.values.tolist(), again.levels.tolist()] == [part.values.tolist(), part.levels.tolist()]
        assert len(part.counts) < 3 * 65 / 0.01
    assert merged.counts.sum() == 30_000
    ranks = np.sort(values)
    for quantile in (0.0, 0.25, 0.5, 0.99, 1.0):
        value = qdigest.value_at(merged, quantile)
        assert quantile - 1e-3 <= np.searchsorted(ranks, value or 0, "right") / 30_000 <= quantile + 0.011


def test_tdigests_are_small_and_exact_at_the_ends() -> None:
    values = np.random.default_rng(3).lognormal(size=200_000)
    digest = tdigest.opened(tdigest.packed(tdigest.digest(values, np.ones(200_000))))
    assert len(digest.means) < 200
    assert digest.total == 200_000
    assert tdigest.values_at(digest, [0.0, 1.0]) == [values.min(), values.max()]
    for quantile in (0.001, 0.1, 0.5, 0.9, 0.999):
        value = tdigest.value_at(digest, quantile)
        assert abs((values < value).mean() - quantile) < 0.01
        back = tdigest.quantile_at(digest, value)
        assert back is not None
        assert abs(back - quantile) < 1e-3


OPENED: Sequence[tuple[str, Callable[[bytes], object]]] = [
    ("AgwBAIADRAA=", hyperloglog.cardinality),
    (P4_OF_ONE, hyperloglog.cardinality),
    ("AAAAAAAAAPA/AAAAAAAA8D8AAAAAAABZQAAAAAAAAPA/AQAAAAAAAAAAAPA/AAAAAAAA8D8=", tdigest.opened),
    ("AHsUrkfheoQ/AAAAAAAAAAAAAAAAAAAAAAEAAAAAAAAAAQAAAAAAAAABAAAAAAAAAAAAAPA/AQAAAAAAAIA=", qdigest.opened),
]


@pytest.mark.parametrize(("text", "opened"), OPENED, ids=["sparse", "dense", "tdigest", "qdigest"])
def test_bytes_that_are_not_a_sketch_are_refused(text: str, opened: Callable[[bytes], object]) -> None:
    data = base64.b64decode(text)
    opened(data)
    for wrong in (b"", b"\x09" + data[1:], data[:-1], data + b"\0", data[:40]):
        if wrong != data:
            with pytest.raises(ValueError, match="Cannot deserialize"):
                opened(wrong)
    noise = random.Random(5)
    for _ in range(300):
        changed = bytearray(data)
        changed[noise.randrange(min(len(data), 60))] = noise.randrange(256)
        try:
            opened(bytes(changed))
        except ValueError as error:
            assert "Cannot deserialize" in str(error)  # noqa: PT017 - what is read of noise may be a sketch


def test_a_wrong_sketch_fails_the_statement(engine: Engine) -> None:
    with pytest.raises(StatementError, match="INVALID_FUNCTION_ARGUMENT: Cannot deserialize qdigest"):
        engine.value("merge(CAST(x AS qdigest(bigint))) FROM (VALUES X'00') t(x)")
