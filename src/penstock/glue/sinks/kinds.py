"""The sinks of all types of connections and of all kinds of tables; a new one is a module and a row here."""

from collections.abc import Callable, Mapping
from typing import Any, cast

from pyspark.sql import DataFrame

from penstock.errors import InvalidInput
from penstock.glue.connections.databases import ANY, KINDS
from penstock.glue.library.connection_types import type_remedy
from penstock.glue.sinks import dynamodb, files, jdbc, lake_tables, streams
from penstock.glue.sinks.formats import FORMATS
from penstock.glue.sinks.port import Sink, TableSink, Write
from penstock.glue.sources.dynamodb import is_dynamodb_table
from penstock.glue.sources.jdbc import is_database_table
from penstock.glue.sources.lake_tables import is_delta, is_iceberg
from penstock.glue.sources.stream_tables import is_stream

__all__ = ["WRITABLE", "check_kind", "write", "write_table"]

_SINKS: Mapping[str, Sink] = {
    "s3": files.write,
    "file": files.write,
    **dict.fromkeys(FORMATS, files.write),
    **dict.fromkeys([ANY, *KINDS], jdbc.write),
    "dynamodb": dynamodb.write,
    "iceberg": lake_tables.write_iceberg,
    "delta": lake_tables.write_delta,
    "kafka": streams.write_kafka,
    "kinesis": streams.write_kinesis,
}
"""By connection type; a format as the type is that of files."""

WRITABLE = frozenset(_SINKS)
"""The types of connections that can be written."""

_TABLES: tuple[tuple[Callable[[Mapping[str, Any]], bool], TableSink], ...] = (
    (is_stream, streams.to_table),
    (is_database_table, jdbc.to_table),
    (is_dynamodb_table, dynamodb.to_table),
    (is_iceberg, lake_tables.to_iceberg_table),
    (is_delta, lake_tables.to_delta_table),
    (files.is_files, files.to_table),
)
"""By what a table is; the first that matches."""


def check_kind(connection_type: str) -> None:
    """Raise :class:`InvalidInput` for a connection type that is not supported."""
    if connection_type not in _SINKS:
        raise InvalidInput(
            f"Connection type {connection_type!r} is not supported for writing.",
            remedy=type_remedy(connection_type, _SINKS.keys(), writes=True),
        )


def write(request: Write, frame: DataFrame) -> None:
    """Write ``frame`` to the connection. Raises :class:`InvalidInput` for a type that is not supported."""
    check_kind(request.connection_type)
    _SINKS[request.connection_type](request, frame)


def write_table(request: Write, frame: DataFrame) -> None:
    """Write ``frame`` to the table ``request`` names. Raises :class:`penstock.errors.NotFound` if it does not exist."""
    assert request.database is not None
    assert request.table is not None
    table_now = cast("Mapping[str, Any]", request.session.catalog(request.catalog_id).table(request.database, request.table))
    for matches, sink in _TABLES:
        if matches(table_now):
            sink(request, table_now, frame)
            return
    raise InvalidInput(
        f"Table {request.database}.{request.table} is of no kind that can be written.",
        remedy="Write to its location with write_dynamic_frame.from_options.",
    )
