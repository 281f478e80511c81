"""Limits on the size of definitions, and pages that end early if definitions are large."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from penstock.catalog.errors import DefinitionTooLarge
from penstock.catalog.model import Column, DatabaseInput, PartitionInput, StorageDescriptor, TableInput
from penstock.catalog.service import CatalogService
from penstock.catalog.sizes import weigh
from penstock.catalog.table_search import TableSearch
from penstock.paging import Page
from penstock.store.sql.catalog.store import SqlCatalogStore
from penstock.testing.sqlite import new_database

MANY = StorageDescriptor(columns=[Column(name=f"c{number}", type="int") for number in range(10_000)])
LONG = {"note": "x" * 1_000_000}
LARGE = {"note": "x" * 900_000}  # four of them fit on one page
KEY = Column(name="day", type="string")


@pytest.fixture
def catalog() -> CatalogService:
    made = CatalogService(SqlCatalogStore(new_database()))
    made.create_database(DatabaseInput(name="air"))
    made.create_table("air", TableInput(name="flights", partition_keys=[KEY]))
    return made


def test_a_table_has_10_000_columns_and_no_more(catalog: CatalogService) -> None:
    catalog.create_table("air", TableInput(name="wide", storage=MANY))
    too_wide = TableInput(name="wider", storage=MANY, partition_keys=[KEY])
    with pytest.raises(DefinitionTooLarge, match=r"table air\.wider has 10,001 columns; the limit is 10,000"):
        catalog.create_table("air", too_wide)
    with pytest.raises(DefinitionTooLarge, match="10,001 columns"):
        catalog.update_table("air", replace(too_wide, name="wide"))
    assert catalog.table("air", "wide").version_id == "0"


def test_a_definition_is_bounded_in_bytes(catalog: CatalogService) -> None:
    with pytest.raises(DefinitionTooLarge, match=r"bytes of JSON; the limit is 1,000,000") as refused:
        catalog.create_table("air", TableInput(name="long", parameters=LONG))
    assert refused.value.aws_code == "ResourceNumberLimitExceededException"
    with pytest.raises(DefinitionTooLarge):
        catalog.update_table("air", TableInput(name="flights", partition_keys=[KEY], view_original_text=LONG["note"]))
    with pytest.raises(DefinitionTooLarge, match=r"database sea has .* the limit is 100,000"):
        catalog.create_database(DatabaseInput(name="sea", parameters={"note": "x" * 100_000}))
    with pytest.raises(DefinitionTooLarge):
        catalog.update_database("air", DatabaseInput(name="air", parameters={"note": "x" * 100_000}))


def test_only_the_partition_that_is_too_large_is_refused(catalog: CatalogService) -> None:
    small, long = PartitionInput(values=["1"]), PartitionInput(values=["2"], parameters=LONG)
    [(values, error)] = catalog.create_partitions("air", "flights", [small, long])
    assert (values, type(error)) == (("2",), DefinitionTooLarge)
    with pytest.raises(DefinitionTooLarge):
        catalog.update_partition("air", "flights", ["1"], replace(long, values=["1"]))
    assert [tuple(partition.values) for partition in catalog.partitions("air", "flights")] == [("1",)]


def pages(read: Callable[..., Page[Any]]) -> list[int]:
    """Return the number of rows of each page, after a check that none is larger than 4 MB."""
    counts, token = [], None
    while True:
        page = read(limit=50, token=token)
        assert sum(weigh(row) for row in page.items) <= 4_000_000
        counts.append(len(page.items))
        token = page.next_token
        if token is None:
            return counts


def test_pages_end_where_their_rows_grow_large(catalog: CatalogService) -> None:
    for number in range(12):
        catalog.create_table("air", TableInput(name=f"t{number:02}", parameters=LARGE))
        catalog.update_table("air", TableInput(name="flights", partition_keys=[KEY], parameters=LARGE))
        catalog.create_partition("air", "flights", PartitionInput(values=[f"{number:02}"], parameters=LARGE))
    assert pages(lambda **page: catalog.tables_page("air", expression="t.*", **page)) == [4, 4, 4]
    assert pages(lambda **page: catalog.tables_page("air", **page)) == [4, 4, 4, 1]
    assert pages(lambda **page: catalog.search_page(TableSearch(text="x"), **page)) == [4, 4, 4, 1]
    assert pages(lambda **page: catalog.search_page(TableSearch(descending=True), **page)) == [4, 4, 4, 1]
    assert pages(lambda **page: catalog.partitions_page("air", "flights", **page)) == [4, 4, 4]
    assert pages(lambda **page: catalog.partitions_page("air", "flights", expression="day > '01'", **page)) == [4, 4, 2]
    # The first version is small.
    assert pages(lambda **page: catalog.table_versions_page("air", "flights", **page)) == [4, 4, 5]
    # A query reads all of them without pages.
    assert len(catalog.tables("air")) == 13


def test_partitions_beyond_the_page_size_are_left_for_another_call(catalog: CatalogService) -> None:
    days = [[f"{number:02}"] for number in range(6)]
    for day in days:
        catalog.create_partition("air", "flights", PartitionInput(values=day, parameters=LARGE))
    found, left = catalog.partitions_by_values("air", "flights", [["none"], *days, ["neither"]])
    assert [list(partition.values) for partition in found] == days[:4]
    assert left == [("04",), ("05",), ("neither",)]
    found, left = catalog.partitions_by_values("air", "flights", left)
    assert ([list(partition.values) for partition in found], left) == (days[4:], [])
