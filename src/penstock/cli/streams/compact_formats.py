"""The part of ``penstock compact`` for tables of Iceberg and Delta, which have procedures of their own."""

import os
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.pipelines import DeltaSink, IcebergSink, Pipeline, read_pipeline
from penstock.spark.maintenance.delta import maintain_delta
from penstock.spark.maintenance.iceberg import maintain_iceberg
from penstock.spark.maintenance.procedures import ProcedureReport, TableMaintenance
from penstock.spark.maintenance.settings import CompactionSettings

__all__ = ["FormatSink", "format_sinks", "maintain", "report_line"]

FormatSink = IcebergSink | DeltaSink
"""A sink whose table has procedures of its own."""


def format_sinks(pipeline_file: Path | None) -> tuple[list[Pipeline], list[FormatSink]]:
    """Return the pipeline of the file, in a list, and its sinks of table formats; nothing without a file."""
    if pipeline_file is None:
        return [], []
    pipeline = read_pipeline(pipeline_file)
    return [pipeline], [sink for sink in pipeline.sinks if isinstance(sink, IcebergSink | DeltaSink)]


def maintain(
    spark: SparkSession, sink: FormatSink, settings: CompactionSettings, target: int | None
) -> list[ProcedureReport]:
    """Run the procedures of the sink's table; ``target`` is the size of new files in bytes, None for the default.

    Raises :class:`ConcurrentModification` if writers were first too often.
    """
    maintenance = TableMaintenance(target_file_size=target or settings.target_file_size, min_files=settings.min_files)
    if isinstance(sink, DeltaSink):
        return maintain_delta(spark, sink, maintenance)
    return maintain_iceberg(spark, sink, maintenance, environment=os.environ)


def report_line(report: ProcedureReport) -> str:
    """Return what a procedure did as a line: ``shop.orders expire_snapshots: deleted_data_files_count 3, ...``."""
    counts = ", ".join(f"{key} {value:,}" for key, value in report.counts.items() if value)
    return f"{report.table} {report.procedure}: {counts or 'nothing to do'}"
