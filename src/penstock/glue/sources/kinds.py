"""The sources of all types of connections and of all kinds of tables; a new one is a module and a row here."""

from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame

from penstock.errors import InvalidInput
from penstock.glue.connections.databases import ANY, KINDS
from penstock.glue.library.connection_types import type_remedy
from penstock.glue.sources import dynamodb, file_tables, files, jdbc, kafka, kinesis, lake_tables, stream_tables
from penstock.glue.sources.formats import FORMATS
from penstock.glue.sources.port import Read, Source, Table, TableSource

__all__ = ["READABLE", "read", "read_stream", "read_table"]

_STREAMS: Mapping[str, Source] = {
    "kafka": kafka.stream,
    "kinesis": kinesis.stream,
}
"""By connection type: streams, for forEachBatch."""

_BATCHES: Mapping[str, Source] = {
    "kafka": kafka.rows,
    "s3": files.read,
    "file": files.read,
    **dict.fromkeys(FORMATS, files.read),
    **dict.fromkeys([ANY, *KINDS], jdbc.read),
    "dynamodb": dynamodb.read,
    "iceberg": lake_tables.read_iceberg,
    "delta": lake_tables.read_delta,
}
"""By connection type: reads of everything that is there now."""

READABLE = frozenset({*_STREAMS, *_BATCHES})
"""The types of connections that can be read."""

_TABLES: tuple[tuple[Callable[[Table], bool], TableSource], ...] = (
    (stream_tables.is_stream, stream_tables.stream),
    (jdbc.is_database_table, jdbc.rows),
    (dynamodb.is_dynamodb_table, dynamodb.rows),
    (lake_tables.is_iceberg, lake_tables.iceberg_rows),
    (lake_tables.is_delta, lake_tables.rows_of_delta),
    (file_tables.is_files, file_tables.rows),
)
"""By what a table is; the first that matches."""


def read_stream(read: Read) -> DataFrame | None:
    """Return the stream of ``read``, None if its type of connection has none."""
    opener = _STREAMS.get(read.connection_type)
    if opener is None:
        return None
    if read.format is not None or read.format_options:
        raise InvalidInput(
            "A stream does not use the option format.",
            remedy="Describe the records in connection_options: classification, schema.",
        )
    return opener(read)


def read(request: Read) -> DataFrame:
    """Return what the connection has now. Raises :class:`InvalidInput` for a type that is not supported."""
    reader = _BATCHES.get(request.connection_type)
    if reader is None and request.connection_type in _STREAMS:
        raise InvalidInput(
            f"Connection type {request.connection_type!r} is read as a stream.",
            remedy="Read it with create_data_frame.from_options, and give the stream to forEachBatch.",
        )
    if reader is None:
        raise InvalidInput(
            f"Connection type {request.connection_type!r} is not supported for reading.",
            remedy=type_remedy(request.connection_type, {*_STREAMS, *_BATCHES}, writes=False),
        )
    return reader(request)


def read_table(request: Read, table: Table) -> DataFrame:
    """Return the rows, or the stream, of a table of the catalog. Raises :class:`InvalidInput` for one of no known kind."""
    for matches, source in _TABLES:
        if matches(table):
            return source(request, table)
    raise InvalidInput(
        f"Table {table.get('DatabaseName', '')}.{table.get('Name', '')} is of a kind that scripts cannot read.",
        remedy="Give it a classification (csv, json, parquet, avro, orc, xml), or typeOfData kafka or kinesis.",
    )
