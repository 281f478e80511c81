"""What a statement's owner gives to the process that runs it, and what that process leaves to its owner."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.lake.locations import LakeFolder
from penstock.lake.permitted import TableKey
from penstock.query.ports import Publication
from penstock.query.settings import QuerySettings
from penstock.statements.model import ResultColumn, StatementStatistics
from penstock.statements.work_groups import AUTO

__all__ = [
    "METADATA",
    "RESULT",
    "ROWS",
    "CatalogChange",
    "Commit",
    "Outcome",
    "StatementText",
    "Task",
    "milliseconds_since",
]

RESULT, METADATA = "result", "result.metadata"
"""Names of the files in a task's folder: the rows of the result, and the description of their columns."""
ROWS = "rows.arrow"
"""The file of rows that the owner's Spark writes to a task's folder."""

CatalogChange = tuple[str, Mapping[str, Any]]
"""An operation of Glue, and its request."""


@dataclass(frozen=True, slots=True)
class StatementText:
    """What runs: SQL, and the constants for its question marks in order."""

    sql: str
    parameters: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The input of a statement's process: a statement, the lake that it reads, and an empty folder for its files."""

    id: str
    sql: str
    parameters: Sequence[str]
    database: str | None
    lake: LakeFolder
    settings: QuerySettings
    folder: Path
    output_location: str = ""
    """Where the statement's result goes; tables without a location are below it."""
    engine: str = AUTO
    """What the work group selects, of :data:`penstock.statements.work_groups.ENGINES`."""
    writes: bool = False
    """Whether the statement writes its rows to a table."""
    reuse: bool = False
    """Whether an earlier result exists; then the statement is only planned, which checks what its caller may read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """What a statement leaves to be stored and changed, in this order; ``undo`` takes back the catalog's changes."""

    files: Sequence[Publication] = ()
    changes: Sequence[CatalogChange] = ()
    undo: Sequence[CatalogChange] = ()
    prepared: Publication | None = None
    committed: Publication | None = None
    obsolete: Sequence[str] = ()
    """Entries of ledgers that are removed at the end, in this order: of statements that all readers count."""
    table: TableKey | None = None
    """The table whose files are stored, None for UNLOAD."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished statement: its columns and its statistics."""

    columns: Sequence[ResultColumn]
    statistics: StatementStatistics
    update_count: int | None = None
    """How many rows the statement wrote, changed or deleted; None if it is not one of that kind."""
    written: Sequence[str] = ()
    """``s3://`` names of the data files that it wrote, for the manifest."""
    commit: Commit | None = None
    """What its owner has to store and change, after which the statement has succeeded."""


def milliseconds_since(start: float) -> int:
    """Return the whole milliseconds since ``start`` of the monotonic clock."""
    return int((time.monotonic() - start) * 1000)
