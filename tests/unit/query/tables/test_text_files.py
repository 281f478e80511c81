"""Tables of text: delimited, CSV, regular expressions, and their compression."""

import bz2
import csv
import gzip
import io

import pyarrow as pa
import pytest

from tests.unit.query.lake_of_flights import Ask, Lake, Rows
from tests.unit.query.tables.files_of_formats import CSV, REGEX, TEXT, formatted, write

KINDS = {
    "b": "boolean", "t": "tinyint", "i": "int", "l": "bigint", "d": "double", "m": "decimal(5,2)", "v": "varchar(3)",
    "s": "string", "x": "binary", "y": "date", "z": "timestamp",
}  # fmt: skip


def test_delimited_text_has_hives_types_and_null_for_what_is_not_of_them(lake: Lake, rows: Rows) -> None:
    formatted(lake, "t", KINDS, TEXT, serde={"field.delim": ",", "serialization.format": ","})
    lines = [
        "TRUE,127,+12,9223372036854775807,1.5e3,123.455,abcdef,  x ,aGk=,2024-2-9,2024-02-29 23:59:59.5",
        r"\N,\N,\N,\N,\N,\N,\N,\N,\N,\N,\N",
        "yes,128,1.9, 5,1_0,1234.5,,,!,2024/01/01,today",
        "false,-1,.5,99999999999999999999,NaN,1e1,a,b,aGk=,2024-01-01 10:00:00,2024-01-01T00:00:00,surplus",
        "short",
    ]
    write(lake, "t/a.txt", "\n".join(lines))
    assert rows("SELECT * FROM t") == [
        [
            "true", "127", "12", "9223372036854775807", "1500.0", "123.46", "abc", "  x ", "68 69", "2024-02-09",
            "2024-02-29 23:59:59.500",
        ],
        [None] * 11,
        [None, None, "1", None, None, None, "", "", "21", None, None],
        ["false", "-1", "0", None, "NaN", "10.00", "a", "b", "68 69", "2024-01-01", "2024-01-01 00:00:00.000"],
        [None] * 11,
    ]  # fmt: skip


def test_nested_text_has_a_mark_for_each_level(lake: Lake, rows: Rows) -> None:
    kinds = {"a": "array<int>", "m": "map<string,bigint>", "r": "struct<p:int,q:array<string>>"}
    formatted(lake, "t", kinds, TEXT, serde={"field.delim": "|", "collection.delim": ",", "mapkey.delim": ":"})
    write(lake, "t/a.txt", "1,x,3|k:1,l:2|7,u:v\n\\N||5\n")
    assert rows("SELECT * FROM t") == [["[1, null, 3]", "{k=1, l=2}", "{p=7, q=[u, v]}"], [None, "{}", "{p=5, q=null}"]]


def test_escaped_marks_are_part_of_the_text(lake: Lake, rows: Rows) -> None:
    serde = {"field.delim": ",", "escape.delim": "\\", "serialization.null.format": "-", "collection.delim": ";"}
    formatted(lake, "t", {"a": "string", "b": "array<string>", "c": "string"}, TEXT, serde=serde)
    write(lake, "t/a.txt", "a\\,b,x\\;y;z,\\\\n\n-,-,\\-\n")
    assert rows("SELECT * FROM t") == [["a,b", "[x;y, z]", "\\n"], [None, None, "-"]]


def test_default_marks_are_hives_control_characters(lake: Lake, rows: Rows) -> None:
    formatted(lake, "t", {"a": "string", "b": "array<string>"}, TEXT, serde={"serialization.format": "1"})
    write(lake, "t/000000_0", "x\x01p\x02q\r\ny\x01\x02\r")
    assert rows("SELECT * FROM t") == [["x", "[p, q]"], ["y", "[, ]"]]


def test_headers_footers_and_marks_of_byte_order_are_not_rows(lake: Lake, rows: Rows) -> None:
    parameters = {"skip.header.line.count": "2", "skip.footer.line.count": "1"}
    formatted(lake, "t", {"x": "int"}, TEXT, serde={"field.delim": ","}, parameters=parameters)
    write(lake, "t/a.txt", "\ufeffx\n--\n1\n2\ntotal\n")
    write(lake, "t/b.txt", "x\n")
    assert rows("SELECT x FROM t") == [["1"], ["2"]]
    assert rows("SELECT count(*) FROM t") == [["2"]]


def _hadoop(codec: str, *parts: bytes) -> bytes:
    blocks = b""
    for part in parts:
        packed = pa.Codec(codec).compress(part, asbytes=True)
        blocks += len(part).to_bytes(4, "big") + len(packed).to_bytes(4, "big") + packed
    return blocks


@pytest.mark.parametrize(
    ("ending", "data"),
    [
        ("gz", gzip.compress(b"1\n2\n", mtime=0) + gzip.compress(b"3", mtime=0)),
        ("bz2", bz2.compress(b"1\n2\n") + bz2.compress(b"3")),
        ("zst", pa.Codec("zstd").compress(b"1\n2\n", asbytes=True) + pa.Codec("zstd").compress(b"3", asbytes=True)),
        ("lz4", pa.Codec("lz4").compress(b"1\n2\n3", asbytes=True)),
        ("lz4", _hadoop("lz4_raw", b"1\n2\n", b"3")),
        ("snappy", _hadoop("snappy", b"1\n2\n", b"3")),
    ],
)
def test_the_ending_tells_the_compression(lake: Lake, rows: Rows, ask: Ask, ending: str, data: bytes) -> None:
    formatted(lake, "t", {"x": "int"}, TEXT, serde={"field.delim": ","})
    write(lake, f"t/a.{ending}", data)
    assert rows("SELECT x FROM t") == [["1"], ["2"], ["3"]]
    write(lake, f"t/a.{ending}", data[:-3])
    damaged = ask("SELECT x FROM t")
    assert damaged.reason is not None
    assert damaged.reason.startswith("HIVE_BAD_DATA: s3://lake/t/a.")


def test_open_csv_reads_what_pythons_csv_writes(lake: Lake, rows: Rows) -> None:
    formatted(lake, "t", {"a": "string", "b": "string", "c": "string"}, CSV, serde={"escapeChar": "\\"})
    written = [["plain", 'with "quotes"', "a,b"], ["", "é", ""], ['"', ",", '",'], ["x", "y", "z"]]
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows(written[:3])
    csv.writer(text).writerows(written[3:])
    write(lake, "t/a.csv", text.getvalue() + '"esc\\"aped\\\\",b\n\n')
    assert rows("SELECT * FROM t") == [*written, ['esc"aped\\', "b", None], [None, None, None]]


def test_open_csv_converts_by_its_own_rules(lake: Lake, rows: Rows, ask: Ask) -> None:
    kinds = {"i": "int", "d": "double", "b": "boolean", "y": "date", "z": "timestamp"}
    formatted(lake, "t", kinds, CSV)
    write(lake, "t/a.csv", '"1","1.5","TRUE","18276","1579059880000"\n')
    assert rows("SELECT * FROM t") == [["1", "1.5", "true", "2020-01-15", "2020-01-15 03:44:40.000"]]
    for bad in ('"",1,true,1,1', "1, 2,true,1,1", "1,2,true,2020-01-01,1", "1,2,true,1,2020-01-01 00:00:00", "1,2,yes,1,1"):
        write(lake, "t/a.csv", bad)
        failed = ask("SELECT * FROM t")
        assert (failed.reason or "").startswith("HIVE_BAD_DATA: Error parsing field value as"), bad
    formatted(lake, "t", kinds, CSV, parameters={"use.null.for.invalid.data": "true"})
    assert rows("SELECT i, b FROM t") == [["1", None]]


@pytest.mark.parametrize("line", ['a"b"c,d', '"unended', 'x,"y"z'])
def test_open_csv_refuses_lines_that_its_readers_read_in_different_ways(lake: Lake, ask: Ask, line: str) -> None:
    formatted(lake, "t", {"a": "string"}, CSV, parameters={"skip.header.line.count": "1"})
    write(lake, "t/a.csv", f"head\ngood\n{line}\n")
    assert (ask("SELECT * FROM t").reason or "").startswith("HIVE_BAD_DATA: s3://lake/t/a.csv: Line 3 has a quote")


def test_a_regular_expression_takes_lines_apart(lake: Lake, rows: Rows, ask: Ask) -> None:
    kinds = {"host": "string", "status": "int", "agent": "string"}
    formatted(lake, "t", kinds, REGEX, serde={"input.regex": r'^(\S+) (?:-|x) (\d{3})(?: "(?<agent>[^"]*)")?$'})
    write(lake, "t/a.log", 'h1 - 200 "curl"\nh2 x 404\nnothing\nh3 - 500 "a" \n')
    assert rows("SELECT * FROM t") == [["h1", "200", "curl"], ["h2", "404", None], [None] * 3, [None] * 3]
    for pattern in (r"(\p{Alpha}+) (.) (.)", "(.)", "([a-z&&[^b]]) (.) (.)"):
        formatted(lake, "t", kinds, REGEX, serde={"input.regex": pattern})
        assert (ask("SELECT * FROM t").reason or "").startswith(
            "HIVE_UNSUPPORTED_FORMAT: Table 'flights_db.t' cannot be read"
        )


@pytest.mark.parametrize(
    ("serde", "what"),
    [
        ({"field.delim": "||"}, "field.delim '||' is not one ASCII character"),
        ({"serialization.last.column.takes.rest": "true"}, "takes.rest is not supported"),
        ({"timestamp.formats": "yyyy"}, "timestamp.formats is not supported"),
        ({"line.delim": ";"}, "line.delim"),
        ({"serialization.encoding": "klingon"}, "'klingon' is not known"),
    ],
)
def test_properties_that_are_not_read_are_named(lake: Lake, ask: Ask, serde: dict[str, str], what: str) -> None:
    formatted(lake, "t", {"x": "string"}, TEXT, serde=serde)
    assert what in (ask("SELECT * FROM t").reason or "")


@pytest.mark.parametrize(
    "library",
    [
        "com.amazonaws.glue.serde.GrokSerDe",
        "com.amazon.ionhiveserde.IonHiveSerDe",
        "com.amazon.emr.hive.serde.CloudTrailSerde",
    ],
)
def test_serdes_that_are_not_read_are_named(lake: Lake, ask: Ask, library: str) -> None:
    formatted(lake, "t", {"x": "string"}, library)
    reason = ask("SELECT * FROM t").reason or ""
    assert reason.startswith("HIVE_UNSUPPORTED_FORMAT")
    assert library in reason


@pytest.mark.parametrize(("name", "library"), [("jsonPath", "org.openx.data.jsonserde.JsonSerDe"), ("rowTag", "")])
def test_records_that_only_a_classifier_knows_are_refused(lake: Lake, ask: Ask, name: str, library: str) -> None:
    formatted(lake, "t", {"x": "string"}, library, parameters={name: "$.rows[*]", "classification": "json"})
    assert f"its records are those of {name}" in (ask("SELECT * FROM t").reason or "")
