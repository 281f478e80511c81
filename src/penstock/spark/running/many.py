"""Several pipelines in one Spark: a thread, a session and a share of the tasks for each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.errors import PenstockError
from penstock.pipelines.folder import check_separate
from penstock.pipelines.model import Pipeline
from penstock.spark.running.host import HostSettings, SparkHost
from penstock.spark.running.job import PipelineJob, RunInSession
from penstock.spark.running.options import RunOptions, RunReport
from penstock.spark.session import SessionSettings

__all__ = ["PipelineOutcome", "exit_code", "run_together"]

_FAIR: Mapping[str, str] = {"spark.scheduler.mode": "FAIR"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineOutcome:
    """How one of several pipelines ended. ``report`` counts what it committed, also before an ``error``."""

    pipeline: str
    report: RunReport
    error: Exception | None = None


def run_together(
    pipelines: Sequence[Pipeline],
    options: Callable[[Pipeline], RunOptions],
    session: SessionSettings,
    run: RunInSession,
    *,
    name: str,
    on_end: Callable[[PipelineOutcome], None] = lambda _: None,
) -> list[PipelineOutcome]:
    """Run the pipelines until each is done, stopped or failed; one that fails does not end the others.

    ``options`` gives each its options, which share ``stop``. ``name`` is for Spark. ``on_end`` is called as soon
    as a pipeline ended for good, perhaps in its thread. Spark's JVM is started again as often
    as the most patient pipeline allows.
    Raises :class:`InvalidInput` if names or locations are not separate, :class:`EnvironmentProblem` if Spark does not start.
    """
    check_separate(pipelines)
    chosen = {pipeline.name: options(pipeline) for pipeline in pipelines}
    first = next(iter(chosen.values()))
    jobs = [_TellingJob(pipeline, chosen[pipeline.name], run, on_end) for pipeline in pipelines]
    settings = HostSettings(
        session=replace(session, extra={**_FAIR, **session.extra}),
        name=name,
        locations=[location for pipeline in pipelines for location in pipeline.locations.values()],
        stop=first.stop,
        restarts=max(pipeline.batch_max_retries for pipeline in pipelines)
        if first.jvm_restarts is None
        else first.jvm_restarts,
        on_restart=first.on_restart,
    )
    ended = SparkHost(settings).run(jobs)
    return [job.outcome(outcome.error) for job, outcome in zip(jobs, ended, strict=True)]


class _TellingJob(PipelineJob):
    """Tells how it ended as soon as it did, and not when all have."""

    def __init__(
        self, pipeline: Pipeline, options: RunOptions, run: RunInSession, on_end: Callable[[PipelineOutcome], None]
    ) -> None:
        super().__init__(pipeline, options, run, pooled=True)
        self._on_end = on_end

    def outcome(self, error: Exception | None) -> PipelineOutcome:
        """Return how it ended."""
        return PipelineOutcome(pipeline=self.name, report=self.reported(), error=error)

    def ended(self, error: Exception | None) -> None:
        """See :class:`~penstock.spark.running.host.Job`."""
        self._on_end(self.outcome(error))


def exit_code(outcomes: Sequence[PipelineOutcome]) -> int:
    """Return the exit code of a run of several pipelines: 0, or the largest of those that failed."""
    errors = [outcome.error for outcome in outcomes if outcome.error is not None]
    return max((error.exit_code if isinstance(error, PenstockError) else 1 for error in errors), default=0)
