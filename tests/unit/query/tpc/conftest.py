"""One service over one lake for all questions of a benchmark, and DuckDB over the same files as the oracle."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from penstock.lake.locations import LakeFolder
from penstock.query.execution.children import ChildPool
from penstock.query.service import QueryService
from penstock.query.settings import QuerySettings
from tests.unit.query.lake_of_flights import Lake, service_over


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    root = tmp_path_factory.mktemp("tpc") / "lake"
    (root / "lake").mkdir(parents=True)
    return Lake(LakeFolder(root))


@pytest.fixture(scope="module")
def tables(lake: Lake) -> Path:
    """Return the folder in which each table has one."""
    return lake.folder.root / "lake"


@pytest.fixture(scope="module")
def service(lake: Lake, children: ChildPool) -> Iterator[QueryService]:
    made = service_over(
        lake, QuerySettings(output_location="s3://lake/athena-results/", poll_seconds=0.02, threads=1), children
    )
    yield made
    made.close()


@pytest.fixture(scope="module")
def oracle() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as connection:
        yield connection
