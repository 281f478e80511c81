"""Conditions that the catalog takes: only those of the matching partitions are read from it."""

import pyarrow as pa
import pytest
import sqlglot

from penstock.catalog.model import Column, Partition
from penstock.catalog.partitions.expressions import PartitionExpression
from penstock.query.tables.catalog_conditions import catalog_expression
from tests.unit.query.lake_of_flights import Ask, FakeCatalog, Lake

KEYS = [
    Column(name="day", type="date"),
    Column(name="shop", type="int"),
    Column(name="region", type="string"),
    Column(name="weight", type="decimal(5,2)"),
    Column(name="odd name", type="int"),
    Column(name="size", type="LONG"),
]


@pytest.mark.parametrize(
    ("condition", "expression"),
    [
        ("region = 'north'", "region = 'north'"),
        ("7 < shop", "shop > 7"),
        ("size = 7", "size = 7"),
        ("shop BETWEEN -3 AND 4", "(shop >= -3 AND shop <= 4)"),
        ("shop IN (1, 2) OR region = 'n'", "(shop IN (1, 2) OR region = 'n')"),
        ("day >= CAST('2015-03-01' AS DATE) AND upper(region) = 'N'", "(day >= '2015-03-01')"),
        # What means another thing there, or cannot be said.
        ("shop = 1 OR upper(region) = 'N'", None),
        ("shop = '1'", None),
        ("shop = 1.5", None),
        ("region = 5", None),
        ("region = 'it''s'", None),
        ("region > shop", None),
        ("day = '2015-03-01'", None),
        ("day = CAST('2015-3-1' AS DATE)", None),
        ("weight = 1.5", None),
        ('"odd name" = 1', None),
        ("shop <> 1", None),
        ("NOT shop = 1", None),
        ("region LIKE 'n%'", None),
        ("shop IN (SELECT 1)", None),
        ("region IS NULL", None),
    ],
)
def test_conditions_as_the_catalog_reads_them(condition: str, expression: str | None) -> None:
    result = catalog_expression(KEYS, [sqlglot.parse_one(condition, read="duckdb")])
    assert result == expression
    if result is not None:
        PartitionExpression.parse(result, KEYS)


def test_a_long_list_is_left_to_the_engine() -> None:
    long = sqlglot.parse_one(f"shop IN ({', '.join(map(str, range(1000)))})", read="duckdb")
    short = sqlglot.parse_one("region = 'n'", read="duckdb")
    assert catalog_expression(KEYS, [long, short]) == "region = 'n'"


@pytest.fixture
def asked(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """The expressions that the catalog was asked with."""
    results: list[str | None] = []
    read = FakeCatalog.partitions

    def partitions(self: FakeCatalog, database: str, table: str, expression: str | None = None) -> list[Partition]:
        results.append(expression)
        return list(read(self, database, table, expression))

    monkeypatch.setattr(FakeCatalog, "partitions", partitions)
    return results


def test_a_query_reads_the_partitions_that_the_catalog_finds(ask: Ask, asked: list[str | None]) -> None:
    statement = ask("SELECT count(*) FROM flights WHERE month > 10 AND year = 2013 AND flight % 2 = 0 AND month % 2 = 0")
    assert asked == ["month > 10 AND year = 2013"]
    assert (statement.statistics.partitions_scanned, statement.statistics.partitions_total) == (1, 2)
    asked.clear()
    # No partition is left out that an outer join's other side may need.
    outer = ask("SELECT count(*) FROM airlines a LEFT JOIN flights f ON f.carrier = a.carrier AND f.month = 1")
    assert outer.statistics.partitions_scanned == 12
    assert asked == [None]


def test_a_value_of_another_type_than_its_key_is_refused_as_before(ask: Ask, lake: Lake) -> None:
    lake.table("odd", {"v": "int"}, {"n": "int"})
    lake.partition("odd", "one")
    lake.write("odd/n=one/a.parquet", pa.table({"v": pa.array([1], pa.int32())}))
    assert "'one'" in str(ask("SELECT * FROM odd").reason)
    assert ask("SELECT * FROM odd WHERE n = 1").state == "SUCCEEDED"
