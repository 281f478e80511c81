"""The lines that ``penstock run`` prints, and the metrics that it serves, for one pipeline or several."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click

from penstock.cli.failures import explained
from penstock.pipelines import Pipeline
from penstock.spark.metrics import BatchMetrics
from penstock.spark.running.many import PipelineOutcome
from penstock.spark.running.options import RunOptions, RunReport

__all__ = ["RunOutput", "batch_line"]


class RunOutput:
    """Follows the pipelines of a run. Lines of several pipelines begin with the pipeline's name."""

    def __init__(self, pipelines: Sequence[Pipeline], *, together: bool) -> None:
        self._pipelines = pipelines
        self._together = together
        self._lag: dict[str, int] = {}
        self._restarts = 0
        self._metrics: Any = None

    def serve(self, host: str, port: int) -> None:
        """Serve the metrics for Prometheus. Raises :class:`EnvironmentProblem` if the port is taken."""
        from penstock.spark.running.prometheus import PipelineMetrics  # noqa: PLC0415 - only who asks for it waits for it

        self._metrics = PipelineMetrics(pipeline.name for pipeline in self._pipelines)
        bound_port = self._metrics.serve(host, port)
        click.echo(f"Metrics: http://{host}:{bound_port}/metrics")

    def followed(self, pipeline: Pipeline, options: RunOptions) -> RunOptions:
        """Return the options of a pipeline whose batches, restarts and start are printed and counted."""

        def started() -> None:
            click.echo(f"Pipeline {pipeline.name} runs: {pipeline.source.description} to {pipeline.targets}.")
            if self._metrics is not None:
                self._metrics.on_start(pipeline.name)

        return replace(options, on_batch=self._on_batch, on_start=started, on_restart=self._on_restart)

    def _on_batch(self, metrics: BatchMetrics) -> None:
        line = batch_line(metrics, self._lag.get(metrics.pipeline))
        click.echo(f"{metrics.pipeline}: {line}" if self._together else line)
        if metrics.lag.get("records") is not None:
            self._lag[metrics.pipeline] = metrics.lag["records"]
        if self._metrics is not None:
            self._metrics.on_batch(metrics)

    def _on_restart(self, sentence: str, restarts: int) -> None:
        click.echo(f"penstock: {sentence}", err=True)
        self._restarts = restarts
        if self._metrics is not None:
            self._metrics.on_restart()

    def one_ended(self, outcome: PipelineOutcome) -> None:
        """Say how one of several pipelines ended."""
        if self._metrics is not None:
            self._metrics.on_end(outcome.pipeline)
        if outcome.error is None:
            click.echo(_report_line(outcome.pipeline, outcome.report))
        else:
            click.echo(f"penstock: pipeline {outcome.pipeline} failed: {explained(outcome.error)}", err=True)

    def ended(self, report: RunReport) -> None:
        """Say how the only pipeline ended."""
        click.echo(_report_line(self._pipelines[0].name, report))


def _report_line(pipeline: str, report: RunReport) -> str:
    return (
        f"Pipeline {pipeline} {'was stopped' if report.stopped else 'is done'}: "
        f"{report.batches:,} batches, {report.rows:,} rows, {report.dead:,} dead letters."
    )


def batch_line(metrics: BatchMetrics, lag_before: int | None) -> str:
    """Return one batch as a line; its lag is part of it if it has grown since ``lag_before`` (records; None: unknown)."""
    seconds = sum(metrics.seconds.values())
    versions = ", ".join(f"v{number}: {count:,}" for number, count in sorted(metrics.versions.items()))
    dead = (
        f", {metrics.dead:,} dead ({', '.join(f'{reason} {n:,}' for reason, n in metrics.reasons.items())})"
        if metrics.dead
        else ""
    )
    line = f"Batch {metrics.batch} {metrics.outcome}: {metrics.rows:,} rows ({versions or 'none'}){dead} in {seconds:.1f} s"
    behind, age = metrics.lag.get("records"), metrics.lag.get("seconds")
    if behind is None or lag_before is None or behind <= lag_before:
        return line
    return f"{line}, lag grows: {behind:,} records{'' if age is None else f', {age:,.0f} s'} behind"
