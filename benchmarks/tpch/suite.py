"""Runs TPC-H's questions on both sides."""

import tempfile
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.sizes import size
from benchmarks.sql import asked, created
from benchmarks.timing import Row, in_turn
from benchmarks.tpch.answers import same
from benchmarks.tpch.data import TABLES, columns, generate, views
from benchmarks.tpch.queries import queries
from penstock.testing.server import running_server

__all__ = ["run"]

SCALE = size("SCALE", 1.0, 0.001)

_THREADS = 2
_ROUNDS = size(None, 3, 1)
_AIM = 1.2


def run() -> list[Row]:
    """Return a row for each question and one for their sum. Raises :class:`RuntimeError` if two answers differ."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as name, running_server(Path(name) / "home") as server:
        files = server.lake / "lake" / "tpch"
        generate(files, SCALE)
        glue = server.client("glue")
        glue.create_database(DatabaseInput={"Name": "bench"})
        for table in TABLES:
            created(glue, table, columns(files / table / f"{table}.parquet"), f"s3://lake/tpch/{table}/")
        engine = duckdb.connect(config={"threads": _THREADS, "memory_limit": "1GB"})
        for view in views(files):
            engine.execute(view)
        athena = server.client("athena")
        rows, ours, other = [], 0.0, 0.0
        for question, sql in queries(SCALE).items():
            seconds = _compared(question, sql, athena, engine)
            ours, other = ours + seconds["ours"], other + seconds["other"]
            rows.append(_row(f"TPC-H {question}", seconds["ours"], seconds["other"]))
        return [*rows, _row(f"TPC-H at scale {SCALE:g}: 22 questions", ours, other)]


def _row(what: str, ours: float, other: float) -> Row:
    return Row(what, f"{ours:.3f} s", f"DuckDB {other:.3f} s", ours / other, str(_AIM), ours <= _AIM * other)


def _compared(question: str, sql: str, athena: Any, engine: duckdb.DuckDBPyConnection) -> dict[str, float]:
    answers: dict[str, Any] = {}

    def ask() -> None:
        answers["ours"] = asked(athena, sql)["QueryExecutionId"]

    def compute() -> None:
        answers["other"] = engine.execute(sql).fetchall()

    seconds = in_turn({"ours": ask, "other": compute}, _ROUNDS).seconds
    pages = athena.get_paginator("get_query_results").paginate(QueryExecutionId=answers["ours"])
    results = [[cell.get("VarCharValue") for cell in row["Data"]] for page in pages for row in page["ResultSet"]["Rows"]]
    if not same(results[1:], answers["other"]):
        raise RuntimeError(f"The answers to {question} differ: {results[1:4]} and {answers['other'][:3]}")
    return seconds
