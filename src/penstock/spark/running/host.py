"""One Spark for one or more pipelines: the JVM is started, and started again when it dies, within a budget of restarts."""

import logging
import tempfile
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from pyspark.sql import SparkSession

from penstock.errors import EnvironmentProblem, PenstockError
from penstock.retries import JVM_START, RetryPolicy
from penstock.spark.jvm import Jvm, JvmDied, JvmExit, forget_session
from penstock.spark.session import SessionSettings, open_session

__all__ = ["Death", "HostSettings", "Job", "Outcome", "SparkHost"]

_log = logging.getLogger(__name__)

_POLL_SECONDS = 0.5
_LOCAL = "spark.local.dir"


class Job(Protocol):
    """One pipeline in a host."""

    @property
    def name(self) -> str:
        """Return the pipeline's name, for messages."""
        ...

    def run(self, spark: SparkSession) -> None:
        """Run until done or stopped; called again in a new session after the JVM died."""
        ...

    def ended(self, error: Exception | None) -> None:
        """Called once, when the job ended for good; ``error`` is None if it is done or was stopped."""
        ...

    def committed(self) -> int:
        """Return a number that has grown if a batch was committed since: the last batch's number, say."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a job ended: ``error`` is None if it is done or was stopped."""

    job: str
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class Death:
    """The end of a JVM in a sentence, and what a user can do about its cause."""

    sentence: str
    remedy: str | None

    @classmethod
    def of(cls, died: JvmExit) -> "Death":
        """Return the death of a JVM that ran."""
        return cls(f"Spark's JVM (process {died.process}) {died.cause}.", died.remedy)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSettings:
    """The start of Spark, and how often it is started again.

    ``restarts`` JVMs may die in a row without a batch committed between; ``on_restart`` gets a sentence for each, and the
    number of restarts so far. ``stop`` ends the pauses between.
    """

    session: SessionSettings
    name: str
    locations: Iterable[str]
    stop: threading.Event
    restarts: int = 3
    pauses: RetryPolicy = JVM_START
    on_restart: Callable[[str, int], None] = lambda *_: None


class SparkHost:
    """Runs jobs in one session."""

    def __init__(self, settings: HostSettings) -> None:
        self._settings = settings
        self.restarts = 0

    def run(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Run the jobs until each is done, stopped or failed; an error of one does not end the others.

        An only job runs in the caller's thread. Raises :class:`EnvironmentProblem` if Spark does not start; jobs that a
        dead JVM ended for good have :class:`JvmDied` as their error.
        """
        outcomes: dict[str, Outcome] = {}
        jobs_left, deaths = list(jobs), 0
        while jobs_left:
            before = [job.committed() for job in jobs]
            try:
                ended, died = self._in_one_jvm(jobs_left)
            except EnvironmentProblem as error:
                if not deaths:
                    raise
                # A JVM that is started again may die, or lack memory, before it runs.
                ended, died = [], Death(error.message, None)
            outcomes |= {outcome.job: outcome for outcome in ended}
            jobs_left = [job for job in jobs_left if job.name not in outcomes]
            if died is None or not jobs_left:
                break
            deaths = 1 if [job.committed() for job in jobs] != before else deaths + 1
            if not self._goes_on(died, deaths, jobs_left, outcomes):
                break
        return [outcomes[job.name] for job in jobs]

    def _goes_on(self, died: Death, deaths: int, left: Sequence[Job], outcomes: dict[str, Outcome]) -> bool:
        """Pause, and return whether Spark is to be started again; if not, end the jobs."""
        error: Exception | None = None
        if deaths > self._settings.restarts or self._settings.stop.is_set():
            error = self._given_up(died, deaths)
        else:
            self._pause(died, deaths)
            if not self._settings.stop.is_set():
                return True
        for job in left:
            job.ended(error)
            outcomes[job.name] = Outcome(job.name, error)
        return False

    def _in_one_jvm(self, jobs: Sequence[Job]) -> tuple[list[Outcome], Death | None]:
        """Run the jobs in a new JVM; return those that ended, and the JVM's death if it died under the others."""
        settings = self._settings
        with tempfile.TemporaryDirectory(prefix="penstock-spark-", ignore_cleanup_errors=True) as scratch:
            # A killed JVM cannot remove its own.
            extra = {_LOCAL: scratch, **settings.session.extra}
            try:
                session = open_session(
                    replace(settings.session, extra=extra), name=settings.name, locations=settings.locations
                )
            except EnvironmentProblem:
                forget_session(None)
                raise
            jvm = Jvm.current()
            try:
                ended = self._run_all(session, jobs)
            finally:
                if jvm is not None and jvm.exit() is not None:
                    forget_session(session)
                else:
                    session.stop()
        lost = [outcome.error.death for outcome in ended if isinstance(outcome.error, _Lost)]
        return [outcome for outcome in ended if not isinstance(outcome.error, _Lost)], lost[0] if lost else None

    def _run_all(self, session: SparkSession, jobs: Sequence[Job]) -> list[Outcome]:
        if len(jobs) == 1:
            return [self._run_one(session, jobs[0])]
        ended: list[Outcome] = []
        threads = [
            threading.Thread(target=lambda job=job: ended.append(self._run_one(session.newSession(), job)), daemon=True)
            for job in jobs
        ]
        for thread in threads:
            thread.start()
        # With a time limit, so that signals are handled in this thread.
        while any(thread.is_alive() for thread in threads):
            for thread in threads:
                thread.join(_POLL_SECONDS)
        return ended

    def _run_one(self, session: SparkSession, job: Job) -> Outcome:
        jvm = Jvm.current()
        try:
            job.run(session)
        except Exception as error:  # noqa: BLE001 - it is the job's outcome
            death = jvm.exit_behind(error) if jvm is not None else None
            _log.debug("pipeline %s ended", job.name, exc_info=True)
            if death is not None:
                return Outcome(job.name, _Lost(Death.of(death)))
            job.ended(error)
            return Outcome(job.name, error)
        job.ended(None)
        return Outcome(job.name)

    def _pause(self, died: Death, deaths: int) -> None:
        settings = self._settings
        seconds = settings.pauses.pause(deaths)
        self.restarts += 1
        settings.on_restart(
            f"{died.sentence} Its log: {settings.session.log}. Starting it again in {seconds:.0f} s (restart {deaths} of "
            f"{settings.restarts} before a batch is committed); nothing is lost, the ledger ends or repeats the open batch.",
            self.restarts,
        )
        settings.stop.wait(seconds)

    def _given_up(self, died: Death, deaths: int) -> JvmDied:
        settings = self._settings
        if settings.stop.is_set():
            why = "The run was being stopped, so it is not started again."
        elif not settings.restarts:
            why = "It is not started again, because no restart is allowed."
        else:
            why = f"It is not started again: {deaths} died in a row, and no batch was committed between."
        remedy = f"{died.remedy} " if died.remedy else ""
        return JvmDied(
            f"{died.sentence} {why}",
            remedy=f"{remedy}Its log: {settings.session.log}. Nothing is lost: the next start goes on with the open batch.",
        )


class _Lost(PenstockError):
    """A job ended because the JVM did."""

    def __init__(self, death: Death) -> None:
        super().__init__(death.sentence)
        self.death = death
