"""The lines of text files, of any compression that the files' names tell, in batches of bounded size.

As Hadoop's readers do: a line ends with LF, CR LF or CR, a byte order mark at the start is not data, and the extension alone
tells the compression (Athena user guide, "Compression support").
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from penstock.lake.packed import BROKEN, open_packed
from penstock.query.tables.formats.faults import bad_data
from penstock.query.tables.formats.port import NumberedFile

__all__ = ["LineOptions", "opened", "read_lines"]

_CHUNK = 1 << 20  # bytes of text that become one batch
_MAX_LINE = 32 << 20  # bytes
_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class LineOptions:
    """How many lines at a file's start and end are not data, and the text's encoding."""

    header: int = 0
    footer: int = 0
    encoding: str = "utf-8"


def read_lines(files: Sequence[NumberedFile], options: LineOptions) -> Iterator[tuple[NumberedFile, int, list[str]]]:
    """Yield the file, the number (from 1) of the first line, and lines without their ends.

    Raises :class:`penstock.sql.errors.StatementError` for a file that cannot be decompressed or has too long a line.
    """
    for file in files:
        number = 1 + options.header
        for lines in _without_ends(_raw_lines(file[1].path), options):
            yield file, number, [line.decode(options.encoding, "replace") for line in lines]
            number += len(lines)


def _without_ends(batches: Iterator[list[bytes]], options: LineOptions) -> Iterator[list[bytes]]:
    skip, pending = options.header, list[bytes]()
    for lines in batches:
        left = lines[skip:]
        skip = max(0, skip - len(lines))
        if options.footer:
            left = pending + left
            pending = left[-options.footer :]
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
        with open_packed(path) as stream:
            yield stream.read
    except BROKEN as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise bad_data(path, f"The file cannot be decompressed or read: {error}.") from error
