"""Which changes a table takes: by the policy, by its format, and what a refusal says."""

from collections.abc import Sequence

import pytest
from pyspark.sql.types import DataType, DateType, IntegerType, LongType, StringType, StructType, TimestampType

from penstock.pipelines import Evolution
from penstock.spark.tables.changes import AddColumn, Change, RenameColumn, WidenType
from penstock.spark.tables.evolving import EvolutionPlan, EvolvingTable, plan

INT, BIG, TEXT = IntegerType(), LongType(), StringType()


def struct(**fields: DataType) -> StructType:
    made = StructType()
    for name, kind in fields.items():
        made = made.add(name, kind)
    return made


class Table:
    """A table in memory, whose format has no dates that become timestamps."""

    name = "shop.orders"

    def __init__(self, columns: StructType | None) -> None:
        self.columns = columns

    def table(self) -> StructType | None:
        return self.columns

    def unsupported(self, change: Change) -> str | None:
        if isinstance(change, WidenType) and isinstance(change.old, DateType):
            return "its format has no such widening"
        return None

    def evolve(self, changes: Sequence[Change]) -> None:
        raise AssertionError("A plan changes nothing.")


def made(table: StructType | None, batch: StructType, evolution: Evolution) -> EvolutionPlan:
    kept = Table(table)
    assert isinstance(kept, EvolvingTable)
    return plan(kept, batch, evolution=evolution, aliases={"new": {"old"}}, version=5)


def test_a_table_that_does_not_exist_yet_has_no_changes() -> None:
    assert made(None, struct(a=INT), Evolution(add="freeze")) == EvolutionPlan()


def test_changes_that_the_policy_takes() -> None:
    evolution_plan = made(struct(a=INT, old=INT), struct(a=BIG, b=INT, new=INT), Evolution())
    assert evolution_plan.refusals == ()
    assert evolution_plan.changes == (
        WidenType(path=("a",), old=INT, new=BIG),
        AddColumn(path=("b",), type=INT),
        RenameColumn(old=("old",), new=("new",)),
    )


@pytest.mark.parametrize(
    ("table", "batch", "key", "text", "remedy"),
    [
        (
            struct(a=INT),
            struct(a=INT, b=INT),
            "add",
            "schema version 5 has field 'b' (int), which table shop.orders lacks, and evolution.add is freeze",
            "Set evolution.add of the sink to evolve, add the column to the table, or leave it out in transform.sql.",
        ),
        (
            struct(a=INT),
            struct(a=BIG),
            "widen",
            "schema version 5 widens field 'a' of table shop.orders from int to bigint, and evolution.widen is freeze",
            "Set evolution.widen of the sink to evolve, widen the column of the table, or cast it in transform.columns.",
        ),
        (
            struct(old=INT),
            struct(new=INT),
            "rename",
            "schema version 5 renames field 'old' of table shop.orders to 'new', and evolution.rename is freeze",
            "Set evolution.rename of the sink to evolve, rename the column of the table, or give it the table's name in "
            "transform.sql.",
        ),
    ],
)
def test_frozen_changes_are_refused(table: StructType, batch: StructType, key: str, text: str, remedy: str) -> None:
    assert made(table, batch, Evolution()).refusals == ()
    (refusal,) = made(table, batch, Evolution(**{key: "freeze"})).refusals  # type: ignore[arg-type]
    assert (refusal.text, refusal.remedy) == (text, remedy)


def test_what_the_format_or_any_table_cannot_is_refused_whatever_the_policy() -> None:
    dates, words = made(struct(d=DateType(), w=TEXT), struct(d=TimestampType(), w=INT), Evolution()).refusals
    assert dates.text.endswith("from date to timestamp, and its format has no such widening")
    assert dates.remedy.startswith("Widen the column of the table")
    assert words.text == (
        "field 'w' of schema version 5 is int, and string in table shop.orders: no type holds both string and int "
        "without loss"
    )
