"""awswrangler's flows through Athena, in an environment of their own, whose packages do not resolve beside the tests'."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.integration.query.conftest import Lakehouse

ROOT = Path(__file__).parents[3]
CLIENTS = ROOT / ".tools" / "clients" / "bin"

DAYS = ["2024-01-01", "2024-01-01", "2024-01-02"]
ROWS = [list(row) for row in zip([1, 2, 3], ["a", "b", None], DAYS, strict=True)]
EXPECTED: dict[str, Any] = {
    "to_parquet": [["2024-01-01"], ["2024-01-02"]],
    "default_bucket": [[[3]], ["aws-athena-query-results-000000000000-us-east-1"]],
    "read_rows": ROWS,
    "read_chunks": [2, 1],
    "read_with_parameters": [[["b"]], [["a"]]],
    "read_from_cache": [[[3]], True],
    "statement_by_statement": ["SUCCEEDED", [[1]], {"one": "integer"}, 1, ["unknown"], True],
    "describe": [["id", "bigint", False], ["name", "string", False], ["day", "string", True]],
    "show_create_table": "CREATE EXTERNAL TABLE `wrangled.sales`",
    "prepared_statements": [["b"], ["by_id"], []],
    "named_query": "SELECT * FROM sales",
    "enforced_work_group": [[[3]], "ENABLED", "s3://lake/of-wranglers"],
    "repair_table": ["SUCCEEDED", [[4, "2024-01-03"]]],
    "to_iceberg": [[[2, "b", None], [3, "c", 1.5], [4, "d", 2.5]], []],
    "read_by_ctas": [ROWS, [], 4, 0],
    "read_by_unload": [row[:2] for row in ROWS],
    "create_ctas_table": ["copied", ROWS],
    "unload": [row[:2] for row in ROWS],
    "other_formats": [[[1, "a", DAYS[0]], [2, "b", DAYS[1]], [3, None, DAYS[2]]]] * 3,
}


@pytest.fixture(scope="module")
def answers(lakehouse: Lakehouse) -> dict[str, Any]:
    """Return what each flow returned."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    done = subprocess.run(
        [str(CLIENTS / "python"), str(Path(__file__).with_name("wrangler_flows.py"))],
        env=inherited | lakehouse.environment(),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_every_flow_is_checked(answers: dict[str, Any]) -> None:
    assert list(answers) == list(EXPECTED)


@pytest.mark.parametrize("flow", EXPECTED)
def test_a_flow_returns_what_it_does_at_aws(answers: dict[str, Any], flow: str) -> None:
    assert answers[flow] == EXPECTED[flow]
