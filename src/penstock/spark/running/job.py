"""A pipeline as a job of a host: its report is one over all JVMs that it ran in."""

from collections.abc import Callable
from dataclasses import replace

from pyspark.sql import SparkSession

from penstock.pipelines.model import Pipeline
from penstock.spark.metrics import BatchMetrics
from penstock.spark.running.host import HostSettings, SparkHost
from penstock.spark.running.options import RunOptions, RunReport
from penstock.spark.session import SessionSettings

__all__ = ["PipelineJob", "RunInSession", "run_alone"]

RunInSession = Callable[[Pipeline, SparkSession, RunOptions], RunReport]


class PipelineJob:
    """Runs a pipeline in the sessions of a :class:`~penstock.spark.running.host.SparkHost`."""

    def __init__(self, pipeline: Pipeline, options: RunOptions, run: RunInSession, *, pooled: bool = False) -> None:
        """``run`` runs the pipeline in a session; ``pooled`` gives it its own pool in Spark's fair scheduler."""
        self.pipeline = pipeline
        self._report: RunReport | None = None
        self._options = replace(options, on_batch=self._on_batch)
        self._forward = options.on_batch
        self._run = run
        self._pooled = pooled
        self._last: tuple[str, int] | None = None
        self._batches = self._rows = self._dead = 0

    @property
    def name(self) -> str:
        """Return the pipeline's name."""
        return self.pipeline.name

    def run(self, spark: SparkSession) -> None:
        """See :class:`~penstock.spark.running.host.Job`. Raises what ends the pipeline."""
        if self._pooled:
            spark.sparkContext.setLocalProperty("spark.scheduler.pool", self.name)
        self._report = self._run(self.pipeline, spark, self._options)

    def reported(self) -> RunReport:
        """Return the report over all JVMs; the last one's does not have the batches of those before it."""
        last = self._report or RunReport(batches=0, rows=0, dead=0, read=0, stopped=True)
        return replace(last, batches=self._batches, rows=self._rows, dead=self._dead)

    def ended(self, error: Exception | None) -> None:
        """See :class:`~penstock.spark.running.host.Job`."""

    def committed(self) -> int:
        """Return how many batches were committed, each counted once."""
        return self._batches

    def _on_batch(self, metrics: BatchMetrics) -> None:
        # A batch that is replayed after a kill, or by Spark, was counted.
        if (metrics.query, metrics.batch) != self._last:
            self._last = (metrics.query, metrics.batch)
            self._batches += 1
            self._rows += metrics.rows
            self._dead += metrics.dead
        self._forward(metrics)


def run_alone(pipeline: Pipeline, options: RunOptions, run: RunInSession, session: SessionSettings) -> RunReport:
    """Run one pipeline in its own Spark, which is started again when its JVM dies. Raises what ends the pipeline."""
    job = PipelineJob(pipeline, options, run)
    settings = HostSettings(
        session=session,
        name=pipeline.name,
        locations=pipeline.locations.values(),
        stop=options.stop,
        restarts=pipeline.batch_max_retries if options.jvm_restarts is None else options.jvm_restarts,
        on_restart=options.on_restart,
    )
    [outcome] = SparkHost(settings).run([job])
    if outcome.error is not None:
        raise outcome.error
    return job.reported()
