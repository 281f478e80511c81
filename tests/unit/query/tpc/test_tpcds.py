"""The questions of TPC-DS have DuckDB's answers, on small tables."""

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from benchmarks.tpch.answers import same
from penstock.query.service import QueryService
from tests.unit.query.lake_of_flights import Lake
from tests.unit.query.tpc.service import answered
from tests.unit.query.tpc.tpcds import NAMES, columns, made, question


@pytest.fixture(scope="module", autouse=True)
def filled(lake: Lake, tables: Path, oracle: duckdb.DuckDBPyConnection) -> None:
    for name, rows in made():
        (tables / name).mkdir()
        pq.write_table(rows, tables / name / "rows.parquet")
        lake.table(name, dict(columns()[name]))
        oracle.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{tables / name / 'rows.parquet'}')")


def _place(row: Sequence[object]) -> tuple[str, ...]:
    """Return what rows are sorted by; engines print fractions with more or fewer digits."""

    def rough(value: object) -> str:
        try:
            return f"{float(str(value)):.4g}"
        except ValueError:
            return str(value)

    return tuple(map(rough, row))


@pytest.mark.parametrize("name", NAMES)
def test_a_question_has_duckdbs_answer(name: str, service: QueryService, oracle: duckdb.DuckDBPyConnection) -> None:
    expected = sorted(oracle.execute(question(name, "duckdb")).fetchall(), key=_place)
    ours = sorted(answered(service, question(name, "trino")), key=_place)
    assert len(ours) == len(expected)
    assert [pair for pair in zip(ours, expected, strict=True) if not same(pair[:1], pair[1:])] == []


def test_most_questions_have_an_answer(oracle: duckdb.DuckDBPyConnection) -> None:
    answers = (oracle.execute(question(name, "duckdb")).fetchall() for name in NAMES)
    assert sum(any(value for row in rows for value in row) for rows in answers) >= 65
