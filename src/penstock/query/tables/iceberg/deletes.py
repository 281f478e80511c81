"""Deletes as tables of the engine, which a scan's view leaves out rows by.

Source: Iceberg table specification, "Row-level Deletes"; Puffin specification, "deletion-vector-v1".
"""

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyiceberg.io import FileIO
from pyiceberg.manifest import FileFormat
from pyiceberg.types import NestedField
from pyroaring import BitMap64

from penstock.query.tables.iceberg.layouts import FileLayout
from penstock.query.tables.iceberg.planning import DeleteFile, FileTask
from penstock.query.tables.iceberg.types import engine_type
from penstock.query.tables.memory import registered
from penstock.sql.errors import StatementError
from penstock.sql.types import quote_name, quote_text

__all__ = ["equality_sets", "ids_of", "load_equalities", "load_positions", "quoted_set", "read_vector"]

_MAGIC = b"\xd1\xd3\x39\x64"
_VECTOR_FRAME = 12  # bytes: length, magic, checksum
PathOf = Callable[[str], str]


def load_positions(engine: Any, name: str, tasks: Sequence[FileTask], path: PathOf, io: FileIO) -> None:
    """Make the table ``name`` (a quoted name) of the deleted rows: ``file`` (a path) and ``pos``."""
    engine.execute(f"CREATE TABLE {name} (file VARCHAR, pos BIGINT)")
    vectors = ((path(task.file.file_path), position) for task in tasks for position in task.positions if position.vector)
    for file, delete in vectors:
        positions = pa.table({"pos": pa.array(read_vector(delete, io), pa.uint64())})
        with registered(engine, "vector_rows", positions):
            engine.execute(f"INSERT INTO {name} SELECT {quote_text(file)}, pos FROM vector_rows")  # noqa: S608 our own names
    pairs = [
        (path(position.file.file_path), task.file.file_path, path(task.file.file_path))
        for task in tasks
        for position in task.positions
        if not position.vector
    ]
    if not pairs:
        return
    columns = dict(zip(("source", "uri", "file"), zip(*pairs, strict=True), strict=True))
    sources = _parquet({delete for task in tasks for delete in task.positions if not delete.vector}, path)
    with registered(engine, "pair_rows", pa.table({key: pa.array(values, pa.string()) for key, values in columns.items()})):
        engine.execute(
            f"INSERT INTO {name} SELECT p.file, d.pos FROM read_parquet({sources}, filename='source', "  # noqa: S608 our own names
            "union_by_name=true, hive_partitioning=false) d "
            "JOIN pair_rows p ON d.source = p.source AND d.file_path = p.uri"
        )


def read_vector(delete: DeleteFile, io: FileIO) -> Any:
    """Return the positions of a deletion vector. Raises :class:`StatementError` for one that is damaged."""
    what = f"The deletion vector in {delete.file.file_path}"
    if delete.offset is None or delete.length is None or delete.length < _VECTOR_FRAME:
        raise StatementError("ICEBERG_BAD_DATA", f"{what} has no place in its file.")
    with io.new_input(delete.file.file_path).open() as stream:
        stream.seek(delete.offset)
        blob = stream.read(delete.length)
    size = int.from_bytes(blob[:4], "big")
    body, checksum = blob[4 : 4 + size], int.from_bytes(blob[4 + size : 8 + size], "big")
    if len(blob) != size + 8 or body[:4] != _MAGIC or zlib.crc32(body) != checksum:
        raise StatementError("ICEBERG_BAD_DATA", f"{what} is damaged: its length, magic or checksum is not right.")
    try:
        positions = BitMap64.deserialize(body[4:])
    except ValueError:
        raise StatementError("ICEBERG_BAD_DATA", f"{what} cannot be read.") from None
    if len(positions) != delete.file.record_count:
        raise StatementError("ICEBERG_BAD_DATA", f"{what} has {len(positions)} positions, not {delete.file.record_count}.")
    return positions.to_array()


def equality_sets(tasks: Iterable[FileTask]) -> Mapping[tuple[int, ...], list[DeleteFile]]:
    """Return the files of equality deletes by the ids of the columns that they compare."""
    files_by_ids: dict[tuple[int, ...], dict[str, DeleteFile]] = {}
    for task in tasks:
        for equality in task.equalities:
            files_by_ids.setdefault(ids_of(equality), {})[equality.file.file_path] = equality
    return {ids: list(files.values()) for ids, files in files_by_ids.items()}


def ids_of(delete: DeleteFile) -> tuple[int, ...]:
    """Return the ids of the columns that an equality delete compares, in order."""
    ids = tuple(sorted(delete.file.equality_ids or ()))
    if not ids:
        raise StatementError("ICEBERG_BAD_DATA", f"The equality deletes in {delete.file.file_path} name no columns.")
    return ids


def load_equalities(
    engine: Any, name: str, deletes: Sequence[DeleteFile], fields: Mapping[int, NestedField], path: PathOf
) -> None:
    """Make the table ``name`` of deleted values: ``source`` (the delete file's path), and ``e1``, ... for the columns."""
    ids = ids_of(deletes[0])
    columns = ", ".join(f"e{id_} {engine_type(fields[id_].field_type)}" for id_ in ids)
    engine.execute(f"CREATE TABLE {name} (source VARCHAR, {columns})")
    for delete in deletes:
        file = path(delete.file.file_path)
        source = _parquet({delete}, path)
        layout = FileLayout(file, None)
        values = ", ".join(layout.project(fields[column], {}) for column in ids)
        engine.execute(
            f"INSERT INTO {name} SELECT DISTINCT {quote_text(file)}, {values} "  # noqa: S608 our own names
            f"FROM read_parquet({source}, hive_partitioning=false)"
        )


def quoted_set(ids: Sequence[int], view: str) -> str:
    """Return the quoted name of the table of an equality set of a view."""
    return quote_name(f"{view}_equal_{'_'.join(map(str, ids))}")


def _parquet(deletes: Iterable[DeleteFile], path: PathOf) -> str:
    paths = []
    for delete in deletes:
        if delete.file.file_format != FileFormat.PARQUET:
            raise StatementError(
                "NOT_SUPPORTED",
                f"Deletes in files of format {delete.file.file_format.value} are not supported, only Parquet: "
                f"{delete.file.file_path}",
                remedy="Compact the table with the engine that wrote it.",
            )
        paths.append(path(delete.file.file_path))
    return f"[{', '.join(quote_text(name) for name in sorted(paths))}]"
