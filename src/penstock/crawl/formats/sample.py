"""The beginning of a file, decompressed: as much as a classifier may read of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.catalog.model import Column
from penstock.crawl.model import PARQUET, FileFormat
from penstock.errors import DataProblem
from penstock.lake.packed import BROKEN, open_packed

__all__ = ["PARQUET", "FileFormat", "Recognized", "Sample", "read_sample"]

_MOST = 1 << 20  # bytes; a file of text has its first records there
_UNREAD = {b"\xff\x06\x00\x00sN": "snappy's frames", b"PK\x03\x04": "zip", b"\xfd7zXZ\x00": "xz"}
_ENDINGS = {".gz": "gzip", ".bz2": "bzip2", ".zst": "zstd", ".lz4": "lz4", ".snappy": "snappy", ".deflate": "deflate"}
_NAMES = tuple(_ENDINGS.values())
_MAGIC = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\x28\xb5\x2f\xfd": ".zst", b"\x04\x22\x4d\x18": ".lz4"}
_BARE = (".lz4", ".snappy", ".deflate")  # Hadoop's, which begin with no mark


@dataclass(frozen=True, slots=True)
class Sample:
    """``data`` are the first bytes, decompressed; ``whole`` says that there are no more. ``size`` is the file's."""

    data: bytes
    whole: bool
    size: int
    compression: str = "none"

    def text(self) -> str:
        """Return the data as UTF-8, without a character that the end cuts. Raises :class:`DataProblem`."""
        cut = 0 if self.whole else 3
        for less in range(cut + 1):
            try:
                return self.data[: len(self.data) - less].decode("utf-8-sig")
            except UnicodeDecodeError as error:
                last = error
        raise DataProblem(f"it is of no known format: no container's, and no text in UTF-8 (byte {last.start})")

    def estimate(self, records: int, read_bytes: int) -> int:
        """Return about how many records the file has, if ``read_bytes`` bytes of the sample have ``records`` of them."""
        if self.whole or not read_bytes:
            return records
        return max(records, round(records * self.size / read_bytes))


def read_sample(path: Path, size: int) -> Sample:
    """Return the beginning of a file. Raises :class:`DataProblem` for a compression that is not read, OSError."""
    with path.open("rb") as file:
        start = file.read(8)
    for magic, name in _UNREAD.items():
        if start.startswith(magic):
            raise DataProblem(f"it is compressed with {name}, which crawlers do not read; {', '.join(_NAMES)} they do")
    name, ending = _compression(path, start)
    try:
        data = _beginning(path, ending)
    except BROKEN as error:
        if not ending or isinstance(error, FileNotFoundError):
            raise
        raise DataProblem(f"its {name} data is damaged or cut off ({str(error)[:200]})") from None
    return Sample(data[:_MOST], len(data) <= _MOST, size, name)


def _compression(path: Path, start: bytes) -> tuple[str, str]:
    """Return a compression's name and the ending of its files: by the first bytes, or else by the file's name."""
    for magic, ending in _MAGIC.items():
        if start.startswith(magic):
            return _ENDINGS[ending], ending
    ending = path.suffix.lower()
    return (_ENDINGS[ending], ending) if ending in _BARE else ("none", "")


def _beginning(path: Path, ending: str) -> bytes:
    parts: list[bytes] = []
    remaining = _MOST + 1
    with open_packed(str(path), ending) as stream:
        while remaining > 0 and (part := stream.read(remaining)):
            parts.append(part)
            remaining -= len(part)
    return b"".join(parts)[: _MOST + 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognized:
    """A file's format, its columns, and its rows: counted where the format has their number, else estimated."""

    format: FileFormat
    columns: Sequence[Column]
    rows: int
