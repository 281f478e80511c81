"""``penstock sql`` as a user types it."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from penstock.testing.server import RunningServer

ENDLESS = (
    "SELECT count(*) FROM UNNEST(sequence(1, 10000)) AS a(x) CROSS JOIN UNNEST(sequence(1, 10000)) AS c(z) "
    "CROSS JOIN UNNEST(sequence(1, 10000)) AS b(y) WHERE x * y * z = -2"
)
VALUES = "SELECT * FROM (VALUES (1, 'a|b', true), (2, NULL, false)) AS t(n, s, b) ORDER BY n"


def penstock(server: RunningServer, *arguments: str, given: str | None = None) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "penstock", "sql", *arguments],
        env=os.environ | server.environment(),
        input=given,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.mark.parametrize(
    ("style", "expected"),
    [
        ("csv", "n,s,b\n1,a|b,true\n2,,false\n"),
        ("markdown", "| n | s | b |\n|---:|---|---|\n| 1 | a\\|b | true |\n| 2 |  | false |\n"),
    ],
)
def test_formats(penstock_server: RunningServer, style: str, expected: str) -> None:
    done = penstock(penstock_server, VALUES, "--format", style)
    assert (done.returncode, done.stdout) == (0, expected), done.stderr


def test_json_lines_have_types(penstock_server: RunningServer) -> None:
    done = penstock(penstock_server, "--file", "-", "--format", "json", given=VALUES)
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"n": 1, "s": "a|b", "b": True},
        {"n": 2, "s": None, "b": False},
    ]


def test_the_table_counts_its_rows(penstock_server: RunningServer) -> None:
    done = penstock(penstock_server, VALUES)
    assert done.returncode == 0
    assert "NULL" in done.stdout
    assert done.stderr == "2 rows\n"


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["SELECT 1 FROM no_db.t"], 1, "SCHEMA_NOT_FOUND: line 1:15"),
        (["GRANT SELECT ON x TO y"], 1, "GRANT SELECT statements are not supported"),
        (["SELECT 1", "--workgroup", "other"], 1, "WorkGroup other is not found"),
        ([], 2, "Exactly one statement is needed"),
        (["SELECT 1", "--endpoint-url", "http://127.0.0.1:9"], 3, "Athena cannot be reached"),
        (["SELECT 1", "--endpoint-url", "nonsense"], 3, "The athena client cannot be made for nonsense: Invalid endpoint"),
        (["SELECT 1", "--region", "x y"], 3, "region_name 'x y' doesn't match a supported format"),
        ([ENDLESS, "--timeout", "1"], 1, "took longer than 1 seconds and was stopped"),
    ],
)
def test_errors_are_one_message_without_a_traceback(
    penstock_server: RunningServer, arguments: list[str], status: int, words: str
) -> None:
    done = penstock(penstock_server, *arguments)
    assert (done.returncode, done.stdout) == (status, "")
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_ctrl_c_stops_the_statement(penstock_server: RunningServer) -> None:
    athena = penstock_server.client("athena")
    before = set(athena.list_query_executions()["QueryExecutionIds"])
    running = subprocess.Popen(
        [sys.executable, "-m", "penstock", "sql", ENDLESS],
        env=os.environ | penstock_server.environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 60
        while not (started := set(athena.list_query_executions()["QueryExecutionIds"]) - before):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        (query_id,) = started
        while athena.get_query_execution(QueryExecutionId=query_id)["QueryExecution"]["Status"]["State"] != "RUNNING":
            assert time.monotonic() < deadline
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=120)
    finally:
        running.kill()
        running.wait()
    assert running.returncode == 130
    assert "interrupted" in errors
    while (state := athena.get_query_execution(QueryExecutionId=query_id)["QueryExecution"]["Status"]["State"]) == "RUNNING":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert state == "CANCELLED"
