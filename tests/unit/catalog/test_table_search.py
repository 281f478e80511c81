"""SearchTables over a small catalog: text, filters, order, pages."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from penstock.catalog.model import Column, DatabaseInput, SchemaReference, StorageDescriptor, TableInput
from penstock.catalog.service import CatalogService
from penstock.catalog.table_search import Predicate, TableSearch
from penstock.errors import InvalidInput
from penstock.store.sql.catalog.store import SqlCatalogStore
from penstock.testing.sqlite import new_database

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def catalog() -> CatalogService:
    times = (START + timedelta(days=day) for day in range(100))

    def schema_columns(_: SchemaReference) -> Sequence[Column]:
        return [Column(name="tailnum", type="string")]

    made = CatalogService(SqlCatalogStore(new_database()), now=lambda: next(times), columns_of=schema_columns)
    for database in ("air", "sea"):
        made.create_database(DatabaseInput(name=database))  # days 0 and 1
    made.create_table("air", TableInput(name="customer-link", description="Who flies"))  # day 2
    made.create_table("air", TableInput(name="xxlinkyy", owner="ops", parameters={"classification": "parquet"}))
    made.create_table("sea", TableInput(name="ports", partition_keys=[Column(name="day", type="date", comment="UTC day")]))
    reference = SchemaReference(registry_name="r", schema_name="s", schema_version_number=1)
    made.create_table("sea", TableInput(name="live", storage=StorageDescriptor(schema_reference=reference)))  # day 5
    return made


def found(catalog: CatalogService, **search: object) -> list[str]:
    return [item.name for item in catalog.search_page(TableSearch(**search), limit=9).items]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (None, ["customer-link", "xxlinkyy", "live", "ports"]),
        ("LINK", ["customer-link", "xxlinkyy"]),
        ('"xxlinkyy"', ["xxlinkyy"]),
        ('"link"', []),
        ("who fl", ["customer-link"]),
        ("parquet", ["xxlinkyy"]),
        ("utc", ["ports"]),
        ("tailnum", ["live"]),
        ("sea", ["live", "ports"]),
        ('"', []),
    ],
)
def test_text_is_found_anywhere_in_the_metadata(catalog: CatalogService, text: str | None, names: list[str]) -> None:
    assert found(catalog, text=text) == names


@pytest.mark.parametrize(
    ("key", "value", "comparator", "names"),
    [
        ("Name", "link", "EQUALS", ["customer-link"]),  # the example of the API reference
        ("DatabaseName", "SEA", "EQUALS", ["live", "ports"]),
        ("classification", "parquet", "EQUALS", ["xxlinkyy"]),
        ("Owner", "ops", "EQUALS", ["xxlinkyy"]),
        ("CreateTime", "2026-01-03T00:00:00Z", "LESS_THAN_EQUALS", ["customer-link"]),
        ("UpdateTime", "2026-01-05", "GREATER_THAN", ["live"]),
        ("CreateTime", str(int((START + timedelta(days=4)).timestamp())), "EQUALS", ["ports"]),
        ("LastAccessTime", "2026-01-05", "GREATER_THAN", []),
    ],
)
def test_filters(catalog: CatalogService, key: str, value: str, comparator: str, names: list[str]) -> None:
    assert found(catalog, predicates=[Predicate(key=key, value=value, comparator=comparator)]) == names


def test_all_filters_must_match(catalog: CatalogService) -> None:
    both = [Predicate(key="DatabaseName", value="air"), Predicate(key="Owner", value="ops")]
    assert found(catalog, predicates=both, text="link") == ["xxlinkyy"]


def test_order_and_pages_across_writes(catalog: CatalogService) -> None:
    assert found(catalog, sort_by="Name", descending=True) == ["xxlinkyy", "ports", "live", "customer-link"]
    assert found(catalog, sort_by="CreateTime") == ["customer-link", "xxlinkyy", "ports", "live"]
    search = TableSearch(sort_by="Name", descending=True)
    first = catalog.search_page(search, limit=2)
    assert [item.name for item in first.items] == ["xxlinkyy", "ports"]
    catalog.delete_table("sea", "ports")
    catalog.create_table("sea", TableInput(name="zebra"))
    rest = catalog.search_page(search, limit=2, token=first.next_token)
    assert [item.name for item in rest.items] == ["live", "customer-link"]
    assert rest.next_token is None
    with pytest.raises(InvalidInput, match="NextToken"):
        catalog.search_page(TableSearch(text="x"), limit=2, token=first.next_token)


@pytest.mark.parametrize(
    ("search", "said"),
    [
        (TableSearch(predicates=[Predicate(key="CreateTime", value="noon")]), "'noon' is not a time"),
        (TableSearch(sort_by="Colour"), "cannot be sorted by 'Colour'"),
    ],
)
def test_invalid_searches_are_refused(catalog: CatalogService, search: TableSearch, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        catalog.search_page(search, limit=2)
