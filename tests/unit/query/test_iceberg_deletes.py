"""Deletion vectors, byte for byte as the Puffin specification lays them out, and what is refused of them."""

import zlib
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyroaring import BitMap64

from penstock.lake.locations import LakeFolder
from penstock.query.tables.iceberg.deletes import read_vector
from penstock.query.tables.iceberg.lake_io import MAX_READ, LakeIO
from penstock.query.tables.iceberg.planning import DeleteFile
from penstock.sql.errors import StatementError

_URI = "s3://lake/dv.puffin"


def _vector(root: Path, positions: list[int], *, count: int | None = None, spoil: int | None = None) -> DeleteFile:
    """Write a file with one vector at offset 4, its byte ``spoil`` changed."""
    body = b"\xd1\xd3\x39\x64" + BitMap64(positions).serialize()
    blob = bytearray(len(body).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big"))
    if spoil is not None:
        blob[spoil] ^= 1
    (root / "lake").mkdir(exist_ok=True)
    (root / "lake" / "dv.puffin").write_bytes(b"PFA1" + bytes(blob))
    file = DataFile.from_args(
        content=DataFileContent.POSITION_DELETES,
        file_path=_URI,
        file_format=FileFormat.PUFFIN,
        record_count=len(positions) if count is None else count,
    )
    return DeleteFile(file, 1, "s3://lake/data.parquet", 4, len(blob))


def test_positions(tmp_path: Path) -> None:
    positions = [0, 7, 2**31, 2**33 + 5]
    vector = read_vector(_vector(tmp_path, positions), LakeIO(LakeFolder(tmp_path)))
    assert pa.array(vector, pa.uint64()).to_pylist() == positions


@pytest.mark.parametrize("spoil", [0, 4, 9, 20, -1])
def test_a_damaged_vector_is_refused(tmp_path: Path, spoil: int) -> None:
    with pytest.raises(StatementError, match="ICEBERG_BAD_DATA"):
        read_vector(_vector(tmp_path, [1, 2], spoil=spoil), LakeIO(LakeFolder(tmp_path)))


def test_a_vector_of_another_count_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StatementError, match="has 2 positions, not 3"):
        read_vector(_vector(tmp_path, [1, 2], count=3), LakeIO(LakeFolder(tmp_path)))


def test_metadata_is_read_up_to_a_bound(tmp_path: Path) -> None:
    _vector(tmp_path, [1])
    with (tmp_path / "lake" / "large").open("wb") as file:
        file.truncate(MAX_READ)
    reader = LakeIO(LakeFolder(tmp_path))
    with reader.new_input(_URI).open():
        pass
    with pytest.raises(StatementError, match="bytes of Iceberg's metadata"):
        reader.new_input("s3://lake/large").open()


def test_files_outside_the_lake_are_refused(tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    for location in ("/etc/passwd", "file:///etc/passwd", "s3://lake/../../etc/passwd"):
        with pytest.raises(StatementError, match="ICEBERG_INVALID_METADATA"):
            LakeIO(LakeFolder(tmp_path)).new_input(location)
