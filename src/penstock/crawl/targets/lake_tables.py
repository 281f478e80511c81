"""Iceberg's and Delta's tables in the lake: found by their metadata, described by it."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from penstock.catalog.model import Column, StorageDescriptor, Table, TableInput
from penstock.crawl.globs import exclusion
from penstock.crawl.infer import Problems
from penstock.crawl.model import DeltaTarget, IcebergTarget
from penstock.crawl.targets.port import DescribedTable, Scope
from penstock.errors import DataProblem, InvalidInput, NotFound
from penstock.lake.iceberg.files import MetadataFiles
from penstock.lake.iceberg.glue_tables import table_input
from penstock.lake.locations import LakePaths, parse_uri

__all__ = ["delta_tables", "folder_uri", "iceberg_tables"]

_METADATA = re.compile(r"(?:(?P<number>\d{1,9})-[^/]*|v(?P<version>\d{1,9}))(?:\.gz)?\.metadata\.json(?:\.gz)?", re.ASCII)
_MOST_FOLDERS = 100_000


def folder_uri(path: str) -> str:
    """Return ``s3://BUCKET/FOLDER/``. Raises :class:`InvalidInput`."""
    where = parse_uri(path)
    return f"s3://{where.bucket}/{where.key.strip('/')}/" if where.key.strip("/") else f"s3://{where.bucket}/"


def iceberg_tables(
    lake: LakePaths, target: IcebergTarget, problems: Problems, check: Callable[[], None]
) -> tuple[Sequence[DescribedTable], Sequence[Scope]]:
    """Return the tables below the target's folders; a folder with a ``metadata`` folder of Iceberg's is one.

    The newest metadata file is that with the highest number; of several, the one that was updated last.
    """
    tables: dict[str, DescribedTable] = {}
    roots = [folder_uri(path) for path in target.paths]
    excluded = exclusion(target.exclusions)
    files = MetadataFiles(lake)
    for root in roots:
        lake.check_bucket(root)
        for folder in _folders(lake, root, target.depth, check):
            names = _newest(lake, folder)
            if not names or excluded([folder[len(root) :].rstrip("/")])[0]:
                continue
            try:
                place, document = max(
                    ((f"{folder}metadata/{name}", _metadata(files, f"{folder}metadata/{name}")) for name in names),
                    key=lambda pair: (pair[1].get("last-updated-ms", 0), pair[0]),
                )
                tables[folder] = _iceberg(folder, place, document)
            except (DataProblem, InvalidInput, NotFound) as error:
                problems.add(f"{folder} is skipped: {error.message}")
    return [tables[folder] for folder in sorted(tables)], [Scope(root) for root in roots]


def _folders(lake: LakePaths, root: str, depth: int, check: Callable[[], None]) -> Sequence[str]:
    """Return ``root`` and the folders below it that may be tables: none is inside a table."""
    pending, folders = [(root, 0)], []
    while pending:
        uri, level = pending.pop()
        folders.append(uri)
        if len(folders) > _MOST_FOLDERS:
            raise DataProblem(f"There are more than {_MOST_FOLDERS:,} folders below {root}.", remedy="Name deeper paths.")
        check()
        path = lake.listable(uri)
        if level >= depth or not path.is_dir() or _newest(lake, uri):
            continue
        inside = sorted(entry.name for entry in path.iterdir() if entry.is_dir() and not entry.is_symlink())
        pending += [(f"{uri}{name}/", level + 1) for name in inside if not name.startswith((".", "_"))]
    return sorted(folders)


def _newest(lake: LakePaths, folder: str) -> Sequence[str]:
    """Return the names of the metadata files with the highest number."""
    path = lake.listable(f"{folder}metadata")
    matches = [match for entry in path.iterdir() if (match := _METADATA.fullmatch(entry.name))] if path.is_dir() else []
    numbers = {match[0]: int(match["number"] or match["version"]) for match in matches}
    return sorted(name for name, number in numbers.items() if number == max(numbers.values()))


def _metadata(files: MetadataFiles, location: str) -> Mapping[str, Any]:
    document = files.read(location)
    if not isinstance(document, dict) or not isinstance(document.get("location"), str) or "schemas" not in document:
        raise DataProblem(f"{location} is not the metadata of an Iceberg table of version 2 or 3.")
    return {"properties": {}, **document}


def _iceberg(folder: str, place: str, document: Mapping[str, Any]) -> DescribedTable:
    if folder_uri(document["location"]) != folder:
        raise DataProblem(f"its metadata says that the table is at {document['location'][:200]}")

    def define(name: str, current: Table | None) -> TableInput:
        try:
            table = table_input(name, document, place, current)
        except (KeyError, TypeError, ValueError, StopIteration) as error:
            raise DataProblem(f"The metadata file {place} is damaged: {error!r}.") from None
        return replace(table, parameters={"classification": "iceberg", **table.parameters})

    # Now, so that damage is this table's problem and not the crawl's.
    define(_base(folder), None)
    return DescribedTable(name=_base(folder), place=folder, define=define)


def delta_tables(
    lake: LakePaths, target: DeltaTarget, problems: Problems
) -> tuple[Sequence[DescribedTable], Sequence[Scope]]:
    """Return the tables in the target's folders, by the newest version of their logs."""
    # PyArrow, which the server starts without.
    from penstock.lake.delta_log import read_log  # noqa: PLC0415

    tables: list[DescribedTable] = []
    roots = [folder_uri(path) for path in target.paths]
    for root in sorted(set(roots)):
        lake.check_bucket(root)
        try:
            state = read_log(lake.listable(f"{root}_delta_log"), root, check=partial(_check_log, lake, root))
        except DataProblem as error:
            problems.add(f"{root} is skipped: {error.message}")
            continue
        types = dict(state.columns)
        columns = tuple(
            Column(name=name.lower(), type=column_type) for name, column_type in state.columns if name not in state.keys
        )
        keys = tuple(Column(name=name.lower(), type=types[name]) for name in state.keys)
        tables.append(DescribedTable(name=_base(root), place=root, define=_delta(root, columns, keys)))
    return tables, [Scope(root) for root in roots]


def _check_log(lake: LakePaths, root: str, files: Sequence[Path]) -> None:
    for file in files:
        lake.readable(f"{root}_delta_log/{file.name}")


def _delta(root: str, columns: Sequence[Column], keys: Sequence[Column]) -> Callable[[str, Table | None], TableInput]:
    def define(name: str, current: Table | None) -> TableInput:
        base = TableInput(name=name, table_type="EXTERNAL_TABLE") if current is None else TableInput.of(current)
        storage = base.storage if current is not None else StorageDescriptor()
        return replace(
            base,
            storage=replace(storage, location=root, columns=columns),
            partition_keys=keys,
            parameters={
                **base.parameters,
                "EXTERNAL": "TRUE",
                "classification": "delta",
                "table_type": "delta",
                "spark.sql.sources.provider": "delta",
            },
        )

    return define


def _base(folder: str) -> str:
    return folder.rstrip("/").rpartition("/")[2]
