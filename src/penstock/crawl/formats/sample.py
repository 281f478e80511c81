"""The beginning of a file, decompressed: as much as a classifier may read of it."""

import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import DataProblem

__all__ = ["Sample", "read_sample"]

_MOST = 1 << 20  # bytes; a file of text has its first records there
_UNREAD = {b"BZh": "bzip2", b"\x28\xb5\x2f\xfd": "zstd", b"\xff\x06\x00\x00sNaPpY": "snappy", b"PK\x03\x04": "zip"}


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

    def estimate(self, records: int, used: int) -> int:
        """Return about how many records the file has, if ``used`` bytes of the sample have ``records`` of them."""
        if self.whole or not used:
            return records
        return max(records, round(records * self.size / used))


def read_sample(path: Path, size: int) -> Sample:
    """Return the beginning of a file. Raises :class:`DataProblem` for a compression that is not read, OSError."""
    with path.open("rb") as file:
        data = file.read(_MOST + 1)
    if data.startswith(b"\x1f\x8b"):
        return _gunzipped(path, size)
    for magic, name in _UNREAD.items():
        if data.startswith(magic):
            raise DataProblem(f"it is compressed with {name}, which crawlers do not read; gzip they do")
    return Sample(data[:_MOST], len(data) <= _MOST, size)


def _gunzipped(path: Path, size: int) -> Sample:
    try:
        with gzip.open(path, "rb") as file:
            data = file.read(_MOST + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataProblem(f"its gzip data is damaged or cut off ({error})") from None
    return Sample(data[:_MOST], len(data) <= _MOST, size, "gzip")
