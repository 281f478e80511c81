"""Text files of any compression that their names tell, decompressed piece by piece.

As for Hadoop's readers, the extension alone tells the compression (Athena user guide, "Compression support").
"""

import bz2
import gzip
import zlib
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any, BinaryIO

__all__ = ["BROKEN", "open_packed"]

_CHUNK = 1 << 16  # compressed bytes that are read at once
_MAX_BLOCK = 64 << 20  # bytes of one block of Hadoop's framing
_LZ4_FRAME = b"\x04\x22\x4d\x18"
BROKEN = (OSError, EOFError, ValueError, zlib.error)
"""What reading a file raises that is damaged, or that is not compressed as its name tells."""


def open_packed(path: str, ending: str | None = None) -> Any:
    """Return a reader of the file's bytes, decompressed, as a context manager: ``read(size)`` is empty at the end.

    ``ending`` is by default that of the file's name. Reading raises one of :data:`BROKEN` for a file that is damaged or
    whose compression is not read.
    """
    ending = PurePath(path).suffix.lower() if ending is None else ending
    if ending in _UNREAD:
        raise ValueError(f"files that end with {ending} are not read")
    return _READERS.get(ending, _stream)(path)


def _stream(path: str, compression: str | None = None) -> Any:
    import pyarrow as pa  # noqa: PLC0415 - heavy, and servers without crawlers do not need it

    return pa.input_stream(path, compression=compression)


def _codec(name: str) -> Any:
    import pyarrow as pa  # noqa: PLC0415 - see above

    return pa.Codec(name)


def _zstd(path: str) -> Any:
    return _stream(path, "zstd")


def _lz4(path: str) -> Any:
    with open(path, "rb") as file:  # noqa: PTH123 - a name, not a Path
        framed = file.read(4) == _LZ4_FRAME
    return _stream(path, "lz4") if framed else _Hadoop(path, "lz4_raw")


class _Deflated:
    """The zlib stream that Hadoop's DefaultCodec writes."""

    def __init__(self, path: str) -> None:
        self._file: BinaryIO = open(path, "rb")  # noqa: SIM115, PTH123 - closed by __exit__
        self._inflater = zlib.decompressobj()

    def __enter__(self) -> "_Deflated":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, size: int) -> bytes:
        while not self._inflater.eof:
            data = self._inflater.unconsumed_tail or self._file.read(_CHUNK)
            if not data:
                raise EOFError("it ends within its compressed data")
            text = self._inflater.decompress(data, size)
            if text:
                return text
        return b""


class _Hadoop:
    """Hadoop's framing of raw blocks: the size of a block's text, then chunks, each after its compressed size."""

    def __init__(self, path: str, codec: str) -> None:
        self._path = path
        self._codec = _codec(codec)
        self._file: BinaryIO = open(path, "rb")  # noqa: SIM115, PTH123 - closed by close()
        self._blocks = self._read()

    def __enter__(self) -> "_Hadoop":
        return self

    def __exit__(self, *_: object) -> None:
        self._blocks.close()
        self._file.close()

    def read(self, _size: int) -> bytes:
        return next(self._blocks, b"")

    def _read(self) -> Any:
        while head := self._file.read(4):
            left = self._number(head)
            while left > 0:
                size = self._number(self._file.read(4))
                data = self._file.read(size)
                if len(data) < size:
                    raise EOFError("it ends within a block")
                text = self._decompress(data, left)
                left -= len(text)
                yield text

    def _decompress(self, data: bytes, left: int) -> bytes:
        if self._codec.name == "snappy":
            left = min(left, _snappy_size(data))
        return self._codec.decompress(data, decompressed_size=left, asbytes=True)  # type: ignore[no-any-return]

    @staticmethod
    def _number(data: bytes) -> int:
        if len(data) < 4:
            raise EOFError("it ends within a block")
        number = int.from_bytes(data, "big")
        if number > _MAX_BLOCK:
            raise ValueError(f"a block has more than {_MAX_BLOCK:,} bytes, or it is not in Hadoop's framing")
        return number


def _snappy_size(data: bytes) -> int:
    """Return the size that a raw snappy block begins with."""
    size = shift = 0
    for byte in data[:5]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return size
    raise ValueError("a block does not begin with its size")


_UNREAD = {".lzo", ".xz", ".br", ".zip"}
_READERS: Mapping[str, Callable[[str], Any]] = {
    ".gz": gzip.open, ".gzip": gzip.open, ".bz2": bz2.open, ".zst": _zstd, ".zstd": _zstd, ".deflate": _Deflated,
    ".lz4": _lz4, ".snappy": lambda path: _Hadoop(path, "snappy"),
}  # fmt: skip
