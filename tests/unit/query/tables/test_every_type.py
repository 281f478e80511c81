"""Values of every type, in Parquet as a pipeline writes it: what SQL, a crawler and Iceberg's clients make of them."""

import datetime as dt
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.crawl.formats.recognize import recognize
from penstock.query.execution.children import ChildPool
from penstock.types import arrow, hive
from tests.unit.query.iceberg_world import DATABASE, World, world
from tests.unit.types.table import READERS, TYPES

MOMENT = dt.datetime(2026, 1, 2, 3, 4, 5, 678901)
SHOWN, PRECISE = "2026-01-02 03:04:05.679", "2026-01-02 03:04:05.678901"  # milliseconds in Hive's tables
# By the catalog's type: a value as Arrow has it, and the text of SQL's result.
VALUES: Mapping[str, tuple[Any, str]] = {
    "boolean": (True, "true"),
    "tinyint": (-128, "-128"),
    "smallint": (32767, "32767"),
    "int": (-(2**31), "-2147483648"),
    "bigint": (2**63 - 1, "9223372036854775807"),
    "float": (1.5, "1.5"),
    "double": (-0.25, "-0.25"),
    "decimal(12,4)": (Decimal("12345678.9012"), "12345678.9012"),
    "string": ("é😀", "é😀"),
    "varchar(9)": ("nine", "nine"),
    "char(3)": ("abc", "abc"),
    "binary": (b"\x00\xff", "00 ff"),
    "uuid": ("6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
    "date": (dt.date(1969, 12, 31), "1969-12-31"),
    "time": (dt.time(1, 2, 3, 456000), "01:02:03.456"),
    "timestamp": (MOMENT, SHOWN),
    "timestamp_ntz": (MOMENT, SHOWN),
    "timestamp with local time zone": (MOMENT.replace(tzinfo=dt.UTC), f"{SHOWN} UTC"),
    "void": (None, ""),
    "array<int>": ([1, None], "[1, null]"),
    "map<string,bigint>": ([("k", 7)], "{k=7}"),
    "struct<a:int,b:array<date>>": ({"a": 1, "b": [dt.date(2026, 1, 2)]}, "{a=1, b=[2026-01-02]}"),
}
NO_VALUES = {"variant", "geometry", "geography"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, children: ChildPool) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("types") / "lake", children) as item:
        columns = {f"c{at}": arrow.render(hive.parse(text)) for at, text in enumerate(VALUES)}
        row = [value for value, _ in VALUES.values()]
        arrays = [pa.array([value, None], kind) for value, kind in zip(row, columns.values(), strict=True)]
        path = item.root / "lake" / "every" / "a.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(pa.Table.from_arrays(arrays, names=list(columns)), path)
        table(item, "every", {f"c{at}": hive.stored(hive.parse(text)) for at, text in enumerate(VALUES)})
        yield item


def table(made: World, name: str, columns: Mapping[str, str], folder: str = "every") -> None:
    """Enter a table of Parquet in the catalog."""
    serde = "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"
    storage = {
        "Columns": [{"Name": column, "Type": kind} for column, kind in columns.items()],
        "Location": f"s3://lake/{folder}/",
        "InputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
        "OutputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
        "SerdeInfo": {"SerializationLibrary": serde},
    }
    definition = {"Name": name, "TableType": "EXTERNAL_TABLE", "StorageDescriptor": storage}
    made.operations.change("CreateTable", {"DatabaseName": DATABASE, "TableInput": definition})


def test_every_type_has_a_value_here() -> None:
    assert set(TYPES) == {*VALUES, *NO_VALUES}


def test_sql_reads_what_a_pipeline_wrote(made: World) -> None:
    first, second = made.rows("SELECT * FROM every ORDER BY c0")
    assert dict(zip(VALUES, first, strict=True)) == {text: shown or None for text, (_, shown) in VALUES.items()}
    assert set(second) == {None}


def test_sql_reads_the_table_that_a_crawler_makes_of_the_files(made: World) -> None:
    path: Path = made.root / "lake" / "every" / "a.parquet"
    columns = {column.name: column.type or "" for column in recognize(path, path.stat().st_size).columns}
    assert columns == {f"c{at}": hive.render(READERS["crawler"](hive.parse(text))) for at, text in enumerate(VALUES)}
    table(made, "crawled", columns)
    names = {text: f"c{at}" for at, text in enumerate(VALUES)}
    shown = made.rows(f"SELECT {', '.join(names.values())} FROM crawled ORDER BY c0")[0]
    others = {"time": "3723456000", "timestamp with local time zone": SHOWN}
    assert dict(zip(names, shown, strict=True)) == {
        text: others.get(text, text_shown) or None for text, (_, text_shown) in VALUES.items()
    }


def test_icebergs_clients_read_what_sql_makes_of_them(made: World) -> None:
    names = {text: f"c{at}" for at, text in enumerate(VALUES) if text != "void"}
    made.run(
        "CREATE TABLE every_iceberg WITH (table_type = 'ICEBERG', is_external = false, location = 's3://lake/iceberg/') "
        f"AS SELECT {', '.join(names.values())} FROM every"
    )
    loaded = made.table("every_iceberg")
    kinds = {text: str(loaded.schema().find_field(name).field_type) for text, name in names.items()}
    assert {kinds[text] for text in ("tinyint", "smallint", "int")} == {"int"}
    assert kinds["uuid"] in {"uuid", "string"}
    row = next(entry for entry in made.read("every_iceberg") if entry["c0"])
    expected = {text: value for text, (value, _) in VALUES.items() if text in names}
    assert {text: str(row[name]) if text == "uuid" else row[name] for text, name in names.items()} == expected
    shown = made.rows("SELECT * FROM every_iceberg ORDER BY c0")[0]
    precise = {text: VALUES[text][1].replace(SHOWN, PRECISE) for text in names} | {"time": "01:02:03.456000"}
    assert dict(zip(names, shown, strict=True)) == precise


# What others write to Parquet, as a crawler finds it, and the text of SQL's result.
OTHERS = [
    (pa.time32("ms"), 3_723_456, "int", "3723456"),
    (pa.time64("ns"), 3_723_456_000_001, "bigint", "3723456000001"),
    (pa.uuid(), bytes(range(16)), "binary", " ".join(f"{byte:02x}" for byte in range(16))),
    (pa.uint8(), 255, "smallint", "255"),
    (pa.uint32(), 2**32 - 1, "bigint", "4294967295"),
    (pa.uint64(), 2**64 - 1, "decimal(20,0)", "18446744073709551615"),
    (pa.binary(2), b"ab", "binary", "61 62"),
    (pa.dictionary(pa.int8(), pa.string()), "a", "string", "a"),
    (pa.timestamp("ns"), MOMENT, "timestamp", SHOWN),
    (pa.timestamp("ms", "Europe/Berlin"), dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC), "timestamp", f"{SHOWN[:19]}.000"),
    (pa.large_string(), "a", "string", "a"),
    (pa.list_(pa.uint16(), 2), [1, 2], "array<int>", "[1, 2]"),
]


def test_sql_reads_what_a_crawler_makes_of_others_files(made: World) -> None:
    columns = {f"o{at}": pa.array([value], kind) for at, (kind, value, *_) in enumerate(OTHERS)}
    path: Path = made.root / "lake" / "others" / "a.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(pa.table(columns), path)
    crawled = {column.name: column.type or "" for column in recognize(path, path.stat().st_size).columns}
    assert list(crawled.values()) == [kind for _, _, kind, _ in OTHERS]
    table(made, "others", crawled, "others")
    assert made.rows("SELECT * FROM others") == [[shown for *_, shown in OTHERS]]


@pytest.mark.parametrize("text", sorted(NO_VALUES))
def test_a_type_without_values_in_sql_is_named(made: World, text: str) -> None:
    table(made, f"no_{text}", {"id": "int", "shape": text})
    statement = made.ask(f"SELECT shape FROM no_{text}")
    assert statement.state == "FAILED"
    assert text in str(statement.reason)
