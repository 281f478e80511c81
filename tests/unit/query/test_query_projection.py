"""Partition projection: partitions that a table's properties describe."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from penstock.sql.date_patterns import date_pattern, steps
from tests.unit.query.lake_of_flights import Ask, Lake, Rows


def projected(lake: Lake, keys: Mapping[str, str], **properties: str) -> None:
    """Create the table ``p`` of ``x`` with these partition keys; ``day__type`` stands for ``projection.day.type``."""
    described = {f"projection.{name.replace('__', '.')}": value for name, value in properties.items() if "__" in name}
    described |= {"storage.location.template": properties["template"]} if "template" in properties else {}
    lake.table(
        "p", {"x": "int"}, dict(keys), parameters={"classification": "parquet", "projection.enabled": "true", **described}
    )


def write(lake: Lake, folder: str, x: int) -> None:
    lake.write(f"{folder}/a.parquet", pa.table({"x": pa.array([x], pa.int32())}))


def test_enum_and_integer_keys_are_projected_onto_hives_folders(lake: Lake, rows: Rows, ask: Ask) -> None:
    projected(
        lake, {"region": "string", "hour": "int"},
        region__type=" ENUM ", region__values="eu,us east",
        hour__type="integer", hour__range=" 0, 23 ", hour__interval="6", hour__digits="2",
    )  # fmt: skip
    write(lake, "p/region=eu/hour=06", 1)
    write(lake, "p/region=us east/hour=18", 2)
    write(lake, "p/region=eu/hour=07", 3)  # not a value of the range's steps
    write(lake, "p/region=asia/hour=06", 4)
    assert rows("SELECT x, region, hour FROM p ORDER BY x") == [["1", "eu", "6"], ["2", "us east", "18"]]
    assert rows("SELECT x FROM p WHERE region = 'eu'") == [["1"]]
    assert rows("SELECT x FROM p WHERE hour > 6 AND region LIKE 'us%'") == [["2"]]
    statistics = ask("SELECT x FROM p WHERE hour BETWEEN 6 AND 12 AND (region = 'eu' OR hour = 0)").statistics
    assert (statistics.partitions_scanned, statistics.partitions_total) == (2, 8)


def test_registered_partitions_of_a_projected_table_are_not_used(lake: Lake, rows: Rows) -> None:
    projected(lake, {"region": "string"}, region__type="enum", region__values="eu")
    write(lake, "elsewhere", 1)
    lake.partition("p", "us", location="s3://lake/elsewhere/")
    assert rows("SELECT x FROM p") == []


@pytest.mark.parametrize(
    ("properties", "folder", "condition"),
    [
        ({"range": "2020/01/01,NOW", "format": "yyyy/MM/dd"}, "2024/02/29", "day = '2024/02/29'"),
        ({"range": "2020-01,2024-12", "format": "yyyy-MM"}, "2024-02", "day > '2024-01'"),
        ({"range": "2020,2024", "format": "yyyy", "interval": "2", "interval.unit": "years"}, "2022", "true"),
        (
            {"range": "2024-02-29 00,2024-03-01 12", "format": "yyyy-MM-dd HH", "interval": "12", "interval.unit": "HOURS"},
            "2024-03-01 12",
            "true",
        ),
        ({"range": "20240228,20240301", "format": "yyyyMMdd"}, "20240229", "true"),
        ({"range": "2024-W,2025-W", "format": "yyyy-'W'", "interval.unit": "YEARS"}, "2025-W", "true"),
    ],
)
def test_dates_are_projected_in_javas_formats(
    lake: Lake, rows: Rows, properties: Mapping[str, str], folder: str, condition: str
) -> None:
    described = {f"day__{name}": value for name, value in properties.items()}
    projected(lake, {"day": "string"}, day__type="date", template="s3://lake/dates/${day}/", **described)
    write(lake, f"dates/{folder}", 1)
    write(lake, "dates/1999/01/01", 2)
    assert rows(f"SELECT x, day FROM p WHERE {condition}") == [["1", folder]]


def test_a_range_moves_with_the_time(lake: Lake, rows: Rows) -> None:
    projected(lake, {"day": "date"}, day__type="date", day__range="NOW-3DAYS,NOW+1DAY", day__format="yyyy-MM-dd")
    today = datetime.now(UTC).date()
    for age in range(-1, 6):
        write(lake, f"p/day={today - timedelta(days=age)}", age)
    values = [int(row[0] or "") for row in rows("SELECT x FROM p ORDER BY x")]
    # Midnight may pass between the two readings of the clock.
    assert values in ([-1, 0, 1, 2, 3], [-1, 0, 1, 2])
    assert rows(f"SELECT x FROM p WHERE day = DATE '{today}'") == [["0"]]


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("tenant = 'a'", ["1"]),
        ("'b' = tenant AND x > 0", ["2"]),
        ("tenant IN ('a', 'b', 'none')", ["1", "2"]),
        ("p.tenant = 'a' OR p.tenant = 'b'", ["1", "2"]),
        ("tenant IN ('a', 'b') AND tenant <> 'a'", ["2"]),
    ],
)
def test_injected_values_are_those_of_the_query(lake: Lake, rows: Rows, condition: str, found: list[str]) -> None:
    projected(lake, {"tenant": "string"}, tenant__type="injected", template="s3://lake/tenants/${tenant}/raw")
    write(lake, "tenants/a/raw", 1)
    write(lake, "tenants/b/raw", 2)
    assert [row[0] for row in rows(f"SELECT x FROM p WHERE {condition} ORDER BY x")] == found


@pytest.mark.parametrize(
    "condition", ["true", "tenant LIKE 'a%'", "tenant > 'a'", "tenant = 'a' OR x = 1", "tenant = upper('a')"]
)
def test_an_injected_key_that_the_query_does_not_name_is_an_error(lake: Lake, ask: Ask, condition: str) -> None:
    projected(lake, {"tenant": "string"}, tenant__type="injected")
    statement = ask(f"SELECT x FROM p WHERE {condition}")
    assert statement.reason is not None
    assert statement.reason.startswith("CONSTRAINT_VIOLATION: For the injected projected partition column tenant")


@pytest.mark.parametrize("value", ["../other", "a/../../other"])
@pytest.mark.parametrize("properties", [{"template": "s3://lake/tenants/${tenant}/"}, {}])
def test_an_injected_value_cannot_leave_its_folder(lake: Lake, ask: Ask, value: str, properties: dict[str, str]) -> None:
    projected(lake, {"tenant": "string"}, tenant__type="injected", **properties)
    write(lake, "other", 1)
    statement = ask(f"SELECT x FROM p WHERE tenant = '{value}'")
    assert statement.state == "FAILED" or statement.statistics.files_scanned == 0


@pytest.mark.parametrize(
    ("properties", "what"),
    [
        ({}, "projection.k.type is not one of enum, integer, date and injected"),
        ({"k__type": "uuid"}, "projection.k.type is not one of"),
        ({"k__type": "enum"}, "projection.k.values is missing"),
        ({"k__type": "integer"}, "projection.k.range is missing"),
        ({"k__type": "integer", "k__range": "1-5"}, "is not two values with a comma"),
        ({"k__type": "integer", "k__range": "a,b"}, "is not two integers"),
        ({"k__type": "integer", "k__range": "1,2", "k__interval": "0"}, "projection.k.interval is not a positive number"),
        ({"k__type": "integer", "k__range": "1,2", "k__digits": "99"}, "projection.k.digits is more than 20"),
        ({"k__type": "date", "k__range": "NOW,NOW"}, "projection.k.format is missing"),
        ({"k__type": "date", "k__range": "NOW,NOW", "k__format": "EEE dd"}, "'E' is not a field that is digits"),
        ({"k__type": "date", "k__range": "NOW,NOW", "k__format": "yyyy"}, "projection.k.interval.unit is missing"),
        ({"k__type": "date", "k__range": "x,NOW", "k__format": "yyyy-MM-dd"}, "has 'x', which cannot be read"),
        ({"k__type": "date", "k__range": "NOW-9999YEARS,NOW", "k__format": "yyyy-MM-dd"}, "there is no such date"),
        (
            {"k__type": "date", "k__range": "2020-01-01,NOW", "k__format": "yyyy-MM-dd", "k__interval.unit": "AEONS"},
            "'AEONS' is not one of YEARS",
        ),
        ({"k__type": "enum", "k__values": "a", "template": "s3://lake/p/"}, "does not name each partition key"),
        ({"k__type": "enum", "k__values": "a", "template": "s3://lake/${k}/${other}"}, "does not name each partition key"),
    ],
)
def test_invalid_properties_are_named(lake: Lake, ask: Ask, properties: Mapping[str, str], what: str) -> None:
    projected(lake, {"k": "string"}, **properties)
    statement = ask("SELECT x FROM p")
    assert statement.reason is not None
    assert statement.reason.startswith("INVALID_TABLE_PROPERTY: Table 'flights_db.p' cannot be projected: ")
    assert what in statement.reason


@pytest.mark.parametrize(
    ("a", "b", "condition"),
    [
        ("0,9223372036854775807", "1,1", "true"),
        ("1,90000", "1,90000", "true"),
        ("1,90000", "1,90000", "a < 10"),
    ],
)
def test_the_number_of_projected_partitions_is_bounded(lake: Lake, ask: Ask, a: str, b: str, condition: str) -> None:
    projected(lake, {"a": "bigint", "b": "int"}, a__type="integer", a__range=a, b__type="integer", b__range=b)
    statement = ask(f"SELECT x FROM p WHERE {condition}")
    assert statement.reason is not None
    assert statement.reason.startswith("EXCEEDED_PARTITION_LIMIT")


def test_keys_are_pruned_before_they_are_multiplied(lake: Lake, rows: Rows) -> None:
    projected(lake, {"a": "int", "b": "int"}, a__type="integer", a__range="1,50000", b__type="integer", b__range="1,50000")
    write(lake, "p/a=7/b=40000", 1)
    assert rows("SELECT x FROM p WHERE a = 7 AND b > 39990 AND b - a < 40000") == [["1"]]


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("yyyy/MM/dd/HH", "2024/03/01/09"),
        ("yyyyMMddHHmmss", "20240301090807"),
        ("d.M.uuuu", "1.3.2024"),
        ("yy-MM", "24-03"),
        ("yyyy-MM-dd'T'HH:mm:ss.SSS", "2024-03-01T09:08:07.123"),
        ("'o''clock' H", "o'clock 9"),
    ],
)
def test_patterns_of_dates_write_what_they_read(pattern: str, text: str) -> None:
    read = date_pattern(pattern)
    assert read.format(read.parse(text)) == text


def test_months_end_where_they_end() -> None:
    first = datetime(2024, 1, 31)
    days = [step.strftime("%m-%d") for step in steps(first, datetime(2024, 5, 1), 1, "MONTH")]
    assert days == ["01-31", "02-29", "03-31", "04-30"]
