"""The sink's table in the catalog: made, extended and given partitions as data lands, again without effect."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from penstock.errors import AlreadyExists, ConcurrentModification, DataProblem, NotFound
from penstock.pipelines import CatalogTarget
from penstock.spark.tables.catalog import PARQUET, CatalogTable

COLUMNS = {"Id": "bigint", "day": "string"}


class Catalog:
    """A catalog in memory that keeps one table and its partitions; others can get in between ``races`` times."""

    def __init__(self) -> None:
        self.databases: set[str] = set()
        self.current: dict[str, Any] | None = None
        self.added: dict[tuple[str, ...], str] = {}
        self.calls: list[str] = []
        self.races = 0
        self.asked = 0

    def ensure_database(self, name: str, *, description: str | None = None, location: str | None = None) -> None:
        self.databases.add(name)

    def table(self, database: str, name: str) -> Any:
        self.asked += 1
        if self.current is None:
            raise NotFound("There is no such table.")
        return copy.deepcopy(self.current)

    def create_table(self, database: str, table: Any) -> None:
        self.calls.append("create")
        assert database in self.databases
        if self.races:
            self.races -= 1
            self.current = {**copy.deepcopy(table), "VersionId": "0"}
            raise AlreadyExists("Another was faster.")
        self.current = {**table, "VersionId": "0"}

    def update_table(self, database: str, table: Any, *, version_id: str | None = None, skip_archive: bool = False) -> None:
        self.calls.append("update")
        assert self.current is not None
        if self.races:
            self.races -= 1
            raise ConcurrentModification("Another was faster.")
        assert version_id == self.current["VersionId"]
        self.current = {**table, "VersionId": str(int(version_id or 0) + 1)}

    def partitions(self, database: str, table: str) -> list[Any]:
        return []

    def add_partitions(self, database: str, table: str, locations: Mapping[Sequence[str], str]) -> int:
        self.calls.append("partitions")
        new = {tuple(values): place for values, place in locations.items() if tuple(values) not in self.added}
        self.added.update(new)
        return len(new)

    def columns(self) -> list[tuple[str, str]]:
        assert self.current is not None
        return [(column["Name"], column["Type"]) for column in self.current["StorageDescriptor"]["Columns"]]


def target(catalog: Catalog, *, create: bool = True) -> CatalogTable:
    return CatalogTable(
        catalog,
        CatalogTarget(database="d", table="t", create=create),
        location="s3://lake/t/",
        keys=["day"],
        files=PARQUET,
        table_input=lambda table: {key: value for key, value in table.items() if key != "VersionId"},
    )


def test_the_first_batch_makes_database_table_and_partitions() -> None:
    catalog = Catalog()
    table = target(catalog)
    assert table.columns() is None
    assert table.sync(COLUMNS, ["day=1", "day=2"]) == 2
    assert catalog.current is not None
    assert catalog.columns() == [("id", "bigint")]
    assert catalog.current["PartitionKeys"] == [{"Name": "day", "Type": "string"}]
    assert catalog.current["StorageDescriptor"]["Location"] == "s3://lake/t/"
    assert catalog.added == {("1",): "s3://lake/t/day=1/", ("2",): "s3://lake/t/day=2/"}
    assert table.columns() == {"id": "bigint", "day": "string"}


def test_a_new_column_extends_the_table_and_nothing_else_of_it_changes() -> None:
    catalog = Catalog()
    target(catalog).sync(COLUMNS, [])
    assert catalog.current is not None
    catalog.current["Parameters"]["owner"] = "someone"
    target(catalog).sync({**COLUMNS, "seats": "int"}, [])
    assert catalog.columns() == [("id", "bigint"), ("seats", "int")]
    assert catalog.current["Parameters"]["owner"] == "someone"


def test_landing_again_changes_nothing_and_asks_for_no_known_partition() -> None:
    catalog = Catalog()
    table = target(catalog)
    table.sync(COLUMNS, ["day=1"])
    catalog.calls.clear()
    assert table.sync(COLUMNS, ["day=1"]) == 0
    assert catalog.calls == []
    assert target(catalog).sync(COLUMNS, ["day=1"]) == 0  # another run, which cannot know


def test_values_come_out_of_the_folders_names() -> None:
    catalog = Catalog()
    target(catalog).sync(COLUMNS, ["day=a%3Ab", "day=__HIVE_DEFAULT_PARTITION__"])
    assert set(catalog.added) == {("a:b",), ("__HIVE_DEFAULT_PARTITION__",)}
    assert "s3://lake/t/day=a%3Ab/" in catalog.added.values()


def test_a_table_that_is_not_ours_to_make_has_to_be_there() -> None:
    catalog = Catalog()
    with pytest.raises(NotFound):
        target(catalog, create=False).columns()
    target(catalog, create=False).sync(COLUMNS, ["day=1"])
    assert catalog.current is None
    assert catalog.calls == ["partitions"]


@pytest.mark.parametrize("existing", [False, True])
def test_others_that_change_the_table_at_the_same_time_are_outlasted(existing: bool) -> None:
    catalog = Catalog()
    if existing:
        target(catalog).sync({"day": "string"}, [])
    catalog.races = 1
    target(catalog).sync(COLUMNS, [])
    assert catalog.columns() == [("id", "bigint")]


def test_a_table_that_changes_all_the_time_is_given_up_with_a_reason() -> None:
    catalog = Catalog()
    target(catalog).sync({"day": "string"}, [])
    catalog.races = 100
    with pytest.raises(DataProblem, match=r"d\.t is changed by others too often"):
        target(catalog).sync(COLUMNS, [])


def test_types_are_widened_and_fields_added_inside_structs() -> None:
    catalog = Catalog()
    table = target(catalog)
    table.sync({"a": "int", "s": "struct<x:int>", "d": "decimal(9,2)", "v": "varchar(9)", "day": "string"}, [])
    table.extend({"A": "bigint", "s": "struct<x:bigint,y:string>", "d": "decimal(12,4)", "v": "string", "day": "int"})
    wider = [("a", "bigint"), ("s", "struct<x:bigint,y:string>"), ("d", "decimal(12,4)"), ("v", "varchar(9)")]
    assert catalog.columns() == wider
    table.extend({"a": "int", "s": "struct<x:int>", "day": "string"})
    assert catalog.columns() == wider, "an older version narrows nothing"
    assert catalog.calls.count("update") == 1


def test_types_without_a_common_one_and_types_that_spark_lacks_stay() -> None:
    catalog = Catalog()
    table = target(catalog)
    table.sync({"a": "string", "u": "uniontype<int,string>", "day": "string"}, [])
    table.extend({"a": "int", "u": "int", "b": "int", "day": "string"})
    assert catalog.columns() == [("a", "string"), ("u", "uniontype<int,string>"), ("b", "int")]


def test_a_table_that_the_sink_does_not_create_is_not_extended() -> None:
    catalog = Catalog()
    target(catalog).sync({"a": "int", "day": "string"}, [])
    target(catalog, create=False).extend({"a": "bigint", "b": "int", "day": "string"})
    assert catalog.columns() == [("a", "int")]


def test_a_table_that_has_the_columns_is_not_asked_for_in_every_batch() -> None:
    catalog, now = Catalog(), 0.0
    table = CatalogTable(
        catalog,
        CatalogTarget(database="d", table="t", create=True),
        location="s3://lake/t/",
        keys=["day"],
        files=PARQUET,
        table_input=lambda table: {key: value for key, value in table.items() if key != "VersionId"},
        clock=lambda: now,
    )
    for _ in range(5):
        table.sync(COLUMNS, ["day=1"])
    assert catalog.asked == 1
    table.sync({**COLUMNS, "seats": "int"}, ["day=1"])
    assert ("seats", "int") in catalog.columns()
    catalog.current, now = None, 40.0
    table.sync(COLUMNS, ["day=1"])
    assert catalog.current is not None, "a table that was dropped is made again"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"Parameters": {"table_type": "iceberg"}}, "is a table of format ICEBERG, and this sink writes parquet"),
        ({"PartitionKeys": []}, r"is partitioned by \[\], and this sink partitions by \['day'\]"),
    ],
)
def test_a_table_of_another_kind_is_refused_before_anything_is_written(changed: dict[str, Any], message: str) -> None:
    catalog = Catalog()
    target(catalog).sync(COLUMNS, [])
    assert catalog.current is not None
    catalog.current.update(changed)
    catalog.calls.clear()
    for call in (lambda: target(catalog).columns(), lambda: target(catalog).sync(COLUMNS, ["day=1"])):
        with pytest.raises(DataProblem, match=message):
            call()
    assert catalog.calls == []
