"""Tables of Iceberg and Delta: each write is one commit of theirs."""

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, DataFrameWriter

from penstock.errors import InvalidInput
from penstock.glue.options import Options
from penstock.glue.sinks.port import Write
from penstock.glue.sources.lake_tables import (
    check_class,
    delta_folder,
    iceberg_name,
    iceberg_of_path,
)
from penstock.spark.sinks.delta import one_writer

__all__ = ["to_delta_table", "to_iceberg_table", "write_delta", "write_iceberg"]

_ICEBERG = (
    *("mergeSchema", "check-nullability", "check-ordering", "fanout-enabled", "distribution-mode"),
    *("target-file-size-bytes", "write-format", "compression-codec", "compression-level"),
)
_MODES = ("append", "overwrite")


def to_iceberg_table(write: Write, table: Mapping[str, Any], frame: DataFrame) -> None:
    """Append the rows to an Iceberg table of the catalog."""
    options = Options("the write to an Iceberg table", write.options)
    _append(iceberg_name(write.session.spark, table), options, frame)


def write_iceberg(write: Write, frame: DataFrame) -> None:
    """Append the rows to the Iceberg table whose name is ``path``: ``CATALOG.DATABASE.TABLE``."""
    options = Options("the iceberg sink", write.options)
    _append(iceberg_of_path(write.session.spark, options), options, frame)


def _append(name: str, options: Options, frame: DataFrame) -> None:
    writer = frame.writeTo(name)
    for option in _ICEBERG:
        if (value := options.text(option)) is not None:
            writer = writer.option(option, value)
    writer.append()


def to_delta_table(write: Write, table: Mapping[str, Any], frame: DataFrame) -> None:
    """Append the rows to a Delta table of the catalog."""
    _delta(write, delta_folder(table), Options("the write to a Delta table", write.options), frame)


def write_delta(write: Write, frame: DataFrame) -> None:
    """Write the rows to the Delta table in the folder ``path``, which is made if it is not there."""
    options = Options("the delta sink", write.options)
    path = options.text("path")
    if not path:
        raise InvalidInput("The delta sink needs path.", remedy="Give the table's folder.")
    _delta(write, path, options, frame)


def _delta(write: Write, path: str, options: Options, frame: DataFrame) -> None:
    check_class(write.session.spark, "delta")
    keys = options.raw("partitionKeys") or []
    mode = options.text("mode", "append")
    if mode not in _MODES:
        raise InvalidInput(f"mode is {mode!r}.", remedy=f"Use {' or '.join(_MODES)}.")
    writer: DataFrameWriter = frame.write.format("delta").mode(mode)
    for name in ("mergeSchema", "overwriteSchema", "replaceWhere"):
        if (value := options.text(name)) is not None:
            writer = writer.option(name, value)
    if keys:
        writer = writer.partitionBy(*keys)
    with one_writer(write.session.spark, path):
        writer.save(path)
