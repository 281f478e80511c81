"""Avro files are read within bounds, whatever they state."""

import io
from typing import Any

import pytest

from penstock.lake.avro_blocks import AvroBlocks, AvroFileError, read_rows
from tests.unit.lake.bombs import EMPTY, SYNC, avro_file, avro_written, deflated, varint

MANIFEST = {"type": "record", "name": "m", "fields": [{"name": "path", "type": "string"}]}
NEST = {"type": "record", "name": "a.N", "fields": [{"name": "next", "type": ["null", "N"]}]}
HEAD = avro_file(EMPTY)


def rows(content: bytes, most: int = 1_000_000) -> list[Any]:
    return list(read_rows(io.BytesIO(content), most_bytes=most))


@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_files_of_others_are_read(codec: str) -> None:
    expected = [{"path": f"s3://lake/{number}"} for number in range(100)]
    content = avro_written(MANIFEST, expected, codec)
    assert rows(content) == expected
    assert sum(block.records for block in AvroBlocks(io.BytesIO(content))) == 100


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (avro_file(EMPTY, (2_000_000_000, b"")), "records without bytes"),
        (avro_file(MANIFEST, (1, deflated(2_000_000)), codec="deflate"), "more than 1,000,000 bytes"),
        (avro_file(MANIFEST, *[(1, varint(400_000) + bytes(400_000))] * 3), "bytes in a block"),
        (avro_file(NEST, (1, b"\x02" * 900_000 + b"\0")), "records within themselves"),
        (avro_file(MANIFEST, (1, b"\x64" + bytes(10)), codec="snappy"), "damaged"),
        (avro_file(MANIFEST, (1, b"\xff\xff\xff\xff\x7f" + bytes(10)), codec="snappy"), "more than 1,000,000 bytes"),
        (avro_file(MANIFEST, (1, b""), codec="lz4"), "lz4"),
        (HEAD + varint(1) + varint(2**60), "damaged or cut off"),
        (HEAD + varint(-5) + varint(0) + SYNC, "damaged or cut off"),
        (HEAD + b"\xff" * 20, "more than ten bytes"),
        (HEAD + varint(0) + varint(0) + b"x" * 16, "damaged at byte"),
        (b"Obj\x01" + varint(1) + varint(2**40), "of a size that cannot be"),
        (b"Obj\x01" + varint(2**40) + b"\0\0" * 100, "cut off"),
        (b"Obj\x01" + varint(0) + SYNC, "no schema"),
        (avro_file("[" * 100_000), "no readable schema"),
        (b"PAR1", "does not begin"),
        (b"", "does not begin"),
    ],
)
def test_what_is_too_large_or_broken_is_refused(content: bytes, problem: str) -> None:
    with pytest.raises(AvroFileError, match=problem):
        rows(content)


def test_a_schema_is_not_deeper_than_real_ones() -> None:
    schema: Any = "int"
    for _ in range(200):
        schema = {"type": "array", "items": schema}
    with pytest.raises(AvroFileError, match="levels"):
        rows(avro_file(schema))
