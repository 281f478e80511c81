"""The schema of a file's records: the types of JSON lines and Parquet, and of a CSV's texts."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.errors import InvalidInput
from penstock.produce.derive import file_shape
from penstock.produce.records import FileFormat, RecordFile, UnusableRecord
from penstock.schema.infer.avro import derive_avro
from penstock.schema.infer.errors import UnknownKind
from penstock.serdes.avro.codec import AvroSchema


def file(folder: Path, text: str, kind: FileFormat = "csv", **settings: Any) -> RecordFile:
    path = folder / f"rows.{kind}"
    path.write_text(text)
    return RecordFile(path=path, format=kind, **settings)


def types(source: RecordFile, limit: int | None = None) -> dict[str, Any]:
    definition = json.loads(derive_avro(file_shape(source, limit), "s"))
    return {item["name"]: item["type"][1] for item in definition["fields"]}


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "-20", ""], "long"),
        (["9223372036854775807"], "long"),
        (["9223372036854775808"], "double"),
        (["1", "2.5", "1e3"], "double"),
        (["9007199254740993", "0.5"], "string"),
        (["01", "2"], "string"),
        (["1", "x"], "string"),
        (["true", "False"], "boolean"),
        (["true", "1"], "string"),
        (["NaN"], "string"),
        (["2026-01-01"], "string"),
        (["1 "], "string"),
    ],
)
def test_a_column_of_text(tmp_path: Path, cells: list[str], expected: str) -> None:
    source = file(tmp_path, "x,y\n" + "".join(f"{cell},\n" for cell in cells))
    assert types(source) == {"x": expected}
    # The derived schema fits every cell when the file is read with it.
    definition = derive_avro(file_shape(source), "s")
    assert len(list(source.records(AvroSchema(definition)))) == len(cells)


def test_null_text_and_the_first_records(tmp_path: Path) -> None:
    source = file(tmp_path, "x\n1\nNA\nlate\n", null_text=frozenset({"NA"}))
    assert types(source, 2) == {"x": "long"}
    assert types(source) == {"x": "string"}


def test_json_lines(tmp_path: Path) -> None:
    source = file(tmp_path, '{"a": 1, "b": {"c": [1.5]}}\n\n{"a": 2.5, "d": null}\n', "jsonl")
    assert list(source.values()) == [{"a": 1, "b": {"c": [1.5]}}, {"a": 2.5, "d": None}]
    assert list(types(source)) == ["a", "b"]
    assert types(source)["a"] == "double"


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    at = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [{"id": 1, "price": Decimal("1.50"), "at": at, "tags": ["a"], "none": None}]
    pq.write_table(pa.Table.from_pylist(rows), path)
    source = RecordFile(path=path, format="parquet")
    assert list(source.values()) == rows
    results = types(source)
    assert (results["id"], results["at"]["logicalType"], results["price"]["scale"]) == ("long", "timestamp-micros", 2)
    assert results["tags"] == {"type": "array", "items": ["null", "string"]}
    assert "none" not in results


@pytest.mark.parametrize(
    ("text", "kind", "error", "says"),
    [
        ("", "csv", InvalidInput, "is empty"),
        ("a,a\n1,2\n", "csv", InvalidInput, "two columns named 'a'"),
        ("a,b\n1\n", "csv", UnusableRecord, "row 1: 1 cells under 2 columns"),
        ("[1]\n", "jsonl", UnusableRecord, "row 1: it is not a JSON object"),
        ("{\n", "jsonl", UnusableRecord, "row 1: it is not JSON"),
        ("x", "parquet", InvalidInput, "cannot be read as Parquet"),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, text: str, kind: FileFormat, error: Any, says: str) -> None:
    with pytest.raises(error, match=says):
        file_shape(file(tmp_path, text, kind))
    with pytest.raises(InvalidInput, match="does not exist"):
        file_shape(RecordFile(path=tmp_path / "other", format=kind))


def test_a_column_with_an_invalid_name(tmp_path: Path) -> None:
    with pytest.raises(UnknownKind, match="the key 'dep time' is not a valid name"):
        types(file(tmp_path, "dep time\n1\n"))
