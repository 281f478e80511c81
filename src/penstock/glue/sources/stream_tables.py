"""The connection options of a stream that a table of the catalog describes.

Glue stores them in the parameters of the table and of its storage descriptor: ``typeOfData``, ``classification``, and
``topicName`` with ``connectionName``, or ``streamARN``. Source: "Creating a Data Catalog table for a streaming source",
https://docs.aws.amazon.com/glue/latest/dg/add-job-streaming.html.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame

from penstock.errors import InvalidInput
from penstock.glue.errors import not_supported
from penstock.glue.sources import kafka, kinesis
from penstock.glue.sources.port import Read, Table

__all__ = ["is_stream", "stream", "stream_options"]

_STREAMS = {"kafka": kafka.stream, "kinesis": kinesis.stream}

_KEYS = {
    "kafka": ("connectionName", "bootstrap.servers", "security.protocol", "topicName"),
    "kinesis": ("streamARN", "streamName", "endpointUrl"),
}
_REFERENCE = {
    "SchemaReference": "Declare the stream as a pipeline (docs/pipelines/pipelines.md), which decodes the registry's "
    "frames; or name the columns in the table."
}


def is_stream(table: Table) -> bool:
    """Return whether the table describes a stream."""
    storage = table.get("StorageDescriptor", {})
    stream_types = (part.get("Parameters", {}).get("typeOfData", "") for part in (table, storage))
    return any(connection_type.lower() in _STREAMS for connection_type in stream_types)


def stream(read: Read, table: Table) -> DataFrame:
    """Return the stream that ``table`` describes; the script's options of the source override the table's."""
    connection_type, options = stream_options(table, read.options)
    return _STREAMS[connection_type](replace(read, connection_type=connection_type, options=options))


def stream_options(table: Table, more: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the connection type of ``table`` (the shape Table) and its options, which ``more`` overrides.

    The columns are the schema, unless ``more`` has ``inferSchema``. Raises :class:`InvalidInput` for a table that is not a
    stream.
    """
    storage = table.get("StorageDescriptor", {})
    parameters = {**table.get("Parameters", {}), **storage.get("Parameters", {})}
    name = f"{table.get('DatabaseName', '')}.{table.get('Name', '')}"
    connection_type = str(parameters.get("typeOfData", "")).lower()
    if connection_type not in _KEYS:
        raise InvalidInput(f"Table {name} is not a stream.", remedy="Its parameter typeOfData must be kafka or kinesis.")
    if storage.get("SchemaReference"):
        raise not_supported(_REFERENCE, f"Table {name}", "SchemaReference")
    options = {
        key: parameters[key] for key in (*_KEYS[connection_type], "classification", "delimiter") if parameters.get(key)
    }
    if connection_type == "kafka" and not options.keys() & {"topicName"} and storage.get("Location"):
        options["topicName"] = storage["Location"]
    if connection_type == "kinesis" and not options.keys() & {"streamARN", "streamName"} and storage.get("Location"):
        options["streamName"] = storage["Location"]
    separator = storage.get("SerdeInfo", {}).get("Parameters", {}).get("separatorChar")
    if separator and str(parameters.get("classification", "")).lower() == "csv":
        options.setdefault("delimiter", separator)
    columns = storage.get("Columns", [])
    if columns and str(more.get("inferSchema", "false")).lower() != "true":
        options["schema"] = _ddl(columns)
    return connection_type, {**options, **more}


def _ddl(columns: Sequence[Mapping[str, str]]) -> str:
    return ", ".join(f"`{column['Name']}` {column.get('Type', 'string')}" for column in columns)
