"""TPC-H's 22 questions have DuckDB's answers, on data of its own generator at scale 0.01."""

from pathlib import Path

import duckdb
import pytest

from benchmarks.tpch.answers import same
from benchmarks.tpch.data import TABLES, columns, generate, views
from benchmarks.tpch.queries import queries
from penstock.query.service import QueryService
from tests.unit.query.lake_of_flights import Lake
from tests.unit.query.tpc.service import answered

_SCALE = 0.01
_QUERIES = queries(_SCALE)
_EMPTY = {"q17"}  # no part of this data is of its brand and container: the sum is NULL


@pytest.fixture(scope="module", autouse=True)
def filled(lake: Lake, tables: Path, oracle: duckdb.DuckDBPyConnection) -> None:
    generate(tables, _SCALE)
    for name in TABLES:
        lake.table(name, dict(columns(tables / name / f"{name}.parquet")))
    for view in views(tables):
        oracle.execute(view)


@pytest.mark.parametrize("name", _QUERIES)
def test_a_question_has_duckdbs_answer(name: str, service: QueryService, oracle: duckdb.DuckDBPyConnection) -> None:
    expected = oracle.execute(_QUERIES[name]).fetchall()
    assert name in _EMPTY or any(value is not None for row in expected for value in row)
    ours = answered(service, _QUERIES[name])
    assert same(ours, expected), (ours[:3], expected[:3])
