"""Finds and removes all files that a dropped table's metadata refers to.

Source: Iceberg table specification, "Manifest Lists" and "Manifests"; what is removed, and that the property
``gc.enabled`` prevents it, is as in Iceberg's Java library.
"""

import contextlib
import logging
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from penstock.errors import PenstockError
from penstock.lake.avro_blocks import read_rows
from penstock.lake.iceberg.documents import Document
from penstock.lake.iceberg.files import MetadataFiles

__all__ = ["files_of", "remove_files"]

_MOST_BYTES = 64 * 1024 * 1024  # of one manifest, inflated
_log = logging.getLogger("penstock.server")


def files_of(files: MetadataFiles, table: Document, location: str, *, below: Collection[str]) -> list[str]:
    """Return the table's data, delete, manifest, statistics and metadata files; ``location`` is its metadata file.

    Files that are not ``below`` one of these locations are left out, and not read. With ``gc.enabled=false`` only metadata
    is returned. A file that cannot be read is logged.
    """
    homes = tuple(below)
    collects = str(table["properties"].get("gc.enabled", "true")).lower() != "false"
    # Lists are read before anything is removed; a list that was removed would hide what it refers to.
    reachable = dict.fromkeys(_reachable(files, table, homes, data=collects))
    reachable |= dict.fromkeys(entry["metadata-file"] for entry in table["metadata-log"] if entry.get("metadata-file"))
    reachable[location] = None
    for name in reachable:
        if not name.startswith(homes):
            _log.warning("a file of a dropped table stays, because it is outside the table's location: %s", name)
    return [name for name in reachable if name.startswith(homes)]


def remove_files(files: MetadataFiles, locations: Iterable[str]) -> None:
    """Remove files; one that cannot be removed is logged, and stays."""
    for location in locations:
        try:
            files.remove(location)
        except (OSError, PenstockError) as error:
            _log.warning("a file of a dropped table cannot be removed: %s: %s", location, error)


def _reachable(files: MetadataFiles, table: Document, homes: tuple[str, ...], *, data: bool) -> Iterator[str]:
    seen: set[str] = set()
    for snapshot in table["snapshots"]:
        manifests = [str(item) for item in snapshot.get("manifests") or ()]
        listed = snapshot.get("manifest-list")
        if isinstance(listed, str):
            manifests += [row["manifest_path"] for row in _rows(files, listed, homes)]
        for manifest in manifests:
            if manifest not in seen:
                seen.add(manifest)
                if data:
                    yield from (row["data_file"]["file_path"] for row in _rows(files, manifest, homes))
                yield manifest
        if isinstance(listed, str):
            yield listed
    for name in ("statistics", "partition-statistics"):
        yield from (item["statistics-path"] for item in table[name] if isinstance(item.get("statistics-path"), str))


def _rows(files: MetadataFiles, location: str, homes: tuple[str, ...]) -> list[Any]:
    """Return the rows of an Avro file below ``homes``; none, and a warning, if it cannot be read."""
    if not location.startswith(homes):
        return []
    with contextlib.ExitStack() as stack:
        try:
            path: Path = files.path(location)
            return list(read_rows(stack.enter_context(path.open("rb")), most_bytes=_MOST_BYTES))
        except (OSError, PenstockError, ValueError, EOFError, KeyError, IndexError, TypeError) as error:
            _log.warning("the files that %s refers to stay, because it cannot be read: %s", location, error)
            return []
