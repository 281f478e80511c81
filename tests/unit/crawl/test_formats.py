"""What crawlers recognise in files of each format, and what they refuse: in one file, and in the tables of a crawl."""

import bz2
import gzip
import json
import operator
import random
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.orc
import pytest

import penstock.crawl.run as run_module
from penstock.crawl.formats.delimited import _unique
from penstock.crawl.formats.recognize import recognize
from penstock.errors import DataProblem
from penstock.lake import statistics
from tests.unit.crawl.crawl_world import World


def found(folder: Path, data: bytes, name: str = "f") -> Any:
    path = folder / name
    path.write_bytes(data)
    return recognize(path, len(data))


def types(recognized: Any) -> dict[str, str]:
    return {column.name: column.type for column in recognized.columns}


def refusal(folder: Path, data: bytes) -> str:
    with pytest.raises(DataProblem) as error:
        found(folder, data)
    return str(error.value)


def test_lines_of_json_give_the_types_that_hold_all_values(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"Id": 1, "big": 2**40, "x": 1, "on": True, "none": None, "tags": [1, 2.5], "at": {"City": "Rome", "zip": 1}},
        {"Id": 2, "x": 2.5, "mixed": 1, "tags": [], "at": {"zip": "00100", "more": None}, "empty": {}},
        {"mixed": "a"},
    ]
    made = found(tmp_path, "\n".join(map(json.dumps, rows)).encode())
    assert (made.format.classification, made.format.compression, made.rows) == ("json", "none", 3)
    assert types(made) == {
        "id": "int", "big": "bigint", "x": "double", "on": "boolean", "none": "string", "tags": "array<double>",
        "at": "struct<city:string,zip:string,more:string>", "mixed": "string", "empty": "string",
    }  # fmt: skip


def test_json_over_several_lines_and_in_an_array(tmp_path: Path) -> None:
    assert types(found(tmp_path, b'{\n "a": 1\n}\n{\n "a": 2\n}')) == {"a": "int"}
    assert types(found(tmp_path, b'[{"a": 1}, {"b": "x"}]')) == {"array": "array<struct<a:int,b:string>>"}


def test_a_long_file_is_sampled_and_its_rows_estimated(tmp_path: Path) -> None:
    line = json.dumps({"a": 1, "text": "x" * 80}).encode() + b"\n"
    made = found(tmp_path, line * 30_000)
    assert types(made) == {"a": "int", "text": "string"}
    assert abs(made.rows - 30_000) < 300


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b'{"a": 1}\n{"a": ', "cut off"),
        (b'{"a": 1}\n{"a" 2}\n', "damaged"),
        (b"", "it is empty"),
        (b"one column\nof text\n", "no known format"),
        (b"\xff\xfe\x00\x01", "no known format"),
        (b"a,b\n1,2,3\n", "no known format"),
        (b"BZh91AY", "bzip2"),
        (gzip.compress(b'{"a": 1}', mtime=0)[:-9], "gzip data is damaged"),
        (b"ORC and no more", "ORC"),
        (b"Obj\x01 and no more", "Avro"),
        (b'{"a": {"b:c": 1}}', "cannot name"),
        (b'{"a":' * 100 + b"1" + b"}" * 100, "nested more than"),
        (b'{"a":' * 200_000, "recursion depth"),
        (b"[" * 1_000_000, "recursion depth"),
        # Forty seconds, when each name was looked for among all before it.
        (
            b",".join(b"c%d" % number for number in range(100_000)) + b"\n" + b"," * 99_999,
            "100,000 fields, more than 10,000",
        ),
        (b"," * 1_000_000, "fields, more than 10,000"),
        (b'"' * 1_000_000, "no known format"),
        (bz2.compress(bytes(20_000_000)), "no known format"),
    ],
)
def test_what_is_damaged_cut_off_or_unknown_is_refused(tmp_path: Path, data: bytes, why: str) -> None:
    assert why in refusal(tmp_path, data)


def test_equal_names_of_a_header_are_numbered(tmp_path: Path) -> None:
    made = found(tmp_path, b"a,A,a,a_2,b\n" + b"1,x,2,y,z\n" * 3)
    assert [*types(made)] == ["col0", "col1", "col2", "col3", "col4"]
    assert _unique(["a", "A", "a", "a_2", "", "a_2"]) == ["a", "a_2", "a_3", "a_2_2", "col4", "a_2_3"]
    assert len(set(_unique(["a"] * 10_000))) == 10_000


def test_gzip_is_read_and_recorded(tmp_path: Path) -> None:
    made = found(tmp_path, gzip.compress(b'{"a": 1}\n{"a": 2}\n'))
    assert (made.format.compression, types(made), made.rows) == ("gzip", {"a": "int"}, 2)


@pytest.mark.parametrize("delimiter", [",", "|", "\t", ";", "\x01"])
def test_delimited_text_with_a_header(tmp_path: Path, delimiter: str) -> None:
    rows = [["Id", "Name", "Price", "Day"], ["1", "a b", "1.5", "2013-01-31"], ["-2", "", "2", "2013-02-01"]]
    made = found(tmp_path, "\n".join(delimiter.join(row) for row in rows).encode())
    assert types(made) == {"id": "bigint", "name": "string", "price": "double", "day": "string"}
    assert made.format.serde == (("field.delim", delimiter),)
    assert dict(made.format.parameters)["skip.header.line.count"] == "1"
    assert made.rows == 2


def test_delimited_text_without_a_header_and_with_quotes(tmp_path: Path) -> None:
    made = found(tmp_path, b"1,a\n2,b\n")
    assert types(made) == {"col0": "bigint", "col1": "string"}
    assert "skip.header.line.count" not in dict(made.format.parameters)
    # A header cannot be told from rows of strings alone.
    assert types(found(tmp_path, b"name,city\na,b\n")) == {"col0": "string", "col1": "string"}
    quoted = found(tmp_path, b'id,name\n1,"a, b"\n2,"c"\n')
    assert types(quoted) == {"id": "bigint", "name": "string"}
    assert dict(quoted.format.serde)["quoteChar"] == '"'


def test_containers_hold_their_own_columns(tmp_path: Path) -> None:
    orc = tmp_path / "o"
    pyarrow.orc.write_table(pa.table({"Id": pa.array([1, 2], pa.int32()), "t": ["a", "b"]}), str(orc))
    made = recognize(orc, orc.stat().st_size)
    assert (made.format.classification, made.rows, types(made)) == ("orc", 2, {"id": "int", "t": "string"})
    avro = tmp_path / "a"
    schema = {
        "type": "record", "name": "r",
        "fields": [{"name": "Id", "type": ["null", "long"]}, {"name": "d", "type": {"type": "int", "logicalType": "date"}}],
    }  # fmt: skip
    with avro.open("wb") as file:
        fastavro.writer(file, schema, [{"Id": 1, "d": 1}, {"Id": None, "d": 2}, {"Id": 3, "d": 3}])
    made = recognize(avro, avro.stat().st_size)
    assert (made.format.classification, made.rows, types(made)) == ("avro", 3, {"id": "bigint", "d": "date"})


def put(world: World, key: str, text: str) -> None:
    path = world.lake.root / "lake" / key
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_crawl_makes_a_table_of_each_format(world: World) -> None:
    put(world, "raw/events/day=2013-01-01/a.json", '{"id": 1, "at": {"x": 1}}\n')
    put(world, "raw/events/day=2013-01-02/b.json", '{"id": 2.5, "new": "y"}\n')
    put(world, "raw/prices/p.csv", "sku,price\na,1.5\nb,2\n")
    world.crawler("s3://lake/raw/")
    assert world.crawl().message is None
    events, prices = (world.catalog.table("air", name) for name in ("events", "prices"))
    assert {column.name: column.type for column in events.storage.columns} == {
        "id": "double", "at": "struct<x:int>", "new": "string"
    }  # fmt: skip
    assert world.values("events") == [("2013-01-01",), ("2013-01-02",)]
    assert events.parameters["classification"] == "json"
    serde = events.storage.serde_info
    assert serde is not None
    assert serde.serialization_library == "org.openx.data.jsonserde.JsonSerDe"
    assert serde.parameters["paths"] == "at,id,new"
    assert prices.parameters["skip.header.line.count"] == "1"
    assert prices.storage.serde_info is not None
    assert prices.storage.serde_info.parameters == {"serialization.format": "1", "field.delim": ","}
    # What was read is remembered with its format.
    assert world.crawl().tally.files_read == 0
    assert world.catalog.table("air", "prices") == prices


def test_text_whose_columns_differ_is_left_out_and_not_read_by_position(world: World) -> None:
    for name, text in {"a": "id,name\n1,x\n", "b": "id,name\n2,y\n", "c": "name,id\nz,3\n"}.items():
        put(world, f"flights/{name}.csv", text)
    world.crawler()
    last = world.crawl()
    assert world.columns() == {"id": "bigint", "name": "string"}
    assert world.catalog.table("air", "flights").parameters["objectCount"] == "2"
    assert last.tally.problem_count == 1
    assert "and columns name, id" in str(last.message)


def test_a_file_that_changes_while_it_is_read_is_read_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    put(world, "flights/a.json", '{"id": 1}\n')
    path = world.lake.root / "lake/flights/a.json"

    def growing(file: Path, size: int, _custom: Any) -> Any:
        made = recognize(file, size)
        path.write_text('{"id": 1}\n{"id": "x", "more": 2}\n')
        return made

    world.crawler()
    with monkeypatch.context() as patch:
        patch.setattr(run_module, "recognize", growing)
        last = world.crawl()
    assert "it was changed while it was read" in str(last.message)
    assert world.catalog.tables("air") == []
    assert world.crawl().message is None
    assert world.columns() == {"id": "string", "more": "int"}


def test_the_same_files_give_the_same_tables_in_whatever_order_they_are_listed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        fields = {f"f{number % 4}": number, "id": number if number % 3 else number / 2, "x": [number]}
        put(world, f"raw/events/year={2000 + number % 3}/{number}.json", json.dumps(fields) + "\n")
        put(world, f"raw/mixed/{number}", "1,2\n3,4\n" if number % 2 else '{"a": 1}\n')
    walk = statistics.walk
    described: list[Any] = []
    for seed in range(3):

        def shuffled(*arguments: Any, seed: int = seed) -> Any:
            files = sorted(walk(*arguments), key=operator.attrgetter("key"))
            random.Random(seed).shuffle(files)
            return iter(files)

        monkeypatch.setattr(run_module, "walk", shuffled)
        world.crawler("s3://lake/raw/", database=f"d{seed}")
        world.crawl()
        tables = world.catalog.tables(f"d{seed}")
        described.append(
            [(table.name, table.storage, table.partition_keys, sorted(table.parameters.items())) for table in tables]
            + [[(part.values, part.storage) for part in world.catalog.partitions(f"d{seed}", "events")]]
        )
        world.crawls.delete("c")
    assert len(described[0]) == 3
    assert described[0] == described[1] == described[2]
