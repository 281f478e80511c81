"""The metadata files of Iceberg's tables and views in the lake, as Iceberg's libraries name and write them.

Source: Iceberg table specification, "File System Operations"; the names are those of Iceberg's Java library.
"""

import gzip
import re
import uuid
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from penstock import durable
from penstock.bounded_json import JsonTooDeep, JsonTooLarge, read_json
from penstock.errors import DataProblem, NotFound
from penstock.lake.etags import tag_file
from penstock.lake.iceberg.errors import BadDocument
from penstock.lake.locations import LakePaths
from penstock.lake.permitted import PUT_OBJECT, FileAccess, TableKey

__all__ = ["MetadataFiles", "encode"]

_MAX_BYTES = 64 * 1024 * 1024
# 10,000 snapshots have 300,000 values, a schema of 1,000 columns has 9,000.
_MAX_VALUES = 1_000_000
_MAX_DEPTH = 200
# Real metadata files shrink to a tenth or a thirtieth. Deflate's most is 1,032.
_MOST_RATIO = 200
_ANY_RATIO = 4 * 1024 * 1024  # bytes up to which no ratio is too high
_NUMBER = re.compile(r"(\d{1,9})-[^/]*", re.ASCII)
_FOLDER = "write.metadata.path"
_CODEC = "write.metadata.compression-codec"
_SUFFIXES = {"none": ".metadata.json", "gzip": ".gz.metadata.json"}


class MetadataFiles:
    """Reads and writes metadata documents in the lake."""

    def __init__(self, lake: LakePaths) -> None:
        self._lake = lake

    def check(self, location: str) -> None:
        """Raise :class:`InvalidInput` unless files can be written below ``location``, in a bucket that exists."""
        self._lake.check_bucket(location)

    def read(self, location: str) -> Any:
        """Return the JSON value of the file.

        Raises :class:`NotFound` if there is none, :class:`DataProblem` if it is too large or cannot be read.
        """
        path = self._lake.readable(location)
        try:
            if path.stat().st_size > _MAX_BYTES:
                raise DataProblem(f"The metadata file {location} has more than {_MAX_BYTES:,} bytes.")
            content = path.read_bytes()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            raise NotFound(f"The metadata file {location[:500]} does not exist.") from None
        if content[:2] == b"\x1f\x8b":
            content = _inflate(content, location)
        try:
            return read_json(content, most=_MAX_VALUES, deepest=_MAX_DEPTH)
        except (JsonTooLarge, JsonTooDeep) as error:
            raise DataProblem(f"The metadata file {location} {error}.", remedy="Expire old snapshots.") from None
        except ValueError as error:
            raise DataProblem(f"The metadata file {location} is not JSON: {error}.") from None

    def write(self, document: Mapping[str, Any], *, previous: str | None) -> str:
        """Write the document of a table or view to a new file, durably, and return its location.

        ``previous`` is the file that it replaces, from which the new one's number follows.
        """
        location, content = encode(document, previous=previous)
        self.check(location.rpartition("/")[0])
        path = self._lake.path(location)
        durable.make_folder(path.parent)
        with durable.writing(path, new=True) as file:
            file.write(content)
        tag_file(path)
        return location

    def write_as(
        self, access: FileAccess | None, table: TableKey, document: Mapping[str, Any], *, previous: str | None
    ) -> str:
        """As :meth:`write`, for a caller with the rights of ``access`` on the files of ``table``; None for all rights.

        Raises :class:`penstock.errors.AccessDenied`, and writes nothing, if the caller may not write there.
        """
        if access is not None:
            access.check_files(PUT_OBJECT, [f"{_folder_of(document)}/new.metadata.json"], table)
        return self.write(document, previous=previous)

    def remove(self, location: str) -> None:
        """Remove a file that no table refers to, if it exists."""
        durable.remove([self._lake.path(location)])

    def path(self, location: str) -> Path:
        """Return the path of a location in the lake; raise :class:`InvalidInput`."""
        return self._lake.path(location)


def encode(document: Mapping[str, Any], *, previous: str | None) -> tuple[str, bytes]:
    """Return the location of a new metadata file after ``previous``, and its bytes.

    Raises :class:`BadDocument` for a codec that is not known.
    """
    properties = document.get("properties") or {}
    codec = str(properties.get(_CODEC, "none")).lower()
    if codec not in _SUFFIXES:
        raise BadDocument(f"The property {_CODEC} is '{codec[:50]}'; known are {', '.join(_SUFFIXES)}.")
    location = f"{_folder_of(document)}/{_next_number(previous):05d}-{uuid.uuid4()}{_SUFFIXES[codec]}"
    content = orjson.dumps(document)
    return location, gzip.compress(content, mtime=0) if codec == "gzip" else content


def _folder_of(document: Mapping[str, Any]) -> str:
    properties = document.get("properties") or {}
    return str(properties.get(_FOLDER) or f"{document['location']}/metadata").rstrip("/")


def _next_number(previous: str | None) -> int:
    if previous is None:
        return 0
    number = _NUMBER.fullmatch(previous.rpartition("/")[2])
    # Other writers may name their files otherwise; Java starts again then, too.
    return 0 if number is None else int(number[1]) + 1


def _inflate(content: bytes, location: str) -> bytes:
    most = min(_MAX_BYTES, max(_ANY_RATIO, len(content) * _MOST_RATIO))
    unpacker = zlib.decompressobj(wbits=31)
    try:
        text = unpacker.decompress(content, most)
        # What is left may be no more than the stream's end.
        rest = unpacker.decompress(unpacker.unconsumed_tail, 1)
    except zlib.error as error:
        raise DataProblem(f"The metadata file {location} cannot be decompressed: {error}.") from None
    if rest:
        raise DataProblem(f"The metadata file {location} of {len(content):,} bytes inflates to more than {most:,} bytes.")
    if not unpacker.eof:
        raise DataProblem(f"The metadata file {location} is cut off.")
    return text
