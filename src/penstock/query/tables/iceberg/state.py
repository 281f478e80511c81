"""A table as its current metadata file describes it, and the snapshot that a query reads."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.snapshots import Snapshot
from sqlglot import exp

from penstock.catalog.model import Table
from penstock.errors import DataProblem, InvalidInput, NotFound
from penstock.lake.iceberg.files import MetadataFiles
from penstock.lake.iceberg.table_metadata import read_table
from penstock.lake.locations import LakePaths
from penstock.query.tables.port import Evaluator
from penstock.sql.errors import Position, StatementError

__all__ = ["IcebergState", "Version", "load", "read_version"]

METADATA_LOCATION = "metadata_location"


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergState:
    """A table at one of its metadata files."""

    table: Table
    location: str
    """The metadata file."""
    document: Mapping[str, Any]
    """The file's JSON, in the form of :mod:`penstock.lake.iceberg.table_metadata`."""
    metadata: TableMetadata

    @property
    def name(self) -> str:
        """database.table"""
        return f"{self.table.database}.{self.table.name}"


@dataclass(frozen=True, slots=True)
class Version:
    """What a query reads: a snapshot, None for a table without rows, under a schema."""

    snapshot: Snapshot | None
    schema: Schema


def load(table: Table, lake: LakePaths) -> IcebergState:
    """Read the metadata file of ``table``. Raises :class:`StatementError` if it is missing or cannot be read."""
    name = f"{table.database}.{table.name}"
    location = table.parameters.get(METADATA_LOCATION)
    if not location:
        raise StatementError(
            "ICEBERG_INVALID_METADATA",
            f"Table '{name}' has no parameter {METADATA_LOCATION}.",
            remedy="Register the table with its metadata file.",
        )
    try:
        raw = MetadataFiles(lake).read(location)
        document = read_table(raw)
        metadata = TableMetadataUtil.parse_obj(raw)
    except (NotFound, DataProblem) as error:
        raise StatementError("ICEBERG_INVALID_METADATA", f"Table '{name}': {error.message}", remedy=error.remedy) from None
    except InvalidInput as error:
        raise StatementError("NOT_SUPPORTED", f"Table '{name}': {error.message}", remedy=error.remedy) from None
    except (ValidationError, ValueError, TypeError, KeyError) as error:
        raise StatementError(
            "NOT_SUPPORTED", f"Table '{name}' has metadata that cannot be read: {str(error).splitlines()[0][:300]}"
        ) from None
    return IcebergState(table=table, location=location, document=document, metadata=metadata)


def read_version(state: IcebergState, version: exp.Version | None, position: Position | None, engine: Evaluator) -> Version:
    """Return what FOR VERSION AS OF or FOR TIMESTAMP AS OF means for the table. Raises :class:`StatementError`.

    A snapshot and a tag are read under the snapshot's schema, a branch under the table's: as Iceberg's libraries do.
    """
    metadata = state.metadata
    if version is None:
        return Version(metadata.current_snapshot(), metadata.schema())
    expression = version.expression
    if version.name.upper() == "TIMESTAMP":
        at = _instant(expression, position, engine)
        snapshot = _snapshot_at(metadata, at)
        if snapshot is None:
            when = datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
            raise StatementError(
                "ICEBERG_INVALID_SNAPSHOT_ID" if not metadata.snapshots else "INVALID_ARGUMENTS",
                f"No version history table {state.name} at or before {when} UTC",
                position=position,
            )
        return Version(snapshot, _schema_of(metadata, snapshot))
    if isinstance(expression, exp.Literal) and expression.is_string:
        return _by_ref(state, expression.name, position)
    if isinstance(expression, exp.Literal) and re.fullmatch(r"\d{1,19}", expression.name):
        snapshot = metadata.snapshot_by_id(int(expression.name))
        if snapshot is None:
            raise StatementError(
                "INVALID_ARGUMENTS", f"Iceberg snapshot ID does not exists: {expression.name}", position=position
            )
        return Version(snapshot, _schema_of(metadata, snapshot))
    raise StatementError(
        "INVALID_ARGUMENTS",
        "FOR VERSION AS OF needs the number of a snapshot, or the name of a branch or a tag in quotes.",
        position=position,
    )


def _by_ref(state: IcebergState, name: str, position: Position | None) -> Version:
    metadata = state.metadata
    ref = metadata.refs.get(name)
    snapshot = metadata.snapshot_by_id(ref.snapshot_id) if ref is not None else None
    if ref is None or snapshot is None:
        raise StatementError(
            "INVALID_ARGUMENTS", f"Cannot find snapshot with reference name: {name[:200]}", position=position
        )
    if ref.snapshot_ref_type is SnapshotRefType.BRANCH:
        return Version(snapshot, metadata.schema())
    return Version(snapshot, _schema_of(metadata, snapshot))


def _schema_of(metadata: TableMetadata, snapshot: Snapshot) -> Schema:
    if snapshot.schema_id is None:
        return metadata.schema()
    return metadata.schema_by_id(snapshot.schema_id) or metadata.schema()


def _snapshot_at(metadata: TableMetadata, at: int) -> Snapshot | None:
    """Return the snapshot that was current at ``at``, by the table's log."""
    current = None
    for entry in metadata.snapshot_log:
        if entry.timestamp_ms <= at:
            current = entry.snapshot_id
    return metadata.snapshot_by_id(current) if current is not None else None


def _instant(expression: exp.Expr, position: Position | None, engine: Evaluator) -> int:
    """Return milliseconds since 1970 of an expression without columns, as Athena takes it: a timestamp or a date in UTC."""
    if expression.find(exp.Column, exp.Query, exp.Subquery) is not None:
        raise StatementError("INVALID_ARGUMENTS", "FOR TIMESTAMP AS OF needs a constant.", position=position)
    return engine.instant(expression.sql("duckdb"), position)
