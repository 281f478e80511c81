"""Files of records: formats, packing, and errors that name row and field."""

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from penstock.errors import InvalidInput
from penstock.produce.records import RecordFile, UnusableRecord, format_of
from penstock.serdes.avro.codec import AvroSchema

SCHEMA = AvroSchema(
    json.dumps(
        {
            "type": "record",
            "name": "R",
            "fields": [
                {"name": "id", "type": "int"},
                {"name": "tail", "type": ["null", "string"]},
                {"name": "seats", "type": "int", "default": 9},
            ],
        }
    )
)
CSV = "id,ignored,tail\n1,x,N1\n2,x,\n3,x,NA\n"
EXPECTED = [{"id": 1, "tail": "N1"}, {"id": 2, "tail": None}, {"id": 3, "tail": "NA"}]


def read(path: Path, **options: Any) -> list[dict[str, Any]]:
    return list(RecordFile(path=path, format=options.pop("format", None) or format_of(path), **options).records(SCHEMA))


def test_csv_plain_gzipped_and_zipped(tmp_path: Path) -> None:
    plain, packed, archive = tmp_path / "a.csv", tmp_path / "a.csv.gz", tmp_path / "a.csv.zip"
    plain.write_text("\ufeff" + CSV)
    packed.write_bytes(gzip.compress(CSV.encode()))
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("inner.csv", CSV)
    assert read(plain) == read(packed) == read(archive) == EXPECTED
    assert read(plain, null_text=frozenset({"NA"}))[2] == {"id": 3, "tail": None}


def test_a_cell_may_be_as_large_as_a_message(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"id,tail\n1,{'x' * 900_000}\n")
    assert read(path) == [{"id": 1, "tail": "x" * 900_000}]


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 1, "tail": "N1", "more": 1}\n\n{"id": 2}\n{"id": 3, "tail": {"string": "NA"}, "seats": 4}\n')
    assert read(path) == [{"id": 1, "tail": "N1"}, {"id": 2, "tail": None}, {"id": 3, "tail": "NA", "seats": 4}]


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"id": [1, 2], "tail": ["N1", None], "ignored": [1.5, 2.5]}), path)
    assert read(path) == EXPECTED[:2]
    archive = tmp_path / "b.parquet.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.write(path, "b.parquet")
    assert read(archive) == EXPECTED[:2]


def test_a_column_may_be_missing_where_the_schema_can_do_without(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id\n1\n")
    assert read(path) == [{"id": 1, "tail": None}]
    path.write_text("tail\nx\n")
    with pytest.raises(
        InvalidInput, match=r"no column for id, and the schema has no default for it\. Its columns are tail\."
    ):
        read(path)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.csv", "id,tail\n1,x\nx,y\n", "row 2, field id: 'x' is not of type int"),
        ("a.csv", "id,tail\n1\n", "row 1: 1 cells under 2 columns"),
        ("a.jsonl", '{"id": 1}\n{"id"\n', "row 2: it is not JSON"),
        ("a.jsonl", "[1]\n", "row 1: it is not a JSON object"),
        ("a.jsonl", '{"tail": "x"}\n', "row 1: field id is missing"),
        ("a.jsonl", '{"id": 1, "tail": 7}\n', "row 1, field tail: 7 fits none of string"),
    ],
)
def test_rows_that_do_not_fit(tmp_path: Path, name: str, content: str, says: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(UnusableRecord, match=says):
        read(path)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b"id,id\n1,1\n", "two columns named 'id'"),
        ("a.csv", b"id,tail\n1,\xff\n", "cannot be read"),
        ("a.csv.gz", b"plain", "cannot be read"),
        ("a.csv.gz", gzip.compress(CSV.encode(), mtime=0)[:-10], "cannot be read"),
        ("a.csv.zip", b"plain", "cannot be read"),
        ("a.parquet", b"plain", "cannot be read as Parquet"),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=says):
        read(path)


def test_missing_files_and_unknown_formats(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="does not exist"):
        read(tmp_path / "a.csv")
    with pytest.raises(InvalidInput, match="Give --format"):
        format_of(tmp_path / "a.dat")
    archive = tmp_path / "a.csv.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("a.csv", CSV)
        made.writestr("b.csv", CSV)
    with pytest.raises(InvalidInput, match="holds 2 files"):
        read(archive)


def test_a_schema_that_is_not_a_record(tmp_path: Path) -> None:
    file = RecordFile(path=tmp_path / "a.csv", format="csv")
    with pytest.raises(InvalidInput, match="is not a record"):
        list(file.records(AvroSchema('"int"')))
