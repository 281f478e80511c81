"""Lists of databases and tables are read from the store page by page."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from penstock.catalog.model import DatabaseInput, TableInput
from penstock.catalog.service import CatalogService
from tests.unit.api.aws.athena.conftest import CountingStore

CATALOG = {"CatalogName": "AwsDataCatalog"}
TABLES = [f"t{number:03}" for number in range(200)]


@pytest.fixture(autouse=True)
def stored(catalog_store: CountingStore) -> None:
    catalog = CatalogService(catalog_store)
    for number in range(60):
        catalog.create_database(DatabaseInput(name=f"d{number:02}"))
    for name in TABLES:
        catalog.create_table("d00", TableInput(name=name))
    catalog_store.read = 0


def test_a_page_reads_no_more_than_it_returns(athena: Any, catalog_store: CountingStore) -> None:
    first = athena.list_table_metadata(**CATALOG, DatabaseName="d00", MaxResults=5)
    assert [table_metadata["Name"] for table_metadata in first["TableMetadataList"]] == TABLES[:5]
    assert catalog_store.read <= 11, "of 200"
    second = athena.list_table_metadata(**CATALOG, DatabaseName="d00", MaxResults=5, NextToken=first["NextToken"])
    assert [table_metadata["Name"] for table_metadata in second["TableMetadataList"]] == TABLES[5:10]
    catalog_store.read = 0
    athena.list_databases(**CATALOG, MaxResults=5)
    assert catalog_store.read <= 11, "of 60"


def test_pages_of_a_filter_are_complete(athena: Any) -> None:
    pages = athena.get_paginator("list_table_metadata").paginate(**CATALOG, DatabaseName="d00", Expression="t1.*")
    test_pages = [[table_metadata["Name"] for table_metadata in page["TableMetadataList"]] for page in pages]
    assert [len(item) for item in test_pages] == [50, 50]
    assert [name for item in test_pages for name in item] == TABLES[100:]
    assert len(athena.list_databases(**CATALOG)["DatabaseList"]) == 50


def test_a_token_of_another_list_is_refused(athena: Any) -> None:
    token = athena.list_databases(**CATALOG, MaxResults=1)["NextToken"]
    with pytest.raises(ClientError, match="not one that this listing gave") as refused:
        athena.list_table_metadata(**CATALOG, DatabaseName="d00", NextToken=token)
    assert refused.value.response["Error"]["Code"] == "InvalidRequestException"
