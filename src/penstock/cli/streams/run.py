"""``penstock run``: runs a declared pipeline on Spark, until it is done or a signal stops it."""

import os
from pathlib import Path

import click

from penstock.cli.platform.homes import home_option
from penstock.cli.signals import stop_on_signals
from penstock.cli.streams.checkpoint_lock import checkpoint_lock
from penstock.cli.streams.spark_options import (
    configuration_option,
    driver_memory_option,
    lake_option,
    log_option,
    master_option,
)
from penstock.cli.streams.spark_runs import run_arguments
from penstock.client.registry import RegistryClient
from penstock.pipelines import Pipeline, read_pipeline
from penstock.settings.home import Home
from penstock.spark.decode.versions import SchemaVersions
from penstock.spark.metrics import BatchMetrics
from penstock.spark.runner import RunOptions, run
from penstock.spark.session import lake_configuration
from penstock.spark.sources.kinds import stream_source

__all__ = ["command"]


@click.command("run")
@click.argument("pipeline_file", metavar="PIPELINE.yaml", type=click.Path(path_type=Path, dir_okay=False))
@master_option
@click.option(
    "--once", is_flag=True, help="Read the records that the topic has now, then exit, whatever trigger is declared."
)
@click.option("--dry-run", is_flag=True, help="Only check the declaration, the broker and the registry.")
@lake_option
@click.option("--metrics", type=click.Path(path_type=Path, dir_okay=False), help="File for one JSON line per batch.")
@log_option
@driver_memory_option
@click.option(
    "--resume-from-ledger", is_flag=True, help="Begin a new checkpoint at the last offsets that the ledger committed."
)
@click.option(
    "--jvm-restarts",
    type=click.IntRange(0, 1000),
    help="Restarts of Spark's JVM in a row, without a committed batch between. [default: batchMaxRetries]",
)
@configuration_option
@home_option
def command(  # noqa: PLR0917 - click passes them by name
    pipeline_file: Path,
    master: str,
    once: bool,
    dry_run: bool,
    lake: Path | None,
    metrics: Path | None,
    log: Path | None,
    driver_memory: str,
    resume_from_ledger: bool,
    jvm_restarts: int | None,
    configuration: tuple[str, ...],
    home: Path | None,
) -> None:
    """Run the pipeline that PIPELINE.yaml declares. SIGTERM and SIGINT stop it cleanly, after the current batch."""
    pipeline = read_pipeline(pipeline_file)
    if dry_run:
        _check(pipeline, lake)
        return
    where = Home.at(home, os.environ)
    stop = stop_on_signals("the current batch")
    shared = run_arguments(
        [pipeline],
        name=pipeline.name,
        where=where,
        master=master,
        lake=lake,
        log=log,
        driver_memory=driver_memory,
        configuration=configuration,
    )
    options = RunOptions(
        **shared,
        once=once,
        metrics=metrics,
        resume_from_ledger=resume_from_ledger,
        stop=stop,
        on_batch=_show,
        jvm_restarts=jvm_restarts,
        on_restart=lambda sentence, _: click.echo(f"penstock: {sentence}", err=True),
        on_start=lambda: click.echo(f"Pipeline {pipeline.name} runs: {pipeline.source.description} to {pipeline.targets}."),
    )
    with checkpoint_lock(pipeline.checkpoint, f"pipeline {pipeline.name}", where.run):
        report = run(pipeline, options=options)
    click.echo(
        f"Pipeline {pipeline.name} {'was stopped' if report.stopped else 'is done'}: "
        f"{report.batches:,} batches, {report.rows:,} rows, {report.dead:,} dead letters."
    )


def _show(metrics: BatchMetrics) -> None:
    seconds = sum(metrics.seconds.values())
    versions = ", ".join(f"v{number}: {count:,}" for number, count in sorted(metrics.versions.items()))
    dead = (
        f", {metrics.dead:,} dead ({', '.join(f'{reason} {n:,}' for reason, n in metrics.reasons.items())})"
        if metrics.dead
        else ""
    )
    click.echo(
        f"Batch {metrics.batch} {metrics.outcome}: {metrics.rows:,} rows ({versions or 'none'}){dead} in {seconds:.1f} s"
    )


def _check(pipeline: Pipeline, lake: Path | None) -> None:
    stream_source(pipeline.source, RunOptions().fetch_secret).check()
    lake_configuration(lake, pipeline.locations.values())
    versions = SchemaVersions(RegistryClient(attempts=2), pipeline.decode)
    versions.refresh()
    plan = versions.plan()
    click.echo(f"Pipeline {pipeline.name} ({pipeline.origin}) is declared correctly.")
    click.echo(f"  source       {pipeline.source.topic} on {pipeline.source.brokers}: reached")
    click.echo(f"  schema       {versions.name}: {len(plan.writers)} versions, read as version {plan.reader.number}")
    for sink in pipeline.sinks:
        click.echo(f"  {sink.name:<12} {sink.description}")
    click.echo(f"  dead letters {pipeline.dead_letters.location}")
    click.echo(f"  checkpoint   {pipeline.checkpoint}")
