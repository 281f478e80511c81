"""How the files of a Parquet sink are written."""

import math
from collections.abc import Iterable

from pyspark.sql import DataFrame

from penstock.lake.ledger import Manifest
from penstock.pipelines.sinks.parquet import ParquetSink

__all__ = ["records_per_file", "row_bytes", "task_count", "write_files"]


def row_bytes(batches: Iterable[Manifest], sink: ParquetSink) -> float | None:
    """Return the mean size of a row in the sink's files of committed batches; None without rows."""
    rows = size = 0
    for manifest in batches:
        rows += int(manifest.facts.get("sinks", {}).get(sink.name, {}).get("rows", 0))
        size += sum(move.size for move in manifest.moves if move.final.startswith(f"{sink.location}/"))
    return size / rows if rows and size else None


def task_count(sink: ParquetSink, rows: int, *, row_bytes: float | None, parallelism: int) -> int:
    """Return how many tasks write ``rows`` rows: each writes a file in each of its partitions.

    ``row_bytes``: size of a row in the files of earlier batches. With it there are more tasks than ``parallelism`` (Spark's
    cores) only if the files would be larger than the target.
    """
    by_rows = max(1, math.ceil(rows / sink.rows_per_task))
    if row_bytes is None:
        return by_rows
    return max(min(by_rows, parallelism), math.ceil(rows * row_bytes / sink.target_file_size))


def records_per_file(sink: ParquetSink, *, row_bytes: float | None) -> int:
    """Return after how many rows a task begins another file of a partition."""
    if not row_bytes:
        return sink.max_records_per_file
    return max(1, min(sink.max_records_per_file, round(sink.target_file_size / row_bytes)))


def write_files(rows: DataFrame, sink: ParquetSink, folder: str, *, row_bytes: float | None = None) -> None:
    """Write ``rows`` below ``folder`` a folder for each of its partitions. ``row_bytes``: see :func:`task_count`."""
    writer = rows.write.mode("append").option("compression", sink.compression).partitionBy(*sink.partition_by)
    writer.option("maxRecordsPerFile", records_per_file(sink, row_bytes=row_bytes)).parquet(folder)
