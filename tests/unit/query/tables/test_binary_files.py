"""Tables of ORC and Avro, files of several schemas, lists of files, and columns that tell of a row's file."""

import io
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pyarrow import orc

from tests.unit.lake.bombs import EMPTY, avro_file, varint
from tests.unit.query.lake_of_flights import Ask, Lake, Rows
from tests.unit.query.tables.files_of_formats import AVRO, CSV, HCATALOG, OPENX, ORC, REGEX, TEXT, formatted, write

KINDS = {
    "b": "boolean", "i": "int", "l": "bigint", "d": "double", "m": "decimal(10,2)", "v": "varchar(3)", "s": "string",
    "x": "binary", "y": "date", "z": "timestamp", "a": "array<int>", "p": "map<string,bigint>",
    "r": "struct<x:int,y:array<string>>",
}  # fmt: skip
ROW: dict[str, Any] = {
    "b": True, "i": 1, "l": 1 << 40, "d": 0.1, "m": Decimal("1.50"), "v": "abcdef", "s": "é", "x": b"\x00\xff",
    "y": date(2024, 2, 29), "z": datetime(2024, 2, 29, 23, 59, 59, 123456), "a": [1, None], "p": [("k", 5)],
    "r": {"x": 1, "y": ["q"]},
}  # fmt: skip
READ = [
    "true", "1", str(1 << 40), "0.1", "1.50", "abc", "é", "00 ff", "2024-02-29", "2024-02-29 23:59:59.123", "[1, null]",
    "{k=5}", "{x=1, y=[q]}",
]  # fmt: skip
ARROW = pa.schema(
    [
        ("b", pa.bool_()), ("i", pa.int32()), ("l", pa.int64()), ("d", pa.float64()), ("m", pa.decimal128(10, 2)),
        ("v", pa.string()), ("s", pa.string()), ("x", pa.binary()), ("y", pa.date32()), ("z", pa.timestamp("us")),
        ("a", pa.list_(pa.int32())), ("p", pa.map_(pa.string(), pa.int64())),
        ("r", pa.struct([("x", pa.int32()), ("y", pa.list_(pa.string()))])),
    ]
)  # fmt: skip


def write_orc(lake: Lake, key: str, table: pa.Table, **options: Any) -> None:
    data = io.BytesIO()
    orc.write_table(table, data, **options)
    write(lake, key, data.getvalue())


@pytest.mark.parametrize("compression", ["uncompressed", "zlib", "snappy", "zstd"])
def test_orc_has_the_catalogs_types(lake: Lake, rows: Rows, compression: str) -> None:
    formatted(lake, "t", KINDS, ORC)
    write_orc(lake, "t/a.orc", pa.Table.from_pylist([ROW, {}], ARROW), compression=compression)
    assert rows("SELECT * FROM t ORDER BY l NULLS LAST") == [READ, [None] * len(KINDS)]
    assert rows("SELECT count(*) FROM t") == [["2"]]


def test_orc_is_read_by_place_unless_the_table_says_by_name(lake: Lake, rows: Rows, ask: Ask) -> None:
    formatted(lake, "t", {"x": "bigint", "y": "string", "more": "int"}, ORC)
    write_orc(lake, "t/1.orc", pa.table({"_col0": pa.array([1], pa.int32()), "_col1": ["one"]}))
    write_orc(lake, "t/2.orc", pa.table({"Y": [2], "x": ["two"]}))
    assert rows("SELECT * FROM t ORDER BY x") == [["1", "one", None], ["2", "two", None]]
    formatted(lake, "t", {"x": "string", "y": "bigint"}, ORC, serde={"orc.column.index.access": "false"})
    assert rows("SELECT * FROM t ORDER BY x") == [["two", "2"], [None, None]]
    formatted(lake, "t", {"x": "string", "y": "string"}, ORC)
    assert (ask("SELECT x FROM t").reason or "").startswith("HIVE_BAD_DATA: Column 'x' is INTEGER in s3://lake/t/1.orc")


def test_a_long_orc_file_is_read_by_stripes(lake: Lake, rows: Rows) -> None:
    formatted(lake, "t", {"x": "bigint"}, ORC)
    write_orc(lake, "t/a.orc", pa.table({"x": range(300_000)}), stripe_size=65_536)
    assert rows("SELECT count(*), sum(x), count(DISTINCT x) FROM t") == [["300000", "44999850000", "300000"]]


SCHEMA = {
    "type": "record",
    "name": "Row",
    "fields": [
        {"name": name, "type": ["null", type_], "default": None}
        for name, type_ in [
            ("B", "boolean"), ("i", "int"), ("l", "long"), ("d", "double"),
            ("m", {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}),
            ("v", "string"), ("s", {"type": "enum", "name": "E", "symbols": ["A"]}), ("x", "bytes"),
            ("y", {"type": "int", "logicalType": "date"}), ("z", {"type": "long", "logicalType": "timestamp-micros"}),
            ("a", {"type": "array", "items": ["null", "int"]}), ("p", {"type": "map", "values": "long"}),
            ("r", {"type": "record", "name": "R", "fields": [
                {"name": "X", "type": "int"}, {"name": "y", "type": {"type": "array", "items": "string"}}
            ]}),
        ]
    ],
}  # fmt: skip


def write_avro(lake: Lake, key: str, schema: Any, records: list[Any], codec: str = "deflate") -> None:
    data = io.BytesIO()
    fastavro.writer(data, schema, records, codec=codec)
    write(lake, key, data.getvalue())


@pytest.mark.parametrize("codec", ["null", "deflate", "bzip2", "snappy", "zstandard", "xz"])
def test_avro_has_the_catalogs_types(lake: Lake, rows: Rows, codec: str) -> None:
    formatted(lake, "t", KINDS, AVRO)
    record = {**ROW, "B": True, "s": "A", "z": ROW["z"].replace(tzinfo=UTC), "p": {"k": 5}, "r": {"X": 1, "y": ["q"]}}
    write_avro(lake, "t/a.avro", SCHEMA, [record, {}], codec)
    assert rows("SELECT * FROM t") == [[*READ[:6], "A", *READ[7:]], [None] * len(KINDS)]
    assert rows("SELECT count(*) FROM t") == [["2"]]


def test_avro_files_are_resolved_to_the_tables_schema(lake: Lake, rows: Rows, ask: Ask) -> None:
    import json

    old = {"type": "record", "name": "Row", "fields": [{"name": "x", "type": "int"}]}
    new = {"type": "record", "name": "Row", "fields": [*old["fields"], {"name": "y", "type": "string", "default": "none"}]}
    formatted(lake, "t", {"x": "int", "y": "string"}, AVRO, serde={"avro.schema.literal": json.dumps(new)})
    write_avro(lake, "t/a.avro", old, [{"x": 1}])
    assert rows("SELECT * FROM t") == [["1", "none"]]
    formatted(lake, "t", {"x": "string"}, AVRO)
    assert "Column 'x' cannot be read as the table's type" in (ask("SELECT * FROM t").reason or "")


@pytest.mark.parametrize(
    ("schema", "blocks"),
    [
        # 113 bytes.
        (EMPTY, [(2_000_000_000, b"")]),
        # No block alone is too much.
        (EMPTY, [(900_000, b"")] * 2),
        (
            {"type": "record", "name": "R", "fields": [{"name": "a", "type": {"type": "array", "items": "null"}}]},
            [(1, varint(2_000_000_000) + varint(0))],
        ),
        (
            {"type": "record", "name": "R", "fields": [{"name": "a", "type": {"type": "array", "items": "null"}}]},
            [(1, varint(600_000) + varint(0))] * 2,
        ),
        (
            {"type": "record", "name": "R", "fields": [{"name": "next", "type": ["null", "R"]}]},
            [(1, b"\x02" * 1_000_000 + b"\0")],
        ),
    ],
    ids=["records", "blocks", "nulls", "nulls-of-blocks", "nesting"],
)
def test_an_avro_file_that_states_more_than_it_has_is_refused(lake: Lake, ask: Ask, schema: Any, blocks: Any) -> None:
    formatted(lake, "t", {"n": "string"}, AVRO)
    write(lake, "t/a.avro", avro_file(schema, *blocks))
    assert (ask("SELECT count(*) FROM t").reason or "").startswith("HIVE_BAD_DATA: s3://lake/t/a.avro: ")


@pytest.mark.parametrize("library", [ORC, AVRO])
def test_files_of_another_format_are_named(lake: Lake, ask: Ask, library: str) -> None:
    formatted(lake, "t", {"x": "int"}, library)
    write(lake, "t/a.bin", b"this is another format")
    assert (ask("SELECT * FROM t").reason or "").startswith("HIVE_BAD_DATA: s3://lake/t/a.bin: ")


def test_parquet_columns_are_not_read_as_another_kind_of_type(lake: Lake, ask: Ask, rows: Rows) -> None:
    lake.table("t", {"x": "int"})
    lake.write("t/a.parquet", pa.table({"x": ["12"]}))
    assert (ask("SELECT x FROM t").reason or "").startswith("HIVE_BAD_DATA: Column 'x' is VARCHAR in s3://lake/t/a.parquet")
    formatted(lake, "t", {"y": "string"}, "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
              serde={"parquet.column.index.access": "true"})  # fmt: skip
    assert rows("SELECT y FROM t") == [["12"]]


def test_partitions_can_have_formats_and_columns_of_their_own(lake: Lake, rows: Rows, ask: Ask) -> None:
    lake.table("t", {"x": "bigint", "y": "string"}, {"day": "string"})
    lake.write("t/day=1/a.parquet", pa.table({"x": [1], "y": ["parquet"]}))
    write(lake, "t/day=2/a.txt", "text,2,0\n")
    lake.partition("t", "1")
    lake.partition("t", "2")
    table = formatted(lake, "other", {"y": "string", "x": "int"}, TEXT, serde={"field.delim": ","})
    first, second = lake.catalog.parts["flights_db", "t"]
    text = replace(table.storage, location=second.storage.location)
    lake.catalog.parts["flights_db", "t"] = [first, replace(second, storage=text)]
    assert rows("SELECT * FROM t ORDER BY x") == [["1", "parquet", "1"], ["2", "text", "2"]]
    assert rows("SELECT x, \"$path\" FROM t WHERE day = '2'") == [["2", "s3://lake/t/day=2/a.txt"]]
    wrong = replace(text, columns=[replace(column, type="double") for column in text.columns])
    lake.catalog.parts["flights_db", "t"] = [first, replace(second, storage=wrong)]
    assert (ask("SELECT * FROM t").reason or "").startswith("HIVE_PARTITION_SCHEMA_MISMATCH: Column 'x' is double")


def test_lists_of_files_stand_for_their_files(lake: Lake, rows: Rows, ask: Ask) -> None:
    lake.table("t", {"x": "int"})
    table = lake.catalog.stored["flights_db", "t"]
    symlinks = "org.apache.hadoop.hive.ql.io.SymlinkTextInputFormat"
    lake.catalog.stored["flights_db", "t"] = replace(table, storage=replace(table.storage, input_format=symlinks))
    lake.write("data/1.parquet", pa.table({"x": pa.array([1], pa.int32())}))
    lake.write("data/2.parquet", pa.table({"x": pa.array([2], pa.int32())}))
    write(lake, "t/manifest", "s3://lake/data/2.parquet\n")
    assert rows('SELECT x, "$path" FROM t') == [["2", "s3://lake/data/2.parquet"]]
    write(lake, "t/manifest", "s3://lake/data/3.parquet\n")
    assert (ask("SELECT * FROM t").reason or "").startswith("HIVE_CANNOT_OPEN_SPLIT: s3://lake/data/3.parquet")


def test_hidden_columns_tell_of_a_rows_file_and_are_not_part_of_a_star(lake: Lake, rows: Rows) -> None:
    path = lake.folder.root / "lake/flights/year=2013/month=1/part-0.parquet"
    changed = datetime.fromtimestamp(path.stat().st_mtime, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    files = rows(
        'SELECT DISTINCT "$path", "$file_size", "$partition", cast("$file_modified_time" AS timestamp(3)) FROM flights '
        "WHERE month = 1"
    )
    assert files == [
        ["s3://lake/flights/year=2013/month=1/part-0.parquet", str(path.stat().st_size), "year=2013/month=1", changed]
    ]
    star = rows('SELECT *, f."$path" AS p FROM flights AS f WHERE "$path" LIKE \'%month=3/%\'')
    assert len(star) == 10
    assert {len(item) for item in star} == {7}
    both = rows('SELECT a.*, b.* FROM airlines a JOIN airlines b ON a."$path" = b."$path" LIMIT 1')
    assert len(both[0]) == 4


def test_a_count_by_file_of_text(lake: Lake, rows: Rows) -> None:
    formatted(lake, "t", {"x": "int"}, TEXT)
    write(lake, "t/a", "1\n2\n")
    write(lake, "t/b", "3\n")
    assert rows('SELECT "$path", count(*), sum(x) FROM t GROUP BY 1 ORDER BY 1') == [
        ["s3://lake/t/a", "2", "3"],
        ["s3://lake/t/b", "1", "3"],
    ]
    assert rows("WITH a AS (SELECT x FROM t) SELECT count(*) FROM a, a AS b") == [["9"]]


_ALL_NULL = {"n": "void", "i": "bigint", "l": "array<void>", "r": "struct<x:void,y:timestamp_ntz>"}


@pytest.mark.parametrize("type_", ["avro", "parquet", "orc", "hcatalog", "openx", "text", "csv", "regex"])
def test_a_column_whose_values_are_all_null_is_read(lake: Lake, rows: Rows, type_: str) -> None:
    """Avro's type ``null``, and columns that Spark never had a value for, are ``void`` in the catalog."""
    plain = {"n": "void", "i": "bigint"}
    if type_ == "avro":
        formatted(lake, "t", _ALL_NULL, AVRO)
        inner = {"type": "record", "name": "r", "fields": [{"name": "x", "type": "null"}]}
        fields = [("n", "null"), ("i", "long"), ("l", {"type": "array", "items": "null"}), ("r", inner)]
        schema = {"type": "record", "name": "t", "fields": [{"name": name, "type": item} for name, item in fields]}
        data = io.BytesIO()
        fastavro.writer(data, schema, [{"n": None, "i": 7, "l": [None], "r": {"x": None}}])
        write(lake, "t/a", data.getvalue())
    elif type_ == "parquet":
        lake.table("t", _ALL_NULL)
        lake.write("t/a", pa.table({"n": pa.nulls(1), "i": [7], "l": [[None]], "r": [{"x": None}]}))
        lake.write("t/b", pa.table({"n": ["lost"], "i": [8]}))
    elif type_ == "orc":
        formatted(lake, "t", plain, ORC)
        write_orc(lake, "t/a", pa.table({"n": pa.array([None], pa.int32()), "i": [7]}))
    else:
        library, text = {
            "hcatalog": (HCATALOG, '{"n":null,"i":7}\n'), "openx": (OPENX, '{"n":1,"i":7}\n'), "text": (TEXT, "\\N\x017\n"),
            "csv": (CSV, '"","7"\n'), "regex": (REGEX, "-:7\n"),
        }[type_]  # fmt: skip
        formatted(lake, "t", plain, library, serde={"input.regex": "(.*):(.*)"})
        write(lake, "t/a", text)
    assert rows("SELECT n, i FROM t WHERE i = 7") == [[None, "7"]]
    assert rows("SELECT count(n), count(*) FROM t WHERE n IS NULL AND i = 7") == [["0", "1"]]
    assert rows("SELECT coalesce(n, 'x'), n || 'a', n = 1, cast(n AS date) FROM t WHERE i = 7") == [["x", None, None, None]]
    if type_ in {"avro", "parquet"}:
        assert rows("SELECT l, r FROM t WHERE i = 7") == [["[null]", "{x=null, y=null}"]]
