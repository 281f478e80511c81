"""The lines of text files, of any compression that the files' names tell, in batches of bounded size.

As Hadoop's readers do: a line ends with LF, CR LF or CR, a byte order mark at the start is not data, and the extension alone
tells the compression (Athena user guide, "Compression support").
"""

import bz2
import gzip
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, BinaryIO

import pyarrow as pa

from penstock.query.tables.formats.faults import bad_data
from penstock.query.tables.formats.port import NumberedFile

__all__ = ["LineOptions", "opened", "read_lines"]

_CHUNK = 1 << 20  # bytes of text that become one batch
_MAX_LINE = 32 << 20  # bytes
_MAX_BLOCK = 64 << 20  # bytes of one block of Hadoop's framing
_MARK = b"\xef\xbb\xbf"
_LZ4_FRAME = b"\x04\x22\x4d\x18"
_BROKEN = (OSError, EOFError, ValueError, zlib.error)


@dataclass(frozen=True, slots=True)
class LineOptions:
    """How many lines at a file's start and end are not data, and the text's encoding."""

    header: int = 0
    footer: int = 0
    encoding: str = "utf-8"


def read_lines(files: Sequence[NumberedFile], options: LineOptions) -> Iterator[tuple[NumberedFile, int, list[str]]]:
    """Yield the file, the number (from 1) of the first line, and lines without their ends.

    Raises :class:`penstock.query.errors.StatementError` for a file that cannot be decompressed or has too long a line.
    """
    for file in files:
        number = 1 + options.header
        for lines in _without_ends(_raw_lines(file[1].path), options):
            yield file, number, [_decoded(line, options.encoding) for line in lines]
            number += len(lines)


def _decoded(line: bytes, encoding: str) -> str:
    return line.decode(encoding, "replace")


def _without_ends(batches: Iterator[list[bytes]], options: LineOptions) -> Iterator[list[bytes]]:
    skip, held = options.header, list[bytes]()
    for lines in batches:
        left = lines[skip:]
        skip = max(0, skip - len(lines))
        if options.footer:
            left = held + left
            held = left[-options.footer :]
            left = left[: -options.footer]
        if left:
            yield left


def _raw_lines(path: str) -> Iterator[list[bytes]]:
    rest, at_start = b"", True
    with opened(path) as read:
        while chunk := read(_CHUNK):
            if at_start:
                chunk, at_start = chunk.removeprefix(_MARK), False
            text = rest + chunk
            # An LF may follow in the next chunk.
            late = text.endswith(b"\r")
            text = text[:-1] if late else text
            if b"\r" in text:
                text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            *lines, rest = text.split(b"\n")
            rest += b"\r" if late else b""
            if len(rest) > _MAX_LINE:
                raise bad_data(path, f"A line is longer than {_MAX_LINE:,} bytes.")
            if lines:
                yield lines
    if rest:
        yield [rest.removesuffix(b"\r")]


@contextmanager
def opened(path: str) -> Iterator[Callable[[int], bytes]]:
    """Open a file; the function that is yielded returns its next bytes, decompressed, empty at the end."""
    try:
        with _stream(path) as stream:
            yield stream.read
    except _BROKEN as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise bad_data(path, f"The file cannot be decompressed or read: {error}.") from error


def _stream(path: str) -> Any:
    ending = PurePath(path).suffix.lower()
    if ending in {".gz", ".gzip"}:
        return gzip.open(path)
    if ending == ".bz2":
        return bz2.open(path)
    if ending in {".zst", ".zstd"}:
        return pa.input_stream(path, compression="zstd")
    if ending == ".lz4":
        with open(path, "rb") as file:  # noqa: PTH123 - a name, not a Path
            framed = file.read(4) == _LZ4_FRAME
        return pa.input_stream(path, compression="lz4") if framed else _Hadoop(path, "lz4_raw")
    if ending == ".snappy":
        return _Hadoop(path, "snappy")
    if ending in {".deflate", ".lzo", ".xz", ".br", ".zip"}:
        raise bad_data(path, f"Files that end with {ending} cannot be decompressed.")
    return pa.input_stream(path, compression=None)


class _Hadoop:
    """Hadoop's framing of raw blocks: the size of a block's text, then chunks, each after its compressed size."""

    def __init__(self, path: str, codec: str) -> None:
        self._path = path
        self._codec = pa.Codec(codec)
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
