"""Metadata files of Iceberg are inflated and parsed within the bounds of real ones."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from penstock.errors import DataProblem
from penstock.lake.iceberg.files import MetadataFiles
from penstock.lake.locations import LakeFolder

LOCATION = "s3://lake/t/metadata/00001-a.gz.metadata.json"
Put = Callable[[bytes], MetadataFiles]


@pytest.fixture
def put(tmp_path: Path) -> Put:
    def write(content: bytes) -> MetadataFiles:
        file = tmp_path / "lake/t/metadata/00001-a.gz.metadata.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        return MetadataFiles(LakeFolder(tmp_path))

    return write


def snapshots(count: int) -> dict[str, Any]:
    """Metadata as it is after ``count`` commits."""
    made = [
        {
            "snapshot-id": 8_000_000_000_000_000_000 + number * 7_919,
            "parent-snapshot-id": 8_000_000_000_000_000_000 + number,
            "sequence-number": number,
            "timestamp-ms": 1_700_000_000_000 + number * 1_000,
            "manifest-list": f"s3://lake/t/metadata/snap-{number * 7_919}-1-0b1e.avro",
            "summary": {"operation": "append", "added-records": str(number), "total-records": str(number * 100)},
        }
        for number in range(count)
    ]
    return {"format-version": 2, "snapshots": made}


@pytest.mark.parametrize("packed", [False, True])
def test_a_table_of_ten_thousand_snapshots_is_read(put: Put, packed: bool) -> None:
    expected = snapshots(10_000)
    content = orjson.dumps(expected)
    assert put(gzip.compress(content) if packed else content).read(LOCATION) == expected


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        # 41 KB that inflate to 40 MB.
        (gzip.compress(b'{"x":[' + b"[]," * 13_000_000 + b"[]]}"), "inflates to more than"),
        (
            gzip.compress(b" " * 3_000_000 + b"[" + b"[]," * 400_000 + b"[]]"),
            "inflates to more than|more than 1,000,000 values",
        ),
        (b"[" + b"[]," * 600_000 + b"[]]", "more than 1,000,000 values"),
        (b"[" * 300 + b"]" * 300, "more than 200 levels"),
        (gzip.compress(orjson.dumps(snapshots(100)))[:-20], "cut off"),
        (gzip.compress(b"x"), "not JSON"),
        (b"\x1f\x8bx", "cut off|cannot be decompressed"),
    ],
    ids=["bomb", "small-bomb", "values", "depth", "cut", "text", "damaged"],
)
def test_what_no_real_file_is_is_refused(put: Put, content: bytes, problem: str) -> None:
    with pytest.raises(DataProblem, match=problem):
        put(content).read(LOCATION)
