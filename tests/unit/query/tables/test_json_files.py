"""Tables of JSON lines, as the two SerDes read them."""

import json
import random

import pytest

from penstock.catalog.model import Column
from penstock.query.tables.formats.json_lines import JsonRules, _RowReader
from penstock.sql.hive_types import parse_hive_type
from tests.unit.query.lake_of_flights import Ask, Lake, Rows
from tests.unit.query.tables.files_of_formats import HCATALOG, OPENX, formatted, write

KINDS = {
    "b": "boolean", "i": "int", "l": "bigint", "d": "double", "m": "decimal(20,3)", "v": "varchar(3)", "s": "string",
    "y": "date", "z": "timestamp", "a": "array<int>", "p": "map<string,bigint>", "r": "struct<x:int,longname:string>",
}  # fmt: skip
ROW = {
    "B": True, "i": 1, "L": 1 << 62, "d": 1.5, "M": 12345678901234567.125, "v": "abcdef", "s": "é", "y": "2024-02-29",
    "z": "2024-02-29 23:59:59.123456", "a": [1, None], "p": {"K": 1}, "r": {"X": 1, "longName": "n", "more": 2}, "extra": 1,
}  # fmt: skip
READ = [
    "true", "1", str(1 << 62), "1.5", "12345678901234567.125", "abc", "é", "2024-02-29", "2024-02-29 23:59:59.123",
    "[1, null]", "{K=1}", "{x=1, longname=n}",
]  # fmt: skip


@pytest.mark.parametrize("library", [OPENX, HCATALOG])
def test_both_serdes_read_the_declared_types(lake: Lake, rows: Rows, library: str) -> None:
    formatted(lake, "t", KINDS, library)
    text = json.dumps(ROW).replace("1.2345678901234568e+16", "12345678901234567.125")
    write(lake, "t/a.json", f'{text}\n{{"i": null}}\n')
    assert rows("SELECT * FROM t") == [READ, [None] * len(KINDS)]
    assert rows("SELECT count(*) FROM t") == [["2"]]


def test_openx_converts_between_texts_and_numbers(lake: Lake, rows: Rows) -> None:
    formatted(lake, "t", KINDS, OPENX)
    lines = [
        {"b": "TRUE", "i": "7", "l": "x", "d": "2", "m": "1.0005", "s": {"A": [1, 1.50]}, "a": 5, "z": 1579059880000},
        {"b": 1, "i": 1 << 40, "s": 1, "a": "", "z": "1579059880", "p": " ", "r": ""},
        {"z": "2024-01-01T10:00:00+02:00", "s": True},
    ]
    write(lake, "t/a.json", "\n".join(map(json.dumps, lines)).replace("1.5]", "1.50]") + "\n \n[false, 3]\n")
    assert rows("SELECT b, i, l, d, m, s, a, z FROM t") == [
        ["true", "7", None, "2.0", "1.001", '{"A":[1,1.50]}', "[5]", "2020-01-15 03:44:40.000"],
        ["false", None, None, None, None, "1", None, "2020-01-15 03:44:40.000"],
        [None, None, None, None, None, "true", None, "2024-01-01 08:00:00.000"],
        [None] * 8,
        ["false", "3", *[None] * 6],
    ]  # fmt: skip
    assert rows("SELECT p, r FROM t LIMIT 2") == [[None, None], [None, "{x=null, longname=null}"]]


def test_openx_has_properties_for_names(lake: Lake, rows: Rows) -> None:
    kinds = {"ts": "int", "a_b": "int", "key": "int"}
    serde = {"mapping.ts": "Time Stamp", "dots.in.keys": "true"}
    formatted(lake, "t", kinds, OPENX, serde=serde)
    write(lake, "t/a.json", '{"time stamp": 1, "a.b": 2, "KEY": 3, "key": 4}\n')
    assert rows("SELECT ts, a_b, key FROM t") == [["1", "2", "4"]]
    formatted(lake, "t", kinds, OPENX, serde={"case.insensitive": "false", "mapping.ts": "Time"})
    write(lake, "t/a.json", '{"Time": 1, "time": 2, "KEY": 3}\n')
    assert rows("SELECT ts, a_b, key FROM t") == [["1", None, None]]


@pytest.mark.parametrize(
    ("library", "line", "what"),
    [
        (OPENX, '{"i": 1', "Line 2: it is not JSON"),
        (OPENX, '{"i": 1.5}', "Line 2: column 'i': '1.5' is not a int"),
        (OPENX, '{"i": NaN}', "Line 2: it is not JSON"),
        (OPENX, "not JSON", "Line 2: it is not JSON"),
        (OPENX, "i=1,r=2", "Line 2: it is not JSON"),
        (OPENX, "5", "Line 2: it is not a JSON object"),
        (OPENX, '{"r": 5}', "Line 2: column 'r': an object was expected"),
        (HCATALOG, "no", "Line 2: it is not JSON"),
        (HCATALOG, "[1]", "Line 2: it is not a JSON object"),
        (HCATALOG, '{"i": "1"}', "Line 2: column 'i': '1' is not a int"),
        (HCATALOG, '{"s": {}}', "Line 2: column 's': an object or an array is not a text"),
        (HCATALOG, '{"i": 4000000000}', "out of the range of int"),
    ],
)
def test_a_value_of_another_type_is_refused_with_its_line(lake: Lake, ask: Ask, library: str, line: str, what: str) -> None:
    formatted(lake, "t", KINDS, library)
    write(lake, "t/a.json", f"{{}}\n{line}\n")
    reason = ask("SELECT * FROM t").reason or ""
    assert reason.startswith("HIVE_BAD_DATA: s3://lake/t/a.json: Line 2"), reason
    assert what in reason


def test_malformed_lines_are_rows_of_nulls_if_the_table_says_so(lake: Lake, rows: Rows) -> None:
    formatted(lake, "t", {"i": "int"}, OPENX, serde={"ignore.malformed.json": "true"})
    write(lake, "t/a.json", '{"i": 1\n{"i": 2}\n')
    assert rows("SELECT * FROM t") == [[None], ["2"]]


def test_the_quick_way_reads_what_the_careful_one_does() -> None:
    kinds = ["tinyint", "int", "bigint", "double", "float", "boolean", "string", "varchar(3)", "date", "timestamp"]
    kinds += ["decimal(9,2)", "binary"]
    columns = [Column(name=f"c{at}", type=type_) for at, type_ in enumerate(kinds)]
    chance = random.Random(5)
    values = ["1", "-0", "0.1", "1e2", "1E400", "127", "128", "3000000000", "9223372036854775807", "9223372036854775808"]
    values += ["18446744073709551616", "0.30000000000000004", "12345678901234567890.5", "true", "null", "false", "[1]", "{}"]
    values += [
        '"true"',
        '"7"',
        '"2024-02-29"',
        '"2024-02-29 01:02:03.5"',
        '"abcd"',
        '"YQ=="',
        '"\\ud800"',
        '"\\u00e9"',
        '""',
    ]
    values += ["NaN", "-Infinity", "01", "+1"]
    usual = [
        "1",
        "-7",
        "1",
        "0.5",
        "2.5",
        "true",
        '"a"',
        '"abc"',
        '"2024-02-29"',
        '"2024-02-29 01:02:03.5"',
        '"1.25"',
        '"YQ=="',
    ]
    quick = 0
    for openx in (True, False):
        parsed = [parse_hive_type(type_) for type_ in kinds]
        reader = _RowReader(JsonRules(openx=openx, mapped=(("c3", "Other"),)), columns, parsed, range(len(kinds)))
        for _ in range(3_000):
            lines = []
            for _ in range(chance.randint(1, 3)):
                names = [chance.choice([f"c{at}", f"c{at}", f"C{at}"]) for at in range(len(kinds))]
                names[3] = "OTHER"
                written = [name if chance.random() < 0.97 else chance.choice(values) for name in usual]
                members = [
                    f'"{name}": {value}' for name, value in zip(names, written, strict=True) if chance.random() < 0.95
                ]
                if members and chance.random() < 0.1:
                    members.append(chance.choice(members))
                lines.append("{" + ", ".join(members) + "}" + chance.choice(["", " ", "\u00a0"]))
            read = reader._quick(lines)
            if read is not None:
                quick += 1
                assert repr(read) == repr(reader._careful("file", 1, lines)), lines
    assert quick > 500
