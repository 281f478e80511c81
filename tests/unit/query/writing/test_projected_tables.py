"""Projected tables that SQL makes, writes to and reads; none of their partitions is registered."""

from datetime import UTC, datetime, timedelta

import pytest

from penstock.catalog.service import CatalogService
from tests.unit.query.lake_of_flights import Ask, Lake, Rows
from tests.unit.query.tables.files_of_formats import write


def test_a_table_as_athenas_guide_makes_it(lake: Lake, done: Ask, rows: Rows) -> None:
    """Athena user guide, "Amazon Kinesis Data Firehose example": hours below folders of days."""
    now = datetime.now(UTC)
    done(
        "CREATE EXTERNAL TABLE logs (message string) PARTITIONED BY (datehour string) "
        "ROW FORMAT SERDE 'org.openx.data.jsonserde.JsonSerDe' LOCATION 's3://lake/logs/' TBLPROPERTIES ("
        "'projection.enabled' = 'true', 'projection.datehour.type' = 'date', 'projection.datehour.format' = 'yyyy/MM/dd/HH',"
        f"'projection.datehour.range' = '{now - timedelta(days=2):%Y/%m/%d}/00,NOW', 'projection.datehour.interval' = '1',"
        "'projection.datehour.interval.unit' = 'HOURS', 'storage.location.template' = 's3://lake/logs/${datehour}/')"
    )
    for hours in (0, 1, 30):
        write(lake, f"logs/{now - timedelta(hours=hours):%Y/%m/%d/%H}/a.json", f'{{"message": "{hours} hours ago"}}\n')
    write(lake, f"logs/{now + timedelta(hours=2):%Y/%m/%d/%H}/a.json", '{"message": "later"}\n')
    messages = rows("SELECT message FROM logs ORDER BY message", database="db")
    assert messages == [["0 hours ago"], ["1 hours ago"], ["30 hours ago"]]
    hour = f"{now - timedelta(hours=1):%Y/%m/%d/%H}"
    assert rows(f"SELECT message, datehour FROM logs WHERE datehour = '{hour}'", database="db") == [["1 hours ago", hour]]


@pytest.mark.parametrize(
    ("key", "projection", "folder", "read"),
    [
        ("date", "'type'='date','K.range'='2024-01-01,NOW','K.format'='yyyy-MM-dd'", "k=2024-02-29", "2024-02-29"),
        ("string", "'type'='date','K.range'='NOW-3YEARS,NOW','K.format'='yyyy'", f"k={datetime.now(UTC).year}", None),
        ("int", "'type'='integer','K.range'='0,99','K.digits'='3'", "k=007", "7"),
        ("string", "'type'='enum','K.values'='a,b c'", "k=b c", "b c"),
    ],
)
def test_a_key_of_each_type_without_a_template(
    *, lake: Lake, done: Ask, rows: Rows, key: str, projection: str, folder: str, read: str | None
) -> None:
    named = projection.replace("'type'", "'projection.k.type'").replace("'K.", "'projection.k.")
    interval = ",'projection.k.interval'='1','projection.k.interval.unit'='YEARS'" if "'yyyy'" in named else ""
    done(
        f"CREATE EXTERNAL TABLE t (x int) PARTITIONED BY (k {key}) STORED AS TEXTFILE LOCATION 's3://lake/t' "
        f"TBLPROPERTIES ('projection.enabled'='TRUE',{named}{interval})"
    )
    write(lake, f"t/{folder}/a", "1\n")
    assert rows("SELECT x, k FROM t", database="db") == [["1", read or folder.removeprefix("k=")]]


def test_an_injected_key_and_a_table_that_statements_write_to(
    lake: Lake, done: Ask, rows: Rows, refused: Ask, catalog: CatalogService
) -> None:
    properties = "'projection.enabled'='true','projection.k.type'='injected'"
    done(
        "CREATE EXTERNAL TABLE t (x int) PARTITIONED BY (k string) STORED AS PARQUET LOCATION 's3://lake/t/' "
        f"TBLPROPERTIES ({properties})"
    )
    done("INSERT INTO t VALUES (1, 'one'), (2, 'two')")
    assert catalog.partitions("db", "t") == []
    assert rows("SELECT x FROM t WHERE k = 'two'", database="db") == [["2"]]
    assert (refused("SELECT x FROM t").reason or "").startswith("CONSTRAINT_VIOLATION")
