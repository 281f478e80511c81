"""Tables of what the catalog knows of a Hive table."""

import pyarrow as pa

from tests.unit.query.lake_of_flights import Ask, Lake, Rows


def test_partitions_are_rows_of_their_keys(rows: Rows, ask: Ask) -> None:
    assert rows('SELECT * FROM "flights$partitions" ORDER BY month LIMIT 2') == [["2013", "1"], ["2013", "2"]]
    statement = ask('SELECT max(month) FROM flights_db."flights$partitions" WHERE year = 2013 AND month < 5')
    assert [column.type for column in statement.columns] == ["integer"]
    assert statement.statistics.files_scanned == 0
    assert statement.statistics.partitions_scanned == 4
    partitions = rows(
        'SELECT count(*) FROM flights WHERE month = (SELECT max(month) FROM "flights$partitions")'  # as dbt and users do
    )
    assert partitions == [["10"]]


def test_projected_partitions_are_rows(lake: Lake, rows: Rows) -> None:
    parameters = {"projection.enabled": "true", "projection.p.type": "integer", "projection.p.range": "1,3"}
    lake.table("projected", {"x": "int"}, {"p": "int"}, parameters={"classification": "parquet", **parameters})
    assert rows('SELECT p FROM "projected$partitions" WHERE p > 1') == [["2"], ["3"]]


def test_properties_are_columns(rows: Rows) -> None:
    assert rows('SELECT * FROM "flights$properties"') == [["parquet"]]
    assert rows('SELECT classification FROM flights_db."airlines$properties"') == [["parquet"]]


def test_a_name_that_is_not_a_metadata_table_does_not_exist(ask: Ask, lake: Lake, rows: Rows) -> None:
    for name in ("airlines$partitions", "flights$nothing", "nothing$partitions"):
        assert (ask(f'SELECT * FROM "{name}"').reason or "").startswith("TABLE_NOT_FOUND")
    lake.table("a$b", {"x": "int"})
    lake.write("a$b/1.parquet", pa.table({"x": pa.array([1], pa.int32())}))
    assert rows('SELECT x FROM "a$b"') == [["1"]]
