"""``dbt build`` of a small project: a seed, tables, incremental models, a view and tests, twice, as a scheduler runs it."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyathena import connect

from tests.integration.query.conftest import Lakehouse
from tests.integration.query.test_awswrangler import CLIENTS

PROJECT = Path(__file__).with_name("dbt_project")
SCHEMA = "dbt_air"


@dataclass(frozen=True)
class Built:
    """What ``dbt build`` said of each node, by its name."""

    results: Mapping[str, str]
    said: str


@pytest.fixture(scope="module")
def builds(lakehouse: Lakehouse, tmp_path_factory: pytest.TempPathFactory) -> list[Built]:
    """Return what two builds said; the second one finds the tables of the first."""
    project = tmp_path_factory.mktemp("dbt") / "project"
    shutil.copytree(PROJECT, project)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "DBT_"))}
    environment |= {**lakehouse.environment(), "DBT_SCHEMA": SCHEMA, "DO_NOT_TRACK": "1"}
    made = []
    for _ in range(2):
        done = subprocess.run(
            [str(CLIENTS / "dbt"), "--no-use-colors", "--no-version-check", "build", "--profiles-dir", str(project)],
            cwd=project,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        ran = json.loads((project / "target" / "run_results.json").read_text())["results"]
        made.append(Built({item["unique_id"].split(".")[2]: item["status"] for item in ran}, done.stdout + done.stderr))
    return made


@pytest.fixture
def rows(lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that returns a table's rows, in order."""
    for name, value in lakehouse.environment().items():
        monkeypatch.setenv(name, value)

    def read(table: str) -> list[tuple[Any, ...]]:
        cursor: Any = connect(s3_staging_dir="s3://lake/staging/", schema_name=SCHEMA, poll_interval=0.02).cursor()
        return sorted(cursor.execute(f"SELECT * FROM {table}").fetchall())

    return read


@pytest.mark.parametrize("run", [0, 1])
def test_every_node_is_built_and_every_test_passes(builds: list[Built], run: int) -> None:
    built = builds[run]
    assert set(built.results.values()) == {"success", "pass"}, built.said
    assert sum(status == "pass" for status in built.results.values()) >= 7


def test_the_seed_has_its_types_and_values(builds: list[Built], rows: Any) -> None:
    assert rows("airlines") == [
        ("AA", "American Airlines", 1930),
        ("DL", "Delta Air Lines, Inc.", 1925),
        ("UA", "United Air Lines", 1926),
    ]


def test_incremental_models_append_and_merge(builds: list[Built], rows: Any) -> None:
    assert rows("appended") == [(1, "UA"), (2, "AA"), (3, "DL"), (4, "UA"), (4, "UA")]
    # The second build replaced the rows of two carriers, and left the third alone.
    assert rows("latest") == [("AA", 2), ("DL", 103), ("UA", 104)]


def test_an_incremental_model_overwrites_its_partitions(builds: list[Built], rows: Any) -> None:
    delays = [("AA", -3.0, 1, 1), ("DL", 0.5, 1, 2), ("UA", 5.0, 1, 1), ("UA", 12.0, 1, 2)]
    assert [(carrier, float(delay), *rest) for carrier, delay, *rest in rows("delays")] == delays
    assert rows("copies") == [(3, "DL"), (4, "UA"), (4, "UA")]


def test_the_view_joins_the_table_with_the_seed(builds: list[Built], rows: Any) -> None:
    assert rows("by_airline") == [("American Airlines", 1), ("Delta Air Lines, Inc.", 1), ("United Air Lines", 2)]


def test_nothing_temporary_is_left(builds: list[Built], lakehouse: Lakehouse) -> None:
    tables = lakehouse.client("glue").get_tables(DatabaseName=SCHEMA)["TableList"]
    assert [table["Name"] for table in tables if "__" in table["Name"]] == []
