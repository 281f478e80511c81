"""Athena's client over a lake with one table, without a socket."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import boto3
import pyarrow as pa
import pytest
from botocore.config import Config

from penstock.api.aws.athena import operations as athena_operations
from penstock.api.aws.protocol.dispatch import AwsApp
from penstock.api.aws.protocol.endpoints import EndpointTable
from penstock.catalog.model import Database, Table
from penstock.catalog.service import CatalogService
from penstock.lake.locations import LakeFolder
from penstock.query.execution.children import ChildPool
from penstock.query.service import QueryService
from penstock.query.settings import QuerySettings
from penstock.store.sql.catalog.store import SqlCatalogStore
from penstock.testing.sqlite import new_database
from tests.unit.api.aws.loopback import ACCOUNT, Loopback, Silent
from tests.unit.query.lake_of_flights import Lake, service_over

Run = Callable[..., Any]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    (tmp_path / "buckets/lake").mkdir(parents=True)
    made = Lake(LakeFolder(tmp_path / "buckets"))
    made.table("numbers", {"n": "bigint"})
    made.write("numbers/a.parquet", pa.table({"n": list(range(5_000))}))
    return made


@pytest.fixture
def service(lake: Lake, children: ChildPool) -> Iterator[QueryService]:
    settings = QuerySettings(output_location="s3://lake/athena-results/", account=ACCOUNT, poll_seconds=0.02, threads=1)
    made = service_over(lake, settings, children)
    yield made
    made.close()


@pytest.fixture(scope="module")
def client() -> Any:
    return boto3.client(
        "athena",
        region_name="us-east-1",
        endpoint_url="http://localhost",
        aws_access_key_id="a",
        aws_secret_access_key="b",
        config=Config(retries={"max_attempts": 1}),
    )


class CountingStore(SqlCatalogStore):
    """A catalog that counts the tables and databases that it returned in lists."""

    read = 0

    def list_databases(self, *, after: str | None = None, limit: int) -> Sequence[Database]:
        databases = super().list_databases(after=after, limit=limit)
        self.read += len(databases)
        return databases

    def list_tables(self, database: str, *, after: str | None = None, limit: int) -> Sequence[Table]:
        tables = super().list_tables(database, after=after, limit=limit)
        self.read += len(tables)
        return tables


@pytest.fixture
def catalog_store() -> CountingStore:
    """The catalog of Athena's operations on metadata; statements read that of the lake."""
    return CountingStore(new_database())


@pytest.fixture
def athena(client: Any, service: QueryService, catalog_store: CountingStore) -> Iterator[Any]:
    endpoints = EndpointTable([athena_operations.operations(service, CatalogService(catalog_store))])
    app = AwsApp(endpoints, authenticator=None, account=ACCOUNT, region="us-east-1", observer=Silent())
    loopback = Loopback(app)
    client.meta.events.register("before-send.athena", loopback)
    yield client
    client.meta.events.unregister("before-send.athena", loopback)
    app.close()


@pytest.fixture
def run(athena: Any) -> Run:
    """Return a function that runs a statement and returns its QueryExecution at the end."""

    def run(sql: str, **request: Any) -> Any:
        query_id = athena.start_query_execution(QueryString=sql, **request)["QueryExecutionId"]
        deadline = time.monotonic() + 60
        while True:
            result = athena.get_query_execution(QueryExecutionId=query_id)["QueryExecution"]
            if result["Status"]["State"] not in {"QUEUED", "RUNNING"}:
                return result
            assert time.monotonic() < deadline
            time.sleep(0.01)

    return run
