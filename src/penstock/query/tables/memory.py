"""Rows that are in memory when the engine begins: what the catalog, and the metadata of tables, say of themselves."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.query.tables.port import SCHEMA, DataFile
from penstock.sql.types import quote_name

__all__ = ["MemoryScan", "registered"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryScan:
    """A :class:`penstock.query.tables.port.Scan` of rows in memory; they have no files, so nothing counts as scanned."""

    view: str
    rows: pa.Table
    route: str
    hidden: Sequence[str] = ()
    """Columns that ``*`` does not stand for."""
    repeatable: bool = True
    """Whether the same tables have the same rows at any time."""
    files: Sequence[DataFile] = ()
    partitions_read: int = 0
    partitions_total: int = 0

    def install(self, engine: Any) -> None:
        with registered(engine, "memory_rows", self.rows):
            engine.execute(f"CREATE TABLE {SCHEMA}.{quote_name(self.view)} AS SELECT * FROM memory_rows")  # noqa: S608 a quoted name


@contextmanager
def registered(engine: Any, name: str, rows: pa.Table) -> Iterator[None]:
    """Let the engine's statements read ``rows`` under ``name`` meanwhile."""
    engine.register(name, rows)
    try:
        yield
    finally:
        engine.unregister(name)
