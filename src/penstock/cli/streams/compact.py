"""``penstock compact``: makes small files of tables large ones, while streams write to them and queries read them."""

import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click
import orjson
from pyspark.sql import SparkSession

from penstock.cli.options import FILE
from penstock.cli.signals import stop_on_signals
from penstock.cli.streams.compact_formats import FormatSink, format_sinks, maintain, report_line
from penstock.cli.streams.spark_options import session_options
from penstock.cli.streams.spark_runs import run_options
from penstock.client.catalog import CatalogClient
from penstock.errors import InvalidInput, PenstockError
from penstock.local.artefacts import class_path
from penstock.pipelines import ParquetSink, Pipeline, read_pipeline
from penstock.settings.home import Home
from penstock.settings.units import parse_duration, parse_size
from penstock.spark.maintenance.settings import CompactionSettings, PartitionReport
from penstock.spark.maintenance.table import compact_table
from penstock.spark.running.runner import session_settings
from penstock.spark.session import open_session

__all__ = ["command"]


@click.command("compact")
@click.argument("pipeline_file", metavar="[PIPELINE.yaml]", required=False, type=FILE)
@click.option("--table", "names", multiple=True, metavar="DATABASE.TABLE", help="A table of the catalog; repeatable.")
@click.option("--older-than", default="24h", show_default=True, help="Age from which on a partition counts as closed.")
@click.option(
    "--target-file-size", "target", metavar="SIZE", help="Size of the new files. [default: the sink's, otherwise 128MB]"
)
@click.option(
    "--min-files", type=click.IntRange(2), default=2, show_default=True, help="Leave partitions with fewer small files."
)
@click.option("--grace", default="1h", show_default=True, help="Time that the old files stay, for queries that read them.")
@click.option("--every", metavar="DURATION", help="Go on, and compact again after each DURATION, until a signal.")
@click.option("--dry-run", is_flag=True, help="Only show what would be compacted.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a partition.")
@session_options
def command(  # noqa: PLR0917 - click passes them by name
    pipeline_file: Path | None,
    names: tuple[str, ...],
    older_than: str,
    target: str | None,
    min_files: int,
    grace: str,
    every: str | None,
    dry_run: bool,
    as_json: bool,
    home: Path | None,
    **session: Any,
) -> None:
    """Make small files large ones in the tables of PIPELINE.yaml, or in those of --table.

    Tables of Iceberg and Delta are maintained by the procedures of their formats. Streams may go on to write, and queries
    to read. After a kill, the next run goes on.
    """
    settings = CompactionSettings(older_than=parse_duration(older_than), min_files=min_files, grace=parse_duration(grace))
    size = None if target is None else parse_size(target)
    pipelines, formats = format_sinks(pipeline_file)
    tables = _tables(pipeline_file, names, settings, size, needed=not formats)
    pause = None if every is None else parse_duration(every)
    stop = stop_on_signals("the current tables")
    spark = _spark(tables, pipelines, Home.at(home, os.environ), session)

    def one_round() -> PenstockError | None:
        failed = _round(spark, tables, dry_run=dry_run, as_json=as_json)
        return _procedures(spark, formats, settings, size, dry_run=dry_run, as_json=as_json) or failed

    try:
        failed = one_round()
        while pause is not None and not stop.wait(pause):
            failed = one_round()
    finally:
        spark.stop()
    if failed is not None:
        raise failed


def _tables(
    pipeline_file: Path | None, names: Sequence[str], settings: CompactionSettings, target: int | None, *, needed: bool
) -> dict[tuple[str, str], CompactionSettings]:
    """Return database and name of each table of Parquet files, with its settings; ``needed``: there must be one."""
    if (pipeline_file is None) == (not names):
        raise InvalidInput(
            "A compaction is of PIPELINE.yaml or of tables.", remedy="Name the file, or --table DATABASE.TABLE."
        )
    tables: dict[tuple[str, str], CompactionSettings] = {}
    for name in names:
        database, dot, table = name.partition(".")
        if not (database and dot and table):
            raise InvalidInput(f"'{name}' is not DATABASE.TABLE.")
        tables[database, table] = _with(settings, target)
    for sink in read_pipeline(pipeline_file).sinks if pipeline_file is not None else ():
        if isinstance(sink, ParquetSink) and sink.catalog is not None:
            tables[sink.catalog.database, sink.catalog.table] = _with(settings, target, sink)
    if not tables and needed:
        raise InvalidInput(
            f"{pipeline_file} has no sink whose files can be compacted: Iceberg, Delta, or Parquet in the catalog.",
            remedy="Give the sink a 'catalog'; only there old and new files can be exchanged at once.",
        )
    return tables


def _with(settings: CompactionSettings, target: int | None, sink: ParquetSink | None = None) -> CompactionSettings:
    return CompactionSettings(
        older_than=settings.older_than,
        min_files=settings.min_files,
        grace=settings.grace,
        target_file_size=target or settings.target_file_size,
        compression=settings.compression if sink is None else sink.compression,
    )


def _spark(
    tables: dict[tuple[str, str], CompactionSettings], pipelines: Sequence[Pipeline], where: Home, session: dict[str, Any]
) -> SparkSession:
    client = CatalogClient()
    locations = [client.table(*name).get("StorageDescriptor", {}).get("Location", "") for name in tables]
    locations += [location for pipeline in pipelines for sink in pipeline.sinks for location in sink.locations]
    options = run_options(pipelines, name="compact", where=where, **session)
    if options.lake is None and any(location.startswith(("s3://", "s3a://")) for location in locations):
        options = replace(options, jars=list(dict.fromkeys([*options.jars, *class_path("s3a")])))
    return open_session(session_settings(options), name="penstock compact", locations=locations)


def _round(
    spark: SparkSession, tables: dict[tuple[str, str], CompactionSettings], *, dry_run: bool, as_json: bool
) -> PenstockError | None:
    """Compact each table; return the last error, after all tables were tried."""
    failed = None
    for (database, table), settings in tables.items():
        try:
            reports = compact_table(spark, database, table, settings, dry_run=dry_run)
        except PenstockError as error:
            failed = error
            click.echo(f"penstock: {error}", err=True)
            continue
        for report in reports:
            click.echo(orjson.dumps(asdict(report)) if as_json else _line(report))
        if not reports and not as_json:
            click.echo(f"{database}.{table}: nothing to compact.")
    return failed


def _procedures(
    spark: SparkSession,
    sinks: Sequence[FormatSink],
    settings: CompactionSettings,
    target: int | None,
    *,
    dry_run: bool,
    as_json: bool,
) -> PenstockError | None:
    """Maintain each table of Iceberg or Delta; return the last error, after all were tried."""
    failed = None
    for sink in sinks:
        if dry_run:
            click.echo(f"{sink.description}: the format's own procedures, which have no dry run.", err=as_json)
            continue
        try:
            for report in maintain(spark, sink, settings, target):
                click.echo(orjson.dumps(asdict(report)) if as_json else report_line(report))
        except PenstockError as error:
            failed = error
            click.echo(f"penstock: {error}", err=True)
    return failed


def _line(report: PartitionReport) -> str:
    before = f"{report.files_before:,} files, {_size(report.bytes_before)}"
    where = f"{report.table} {report.partition}"
    if report.done == "planned":
        return f"{where}: {before} would be compacted."
    after = f"{report.files_after:,} files, {_size(report.bytes_after or 0)}"
    old_files = "old files deleted" if report.done == "deleted" else "old files kept for the grace time"
    return f"{where}: {before} to {after}; {old_files}."


def _size(count: int) -> str:
    for unit, size in (("GB", 2**30), ("MB", 2**20), ("KB", 2**10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
