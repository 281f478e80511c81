"""Glue's rules on databases, tables and partitions, over the store in memory."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from penstock.catalog.errors import (
    DatabaseNotFound,
    PartitionExists,
    PartitionNotFound,
    SchemaMissing,
    StaleTable,
    TableNotFound,
    VersionNotFound,
)
from penstock.catalog.model import Column, DatabaseInput, PartitionInput, SchemaReference, StorageDescriptor, TableInput
from penstock.catalog.partitions.filters import Segment
from penstock.catalog.service import CatalogService
from penstock.catalog.store import CatalogLimits
from penstock.errors import AlreadyExists, InvalidInput, LimitExceeded, NotFound, PenstockError
from penstock.store.sql.catalog.store import SqlCatalogStore
from penstock.testing.sqlite import new_database

KEYS = (Column(name="year", type="int"), Column(name="origin", type="string"))
SCHEMA = SchemaReference(registry_name="r", schema_name="flights", schema_version_number=1)


@pytest.fixture
def catalog() -> CatalogService:
    made = CatalogService(SqlCatalogStore(new_database()))
    made.create_database(DatabaseInput(name="Air"))
    made.create_table("AIR", TableInput(name="Flights", partition_keys=KEYS))
    return made


def fill(catalog: CatalogService, years: Sequence[int] = (2012, 2013), origins: Sequence[str] = ("EWR", "JFK")) -> None:
    expected = [PartitionInput(values=(str(year), origin)) for year in years for origin in origins]
    assert catalog.create_partitions("air", "flights", expected) == []


def test_names_are_folded_to_lower_case(catalog: CatalogService) -> None:
    assert catalog.database("aIr").name == "air"
    table = catalog.table("AIR", "FLIGHTS")
    assert (table.database, table.name, table.version_id) == ("air", "flights", "0")
    with pytest.raises(AlreadyExists):
        catalog.create_database(DatabaseInput(name="AIR"))
    catalog.delete_table("Air", "Flights")
    catalog.delete_database("AIR")
    assert catalog.databases() == []


def test_errors_name_what_is_missing(catalog: CatalogService) -> None:
    with pytest.raises(DatabaseNotFound, match="Database sea not found"):
        catalog.table("sea", "x")
    with pytest.raises(TableNotFound, match="Table x not found in database air"):
        catalog.table("air", "x")
    with pytest.raises(TableNotFound):
        catalog.partitions("air", "x")
    with pytest.raises(DatabaseNotFound):
        catalog.create_table("sea", TableInput(name="x"))
    with pytest.raises(DatabaseNotFound):
        catalog.tables("sea")
    with pytest.raises(PartitionNotFound, match="Cannot find partition"):
        catalog.partition("air", "flights", ["1", "x"])
    with pytest.raises(VersionNotFound):
        catalog.table_version("air", "flights", "7")


def test_databases_and_tables_cannot_be_renamed(catalog: CatalogService) -> None:
    with pytest.raises(InvalidInput, match=r"^Database cannot be renamed\."):
        catalog.update_database("air", DatabaseInput(name="sea"))
    catalog.update_database("AIR", DatabaseInput(name="Air", description="new"))
    assert catalog.database("air").description == "new"


def test_limits_apply() -> None:
    catalog = CatalogService(
        SqlCatalogStore(new_database()), limits=CatalogLimits(databases=1, tables_per_database=1, versions_per_table=1)
    )
    catalog.create_database(DatabaseInput(name="a"))
    catalog.create_table("a", TableInput(name="t"))
    catalog.update_table("a", TableInput(name="t"))
    for too_much in (
        lambda: catalog.create_database(DatabaseInput(name="b")),
        lambda: catalog.create_table("a", TableInput(name="u")),
        lambda: catalog.update_table("a", TableInput(name="t")),
    ):
        with pytest.raises(LimitExceeded):
            too_much()


def test_versions_are_listed_newest_first_and_paged(catalog: CatalogService) -> None:
    for number in range(5):
        catalog.update_table("air", TableInput(name="flights", owner=f"o{number}"), version=str(number))
    first = catalog.table_versions_page("air", "flights", limit=4)
    assert [item.version_id for item in first.items] == ["5", "4", "3", "2"]
    catalog.update_table("air", TableInput(name="flights"))
    rest = catalog.table_versions_page("air", "flights", limit=4, token=first.next_token)
    assert [item.version_id for item in rest.items] == ["1", "0"]
    assert rest.next_token is None
    assert catalog.table_version("air", "flights", "3").owner == "o2"
    assert catalog.table_version("air", "flights").version_id == "6"


def test_the_current_version_cannot_be_deleted(catalog: CatalogService) -> None:
    catalog.update_table("air", TableInput(name="flights"))
    failed = catalog.delete_table_versions("air", "flights", ["0", "1", "9"])
    assert [(version, type(error)) for version, error in failed] == [("1", InvalidInput), ("9", VersionNotFound)]


def test_of_concurrent_writers_one_wins(catalog: CatalogService) -> None:
    outcomes: list[str] = []
    barrier = threading.Barrier(8)

    def write(owner: str) -> None:
        barrier.wait()
        try:
            catalog.update_table("air", TableInput(name="flights", owner=owner), version="0", skip_archive=True)
            outcomes.append(owner)
        except StaleTable:
            outcomes.append("stale")

    threads = [threading.Thread(target=write, args=(str(number),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count("stale") == 7
    table = catalog.table("air", "flights")
    assert table.version_id == "1"
    assert table.owner in outcomes
    assert len(catalog.table_versions_page("air", "flights", limit=9).items) == 1


def test_tables_are_found_by_expression_and_paged_across_writes(catalog: CatalogService) -> None:
    for name in ("a1", "a2", "a3", "b1"):
        catalog.create_table("air", TableInput(name=name))
    first = catalog.tables_page("air", limit=2, expression="A.*")
    assert [item.name for item in first.items] == ["a1", "a2"]
    catalog.delete_table("air", "a1")
    catalog.create_table("air", TableInput(name="a0"))
    rest = catalog.tables_page("air", limit=2, expression="A.*", token=first.next_token)
    assert [item.name for item in rest.items] == ["a3"]
    assert rest.next_token is None
    assert [item.name for item in catalog.tables_page("air", limit=9, expression="a0|.*1").items] == ["a0", "b1"]
    assert catalog.tables_page("air", limit=9, expression="1").items == []
    for wrong in ("a(", "a)|(?:b"):
        with pytest.raises(InvalidInput, match="not a regular expression") as refused:
            catalog.tables_page("air", limit=9, expression=wrong)
        assert "(?s)" not in refused.value.message
    assert catalog.tables_page("air", limit=9, expression="(a*)*c").items == []


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("*", ["a.b", "flights", "flow", "x_flow"]),
        ("fl*", ["flights", "flow"]),
        ("*fl*", ["flights", "flow", "x_flow"]),
        ("*ow", ["flow", "x_flow"]),
        ("fli*|x*", ["flights", "x_flow"]),
        ("fl.*", ["flights", "flow"]),
        ("f[a-z]*", ["flights", "flow"]),
        ("(fl|x_fl)ow", ["flow", "x_flow"]),
        (r"a\.b", ["a.b"]),
        (r"a\.*", ["a.b"]),
        ("[*.a]*b", ["a.b"]),
        ("(x_)*flow", ["flow", "x_flow"]),
    ],
)
def test_a_star_in_an_expression_matches_any_text_as_in_hive(
    catalog: CatalogService, expression: str, names: Sequence[str]
) -> None:
    for name in ("flow", "x_flow", "a.b"):
        catalog.create_table("air", TableInput(name=name))
    assert [item.name for item in catalog.tables_page("air", limit=9, expression=expression).items] == names


@pytest.mark.parametrize("token", ["x", "W10=", "é", "bnVsbA==", "A" * 20_000])
def test_tokens_of_others_are_refused(catalog: CatalogService, token: str) -> None:
    with pytest.raises(InvalidInput, match="NextToken"):
        catalog.tables_page("air", limit=1, token=token)


def test_a_token_is_good_for_its_own_listing_only(catalog: CatalogService) -> None:
    fill(catalog)
    token = catalog.partitions_page("air", "flights", limit=1, expression="year > 0").next_token
    with pytest.raises(InvalidInput, match="NextToken"):
        catalog.partitions_page("air", "flights", limit=1, token=token)


def test_columns_come_from_the_schema_on_every_read() -> None:
    columns = [Column(name="id", type="bigint"), Column(name="year", type="int")]
    catalog = CatalogService(SqlCatalogStore(new_database()), columns_of=lambda _reference: tuple(columns))
    catalog.create_database(DatabaseInput(name="air"))
    storage = StorageDescriptor(schema_reference=SCHEMA, columns=(Column(name="stale"),))
    made = catalog.create_table("air", TableInput(name="t", storage=storage, partition_keys=KEYS))
    assert [column.name for column in made.storage.columns] == ["id"]
    columns.append(Column(name="gate", type="string"))
    assert [column.name for column in catalog.table("air", "t").storage.columns] == ["id", "gate"]
    assert [column.name for column in catalog.tables("air")[0].storage.columns] == ["id", "gate"]
    assert catalog.table("air", "t").storage.schema_reference == SCHEMA


def test_a_dangling_schema_reference_is_an_error_that_names_it() -> None:
    there = True

    def columns_of(_reference: SchemaReference) -> Sequence[Column]:
        if there:
            return [Column(name="id")]
        raise NotFound("Schema is not found.")

    catalog = CatalogService(SqlCatalogStore(new_database()), columns_of=columns_of)
    catalog.create_database(DatabaseInput(name="air"))
    expected = TableInput(name="t", storage=StorageDescriptor(schema_reference=SCHEMA))
    catalog.create_table("air", expected)
    there = False
    reads: list[Callable[[], object]] = [
        lambda: catalog.table("air", "t"),
        lambda: catalog.create_table("air", replace(expected, name="u")),
        lambda: catalog.update_table("air", expected),
    ]
    for read in reads:
        with pytest.raises(SchemaMissing, match=r"schema r/flights version 1, which cannot be read: Schema is not found"):
            read()
    assert [(table.name, table.storage.columns) for table in catalog.tables("air")] == [("t", ())]
    catalog.update_table("air", TableInput(name="t"))
    assert catalog.table("air", "t").storage.columns == ()


def test_a_batch_of_partitions_reports_each_that_failed(catalog: CatalogService) -> None:
    fill(catalog, [2012], ["JFK"])
    expected = [("2012", "JFK"), ("2013",), ("2013", "JFK"), ("2013", "JFK"), ("2014", "")]
    failed = catalog.create_partitions("air", "flights", [PartitionInput(values=entry) for entry in expected])
    assert sorted((values, type(error)) for values, error in failed) == sorted(
        [
            (("2013",), InvalidInput),
            (("2013", "JFK"), PartitionExists),
            (("2014", ""), InvalidInput),
            (("2012", "JFK"), PartitionExists),
        ],
        key=lambda pair: pair[0],
    )
    assert [partition.values for partition in catalog.partitions("air", "flights")] == [("2012", "JFK"), ("2013", "JFK")]
    with pytest.raises(PartitionExists):
        catalog.create_partition("air", "flights", PartitionInput(values=("2012", "JFK")))
    with pytest.raises(InvalidInput, match="number of partition keys do not match"):
        catalog.create_partition("air", "flights", PartitionInput(values=("2012",)))


def test_partitions_of_an_unpartitioned_table_are_refused(catalog: CatalogService) -> None:
    catalog.create_table("air", TableInput(name="plain"))
    with pytest.raises(InvalidInput, match="not partitioned"):
        catalog.create_partition("air", "plain", PartitionInput())
    assert catalog.partitions("air", "plain") == []


def test_partitions_are_updated_but_keep_their_values(catalog: CatalogService) -> None:
    fill(catalog, [2012], ["JFK"])
    changed = PartitionInput(storage=StorageDescriptor(location="s3://lake/x/"))
    catalog.update_partition("air", "flights", ["2012", "JFK"], changed)
    assert catalog.partition("air", "flights", ["2012", "JFK"]).storage.location == "s3://lake/x/"
    moved = replace(changed, values=("2013", "JFK"))
    failed = catalog.update_partitions("air", "flights", [(("2012", "JFK"), moved), (("1", "x"), changed)])
    assert [type(error) for _, error in failed] == [InvalidInput, PartitionNotFound]
    with pytest.raises(PenstockError, match="cannot be changed"):
        catalog.update_partition("air", "flights", ["2012", "JFK"], moved)
    with pytest.raises(PartitionNotFound):
        catalog.update_partition("air", "flights", ["1999", "JFK"], moved)


def test_a_partition_with_a_value_of_another_type_is_named_when_an_expression_meets_it(catalog: CatalogService) -> None:
    fill(catalog)
    catalog.create_partition("air", "flights", PartitionInput(values=("x", "JFK")))
    assert len(catalog.partitions("air", "flights", "origin = 'JFK'")) == 3
    with pytest.raises(InvalidInput, match=r"Partition \['x', 'JFK'\] has 'x' for year, which is an integer") as refused:
        catalog.partitions("air", "flights", "year = 2012")
    assert "Delete that partition" in str(refused.value)


def test_partitions_are_read_and_deleted_in_batches(catalog: CatalogService) -> None:
    fill(catalog)
    expected = [("2013", "JFK"), ("1", "x"), ("2012", "EWR"), ("2013", "JFK")]
    found, left = catalog.partitions_by_values("air", "flights", expected)
    assert ([partition.values for partition in found], left) == ([expected[0], expected[2]], [])
    failed = catalog.delete_partitions("air", "flights", expected)
    assert [(values, type(error)) for values, error in failed] == [(("1", "x"), PartitionNotFound)]
    assert len(catalog.partitions("air", "flights")) == 2
    with pytest.raises(PartitionNotFound):
        catalog.delete_partition("air", "flights", ["1", "x"])


def test_expressions_select_partitions(catalog: CatalogService) -> None:
    fill(catalog)
    assert [partition.values for partition in catalog.partitions("air", "flights", "year >= 2013 AND origin LIKE 'J%'")] == [
        ("2013", "JFK")
    ]
    with pytest.raises(InvalidInput, match="not a partition key"):
        catalog.partitions("air", "flights", "gate = 'A'")


def test_pages_of_partitions_survive_writes(catalog: CatalogService) -> None:
    fill(catalog, range(2000, 2010), ["EWR", "JFK"])
    first = catalog.partitions_page("air", "flights", limit=5, expression="origin = 'JFK'")
    assert [item.values[0] for item in first.items] == ["2000", "2001", "2002", "2003", "2004"]
    catalog.delete_partitions("air", "flights", [("2000", "JFK"), ("2004", "JFK"), ("2006", "JFK")])
    fill(catalog, [1999, 2011], ["JFK"])
    rest = catalog.partitions_page("air", "flights", limit=5, expression="origin = 'JFK'", token=first.next_token)
    assert [item.values[0] for item in rest.items] == ["2005", "2007", "2008", "2009", "2011"]
    assert rest.next_token is None


def test_segments_share_out_all_partitions(catalog: CatalogService) -> None:
    fill(catalog, range(1900, 2000), ["EWR", "JFK"])
    shares = [
        {
            tuple(item.values)
            for item in catalog.partitions_page("air", "flights", limit=999, segment=Segment(number=n, total=4)).items
        }
        for n in range(4)
    ]
    assert sum(len(share) for share in shares) == len(set().union(*shares)) == 200
    assert all(share for share in shares)
    with pytest.raises(InvalidInput, match="Segment 4 of 4"):
        Segment(number=4, total=4)


def test_deleting_tables_reports_the_missing(catalog: CatalogService) -> None:
    failed = catalog.delete_tables("air", ["FLIGHTS", "x"])
    assert [(name, type(error)) for name, error in failed] == [("x", TableNotFound)]
    with pytest.raises(DatabaseNotFound):
        catalog.delete_tables("sea", [])


def test_an_update_keeps_the_creation_time() -> None:
    times = iter(datetime(2026, 1, day, tzinfo=UTC) for day in range(1, 9))
    catalog = CatalogService(SqlCatalogStore(new_database()), now=lambda: next(times))
    catalog.create_database(DatabaseInput(name="a"))
    made = catalog.create_table("a", TableInput(name="t"))
    updated = catalog.update_table("a", TableInput.of(made))
    assert (updated.create_time.day, updated.update_time.day) == (2, 3)
