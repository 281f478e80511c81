"""Glue's client over an empty catalog, without a socket."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config

from penstock.api.aws.catalog import classifiers, crawlers
from penstock.api.aws.catalog import operations as catalog
from penstock.api.aws.protocol.dispatch import AwsApp
from penstock.api.aws.protocol.endpoints import EndpointTable
from penstock.catalog.service import CatalogService
from penstock.crawl.classifiers.service import ClassifierService
from penstock.crawl.service import CrawlService
from penstock.lake.iceberg.files import MetadataFiles
from penstock.lake.locations import LakeFolder
from penstock.store.sql.catalog.crawl import SqlCrawlStore
from penstock.store.sql.catalog.store import SqlCatalogStore
from penstock.store.sql.resources import SqlResourceStore
from penstock.testing.sqlite import new_database
from tests.unit.api.aws.loopback import ACCOUNT, Loopback, Silent
from tests.unit.crawl.crawl_world import Unchecked


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    (tmp_path / "buckets/lake").mkdir(parents=True)
    return tmp_path / "buckets"


@pytest.fixture(scope="module")
def client() -> Any:
    return boto3.client(
        "glue",
        region_name="us-east-1",
        endpoint_url="http://localhost",
        aws_access_key_id="a",
        aws_secret_access_key="b",
        config=Config(retries={"max_attempts": 1}),
    )


@pytest.fixture
def glue(client: Any, tmp_path: Path, lake: Path) -> Iterator[Any]:
    sql = new_database()
    tables = CatalogService(SqlCatalogStore(sql))
    kinds = ClassifierService(SqlResourceStore(sql))
    crawls = CrawlService(SqlCrawlStore(sql), tables, LakeFolder(lake), classifiers=kinds, access=Unchecked)
    endpoints = EndpointTable(
        [
            catalog.operations(tables, MetadataFiles(LakeFolder(lake))),
            crawlers.operations(crawls),
            classifiers.operations(kinds),
        ]
    )
    app = AwsApp(endpoints, authenticator=None, account=ACCOUNT, region="us-east-1", observer=Silent())
    loopback = Loopback(app)
    client.meta.events.register("before-send.glue", loopback)
    yield client
    client.meta.events.unregister("before-send.glue", loopback)
    crawls.close()
    app.close()
    sql.close()


@pytest.fixture
def flights(glue: Any) -> Any:
    glue.create_database(DatabaseInput={"Name": "air"})
    keys = [{"Name": "year", "Type": "int"}, {"Name": "origin", "Type": "string"}]
    glue.create_table(DatabaseName="air", TableInput={"Name": "flights", "PartitionKeys": keys, "StorageDescriptor": {}})
    return glue
