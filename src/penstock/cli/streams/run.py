"""``penstock run``: runs a declared pipeline on Spark, until it is done or a signal stops it."""

import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from penstock.cli.options import FILE, PATH
from penstock.cli.signals import stop_on_signals
from penstock.cli.streams.checkpoint_lock import checkpoint_lock
from penstock.cli.streams.init import short_form, short_options
from penstock.cli.streams.run_output import RunOutput
from penstock.cli.streams.spark_options import session_options
from penstock.cli.streams.spark_runs import run_options
from penstock.cli.streams.topic_schema import pipeline_of
from penstock.client.connection import open_client
from penstock.lake.reading import LakeReader
from penstock.pipelines import Pipeline
from penstock.pipelines.folder import read_pipelines
from penstock.settings.home import Home
from penstock.spark.decode.opening import open_versions
from penstock.spark.running.many import exit_code, run_together
from penstock.spark.running.runner import RunOptions, run, session_settings
from penstock.spark.running.upgrade import check_upgrade
from penstock.spark.session import lake_configuration
from penstock.spark.sources.kinds import stream_source
from penstock.spark.transform.apply import Transformer

__all__ = ["command"]


@click.command("run")
@click.argument("pipeline_file", required=False, metavar="[PIPELINE.yaml|DIRECTORY]", type=PATH)
@click.option(
    "--once", is_flag=True, help="Read the records that the topic has now, then exit, whatever trigger is declared."
)
@click.option("--dry-run", is_flag=True, help="Only check the declaration, the broker and the registry.")
@click.option("--metrics", type=FILE, help="File for one JSON line per batch.")
@click.option("--metrics-port", type=click.IntRange(0, 65_535), help="Port for Prometheus, at /metrics; 0 takes a free one.")
@click.option("--metrics-host", default="127.0.0.1", show_default=True, help="Address for Prometheus.")
@click.option(
    "--resume-from-ledger", is_flag=True, help="Begin a new checkpoint at the last offsets that the ledger committed."
)
@click.option(
    "--jvm-restarts",
    type=click.IntRange(0, 1000),
    help="Restarts of Spark's JVM in a row, without a committed batch between. [default: batchMaxRetries]",
)
@session_options
def command(  # noqa: PLR0917 - click passes them by name
    pipeline_file: Path | None,
    once: bool,
    dry_run: bool,
    metrics: Path | None,
    metrics_port: int | None,
    metrics_host: str,
    resume_from_ledger: bool,
    jvm_restarts: int | None,
    home: Path | None,
    topic: str | None,
    table: str | None,
    schema: str | None,
    partition_by: str | None,
    location: str | None,
    **session: Any,
) -> None:
    """Run the pipeline that PIPELINE.yaml declares, all of a DIRECTORY's in one Spark, or one from --topic to --table.

    SIGTERM and SIGINT stop it cleanly, after the current batch.
    """
    together = pipeline_file is not None and pipeline_file.is_dir()
    stop = stop_on_signals("the current batches" if together else "the current batch")
    if pipeline_file is not None and together:
        pipelines = read_pipelines(
            pipeline_file, os.environ, read=lambda path, environment: pipeline_of(path, None, environment or {}, waits=None)
        )
    else:
        waits = None if once or dry_run else stop
        pipelines = (
            pipeline_of(pipeline_file, short_form(topic, table, schema, partition_by, location), os.environ, waits=waits),
        )
    if dry_run:
        for pipeline in pipelines:
            _check(pipeline, session["lake"])
        return
    where = Home.at(home, os.environ)
    name = pipeline_file.resolve().name if pipeline_file is not None and together else pipelines[0].name
    options = replace(
        run_options(pipelines, name=name, where=where, **session),
        once=once,
        metrics=metrics,
        resume_from_ledger=resume_from_ledger,
        stop=stop,
        jvm_restarts=jvm_restarts,
    )
    output = RunOutput(pipelines, together=together)
    if metrics_port is not None:
        output.serve(metrics_host, metrics_port)
    with ExitStack() as locks:
        for pipeline in pipelines:
            locks.enter_context(checkpoint_lock(pipeline.checkpoint, f"pipeline {pipeline.name}", where.run))
        if together:
            sys.exit(_run_all(pipelines, options, output, name))
        output.ended(run(pipelines[0], options=output.followed(pipelines[0], options)))


def _run_all(pipelines: Sequence[Pipeline], options: RunOptions, output: RunOutput, name: str) -> int:
    """Run the pipelines of a folder; return the exit code."""
    outcomes = run_together(
        pipelines,
        lambda pipeline: output.followed(pipeline, options),
        session_settings(options),
        run,
        name=name,
        on_end=output.one_ended,
    )
    failed = sum(outcome.error is not None for outcome in outcomes)
    click.echo(f"{len(outcomes)} pipelines: {len(outcomes) - failed} done or stopped, {failed} failed.")
    return exit_code(outcomes)


def _check(pipeline: Pipeline, lake: Path | None) -> None:
    stream_source(pipeline.source, RunOptions().fetch_secret).check()
    lake_configuration(lake, pipeline.locations.values())
    changed = check_upgrade(LakeReader(lake, lambda: open_client("s3")), pipeline)
    versions = open_versions(pipeline.decode)
    versions.refresh()
    plan = versions.plan()
    Transformer(pipeline.transform)  # loads the Python steps
    click.echo(f"Pipeline {pipeline.name} ({pipeline.origin}) is declared correctly.")
    click.echo(f"  source       {pipeline.source.description}: reached")
    click.echo(f"  schema       {versions.name}: {len(plan.writers)} versions, read as version {plan.reader.number}")
    for sink in pipeline.sinks:
        click.echo(f"  {sink.name:<12} {sink.description}")
    click.echo(f"  dead letters {pipeline.dead_letters.location}")
    click.echo(f"  checkpoint   {pipeline.checkpoint}")
    for change in changed:
        click.echo(f"  changed      {change}")


command.params.extend(short_options(required=False))
