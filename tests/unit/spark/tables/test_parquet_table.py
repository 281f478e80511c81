"""The columns of a table of Parquet files, and what a batch changes in them."""

from collections.abc import Mapping, Sequence

import pytest
from pyspark.sql.types import DataType, DateType, IntegerType, LongType, StringType, StructType, TimestampType

from penstock.pipelines import Evolution, ParquetSink
from penstock.spark.commit.drift import DriftStop
from penstock.spark.commit.evolution import ReaderFields, TableChanges
from penstock.spark.tables.changes import AddColumn, Change, RenameColumn, WidenType
from penstock.spark.tables.evolving import TableView
from penstock.spark.tables.parquet import ParquetTable

INT, BIG, TEXT = IntegerType(), LongType(), StringType()
READER = ReaderFields(version=3, aliases={"new": ("old",), "land": ("country",)})


def struct(**fields: DataType) -> StructType:
    made = StructType()
    for name, kind in fields.items():
        made = made.add(name, kind)
    return made


class Catalog:
    """A table of the catalog in memory."""

    name = "shop.orders"

    def __init__(self, columns: Mapping[str, str] | None, *, creates: bool = True) -> None:
        self.creates = creates
        self._columns = columns

    def columns(self) -> dict[str, str] | None:
        return None if self._columns is None else dict(self._columns)


def sink(**more: object) -> ParquetSink:
    return ParquetSink(location="s3://lk/orders", partition_by=("country",), **more)  # type: ignore[arg-type]


def planned(table: TableView, batch: StructType, settings: ParquetSink) -> TableChanges:
    table_changes = TableChanges({settings.name: table})
    table_changes.plan(settings, batch, READER)
    return table_changes


def with_catalog(columns: Mapping[str, str] | None, *, creates: bool = True) -> ParquetTable:
    return ParquetTable(sink(), Catalog(columns, creates=creates), lambda: None)


def test_a_batch_widens_adds_and_keeps_the_names_of_the_table() -> None:
    columns = {"id": "int", "old": "string", "country": "string"}
    batch = struct(id=BIG, new=TEXT, more=struct(x=INT), land=INT)
    table_changes = planned(with_catalog(columns), batch, sink())
    plan = table_changes.plan(sink(), batch, READER)
    assert plan.refusals == ()
    assert plan.changes == (
        WidenType(path=("id",), old=INT, new=BIG),
        RenameColumn(old=("old",), new=("new",)),
        AddColumn(path=("more",), type=struct(x=INT)),
        RenameColumn(old=("country",), new=("land",)),
    )
    rows = table_changes.sink_rows(sink(), 5, struct(id=BIG, old=TEXT, more=struct(x=INT), country=INT))
    assert rows.evolves
    assert rows.table == {"id": "bigint", "old": "string", "country": "string", "more": "struct<x:int>"}


def test_a_rename_alone_changes_nothing_in_the_catalog() -> None:
    table_changes = planned(with_catalog({"old": "string", "country": "string"}), struct(new=TEXT, country=TEXT), sink())
    assert not table_changes.sink_rows(sink(), 5, struct(old=TEXT, country=TEXT)).evolves


def test_without_a_catalog_the_ledger_remembers_the_columns() -> None:
    memory: dict[str, str] = {}
    table = ParquetTable(sink(), None, lambda: memory)
    assert table.table() is None
    first = planned(table, struct(a=INT, country=TEXT), sink()).sink_rows(sink(), 1, struct(a=INT, country=TEXT))
    memory.update(first.table)
    lacking = planned(table, struct(b=INT, country=TEXT), sink()).sink_rows(sink(), 1, struct(b=INT, country=TEXT))
    assert lacking.table == {"a": "int", "country": "string", "b": "int"}
    memory.update(lacking.table)
    empty = TableChanges({"sink": table}).sink_rows(sink(), 0, struct(c=INT))
    assert empty.table == memory, "a batch without rows forgets nothing"
    assert table.name == "s3://lk/orders"


@pytest.mark.parametrize(
    ("batch", "text"),
    [
        (
            struct(id=INT, more=INT),
            "schema version 3 has field 'more' (int), which table shop.orders lacks, and the sink may",
        ),
        (struct(id=BIG), "schema version 3 widens field 'id' of table shop.orders from int to bigint, and the sink may"),
    ],
)
def test_a_table_that_the_sink_may_not_change(batch: StructType, text: str) -> None:
    (finding,) = planned(with_catalog({"id": "int"}, creates=False), batch, sink()).findings(READER)
    assert finding.text.startswith(text)
    assert finding.type == ("missing-field" if "more" in batch.names else "table")
    assert finding.keys == ("table:sink:3",)


def test_frozen_columns_are_not_added_to_the_table() -> None:
    settings = sink(evolution=Evolution(add="freeze"))
    batch = struct(s=struct(x=BIG, y=INT), more=INT, country=TEXT)
    table_changes = planned(with_catalog({"s": "struct<x:int>", "country": "string"}), batch, settings)
    assert [finding.type for finding in table_changes.findings(READER)] == ["missing-field", "missing-field"]
    rows = table_changes.sink_rows(settings, 5, batch)
    assert rows.table == {"s": "struct<x:bigint>", "country": "string"}
    assert rows.evolves


def test_dates_do_not_become_timestamps_and_partition_columns_are_not_compared() -> None:
    table = with_catalog({"d": "date", "country": "string"})
    (finding,) = planned(table, struct(d=TimestampType(), country=INT), sink()).findings(READER)
    assert finding.text.endswith("files with dates cannot be read as timestamps")
    assert planned(with_catalog({"d": "date", "country": "date"}), struct(d=DateType()), sink()).findings(READER) == []


class Evolving:
    """A table of another format, in memory."""

    name = "shop.orders"

    def __init__(self, columns: StructType) -> None:
        self.columns = columns
        self.applied: list[Change] = []

    def table(self) -> StructType:
        return self.columns

    def unsupported(self, change: Change) -> str | None:
        return None

    def evolve(self, changes: Sequence[Change]) -> None:
        self.applied.extend(changes)


def test_another_formats_table_is_changed_and_frozen_columns_are_left_out_of_the_rows() -> None:
    table = Evolving(struct(id=INT))
    settings = sink(evolution=Evolution(add="freeze"))
    table_changes = planned(table, struct(id=BIG, more=INT), settings)
    assert [finding.type for finding in table_changes.findings(READER)] == ["missing-field"]
    assert table_changes.evolve(settings, struct(id=BIG, more=INT), READER) == ("more",)
    assert table.applied == [WidenType(path=("id",), old=INT, new=BIG)]


def test_a_batch_that_was_prepared_is_planned_again_and_stops_where_the_table_was_changed() -> None:
    table = Evolving(struct(id=TEXT))
    with pytest.raises(DriftStop, match=r"field 'id' of schema version 3 is bigint, .* the rows are staged"):
        TableChanges({"sink": table}).evolve(sink(), struct(id=BIG), READER)
    frozen = sink(evolution=Evolution(add="freeze"))
    with pytest.raises(
        DriftStop, match=r"field 's\.y' \(int\), which table shop\.orders lacks, and evolution\.add is freeze"
    ):
        TableChanges({"sink": Evolving(struct(s=struct(x=INT)))}).evolve(frozen, struct(s=struct(x=INT, y=INT)), READER)


def test_facts_bring_the_readers_fields_back() -> None:
    assert ReaderFields.from_facts(READER.facts) == READER
    assert ReaderFields.from_facts(None) == ReaderFields(aliases={})
