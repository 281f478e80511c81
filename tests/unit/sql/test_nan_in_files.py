"""Comparisons of numbers in Parquet files whose statistics leave NaN out, as most do: the engine skips rows by them."""

import math
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlglot import exp

from penstock.sql.grammar import TrinoCalls
from penstock.sql.library import install
from penstock.sql.translate import to_engine
from penstock.sql.trino_types import Type

CONDITIONS: dict[str, Callable[[float], bool]] = {
    "d <= 5": lambda d: d <= 5,
    "d < 6": lambda d: d < 6,
    "6 > d": lambda d: d < 6,
    "d >= -1": lambda d: d >= -1,
    "d = 5": lambda d: d == 5,
    "d <> 5": lambda d: d != 5,
    "d = d": lambda d: d == d,  # noqa: PLR0124 NaN is not
    "d <= k + 5": lambda d: d <= 5,
    "abs(d) < 6": lambda d: d < 6,
    "d BETWEEN 0 AND 6": lambda d: 0 <= d <= 6,
    "0 BETWEEN -1 AND d": lambda d: d >= 0,
    "d IN (5, 1)": lambda d: d in {5, 1},
    "d IS DISTINCT FROM 5": lambda d: d != 5,
    "d <= 5 AND k = 0": lambda d: d <= 5,
    "d <= 5 OR d >= 7": lambda d: d <= 5,
    "coalesce(d <= 5, false)": lambda d: d <= 5,
    "CASE d WHEN 5 THEN true WHEN 1 THEN true ELSE false END": lambda d: d in {5, 1},
    "nullif(d, 5) IS NULL": lambda d: d == 5,
    "is_nan(d)": math.isnan,
}


@pytest.mark.parametrize("values", [(5.0, math.nan, 5.0), (1.0, math.nan, 5.0)])
@pytest.mark.parametrize("type_", ["double", "float"])
def test_conditions_and_their_negations_hold_for_nan_as_for_ieee_754(
    tmp_path: Path, values: tuple[float, ...], type_: str
) -> None:
    file = tmp_path / "rows.parquet"
    numbers = pa.array(values, pa.float64() if type_ == "double" else pa.float32())
    pq.write_table(pa.table({"d": numbers, "k": [0] * len(values)}), file)
    wrong = {}
    with duckdb.connect() as engine:
        engine.execute(f"CREATE VIEW t AS SELECT * FROM read_parquet('{file}')")
        for text, holds in CONDITIONS.items():
            for condition, expected in ((text, holds), (f"NOT ({text})", lambda d, holds=holds: not holds(d))):
                for query in (
                    f"SELECT count(*) FROM t WHERE {condition}",
                    f"SELECT count(*) FROM (SELECT {condition} AS b FROM t) WHERE b",
                    f"SELECT count_if({condition}) FROM t",
                ):
                    answer = _answered(engine, query, type_)
                    if answer != [(sum(map(expected, values)),)]:
                        wrong[query] = answer
    assert wrong == {}


def _answered(engine: duckdb.DuckDBPyConnection, sql: str, type_: str) -> list[tuple[int]]:
    (tree,) = TrinoCalls().parse(sql)
    assert isinstance(tree, exp.Query)
    to_engine(tree, lambda _: {"d": Type.of_hive(type_), "k": Type.of_hive("bigint")})
    text = tree.sql("duckdb", comments=False)
    install(engine, text)
    return engine.execute(text).fetchall()
