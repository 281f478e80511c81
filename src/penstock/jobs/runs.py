"""The service of job runs: start, stop, list. Those that are to run are in the store; :mod:`penstock.runs` runs them.

Source: Glue API reference, "StartJobRun", "BatchStopJobRun"; developer guide, "AWS Glue job run statuses".
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from penstock.errors import InvalidInput, PenstockError
from penstock.jobs.definitions import check_arguments, check_settings
from penstock.jobs.errors import EntryNotFound, JobsOff, TooManyEntries, TooManyRuns
from penstock.jobs.model import ENDED, JOB_RUN, JOBS, RUNS, Job, JobRun, RunState
from penstock.jobs.starters import code_arguments
from penstock.jobs.store import JobStore
from penstock.paging import Page, page

__all__ = ["RunRequest", "RunService"]

_DEFAULT_MINUTES = 480
_MOST_WAITING = 1_000
_CAPACITY = ("MaxCapacity", "AllocatedCapacity", "WorkerType", "NumberOfWorkers")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What a run differs in from its job. ``settings`` are members of StartJobRun; ``id`` is a new one if None."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    arguments: Mapping[str, str] = field(default_factory=dict)
    id: str | None = None
    previous: str | None = None
    trigger: str | None = None
    workflow: str | None = None
    predecessors: Sequence[str] = ()


class RunService:
    """The runs of an account's jobs. ``enabled`` says whether this server runs jobs at all; ``wake`` wakes the runner."""

    def __init__(
        self,
        store: JobStore,
        *,
        enabled: bool = True,
        wake: Callable[[], None] = lambda: None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._store = store
        self._enabled = enabled
        self._wake = wake
        self._now = now

    def start(self, job: str, request: RunRequest) -> JobRun:
        """Start a run, or let it wait if the job queues its runs and as many as allowed are running.

        A request whose id is taken changes nothing and returns the stored run. Raises :class:`EntryNotFound`,
        :class:`TooManyRuns`, :class:`InvalidInput`; :class:`JobsOff` if this server runs no jobs.
        """
        if not self._enabled:
            raise JobsOff("jobs")
        check_arguments(request.arguments)

        def make(definition: Job, active: Sequence[JobRun]) -> JobRun:
            settings = _settings(definition, request.settings)
            check_settings(settings)
            # Those that wait are before it.
            ahead = [run for run in active if not run.ended and run.id != request.id]
            full = len(ahead) >= definition.concurrent
            queued = bool(settings.get("JobRunQueuingEnabled"))
            if full and not queued and request.previous is None:
                raise TooManyRuns("job", definition.name, definition.concurrent)
            if sum(run.state == "WAITING" for run in ahead) >= _MOST_WAITING:
                remedy = "Stop some, or wait for their ends."
                raise TooManyEntries(f"waiting runs of job {definition.name}", _MOST_WAITING, remedy=remedy)
            return _new_run(definition, request, settings, "WAITING" if full else "STARTING", self._now())

        added = self._store.add_under(JOBS, job, RUNS, make)
        if added is None:
            raise EntryNotFound("job", job)
        self._wake()
        return added[0]

    def refuse(self, job: str, request: RunRequest, state: RunState, reason: str) -> None:
        """Record a run that could not be started, with the reason, unless the id is taken or there is no such job."""

        def make(definition: Job, _active: Sequence[JobRun]) -> JobRun:
            now = self._now()
            run = _new_run(definition, request, _settings(definition, request.settings), state, now)
            return replace(run, error=reason, completed=now)

        self._store.add_under(JOBS, job, RUNS, make)
        self._wake()

    def code_arguments(self, job: str, request: RunRequest, *, earlier: str | None = None) -> Sequence[str]:
        """Return the arguments that a starter of ``job`` may only set with the right to update it.

        Without arguments, a run again of ``earlier`` has those of that run.
        """
        arguments = request.arguments
        if not arguments and earlier is not None and (run := self._store.get(RUNS, earlier)) is not None:
            arguments = run.arguments
        return code_arguments(self._store, job, arguments)

    def retry(self, job: str, run_id: str, request: RunRequest) -> JobRun:
        """Start a run again, with its arguments unless ``request`` has others. Raises :meth:`start`'s errors."""
        earlier = self.get(job, run_id)
        if not earlier.ended:
            raise InvalidInput(f"Run {run_id} of job {job} is {earlier.state}: only one that has ended is run again.")
        return self.start(job, replace(request, arguments=request.arguments or earlier.arguments))

    def try_again(self, run: JobRun) -> None:
        """Start a run that failed again, if its job has retries left; a retry that is refused is a failed attempt.

        Its id says which attempt it is, so that it is started once. Raises what may pass, such as :class:`StorageFull`.
        """
        if run.state != "FAILED" or run.attempt >= int(run.settings.get("MaxRetries") or 0):
            return
        request = RunRequest(
            settings={member: value for member, value in run.settings.items() if member not in {"Command", "Role"}},
            arguments=run.arguments,
            id=f"{run.id.partition('_attempt_')[0]}_attempt_{run.attempt + 1}",
            previous=run.id,
            trigger=run.trigger,
            workflow=run.workflow,
            predecessors=run.predecessors,
        )
        try:
            self.start(run.job, request)
        except PenstockError as error:
            if error.fault == "server":
                raise
            self.refuse(run.job, request, "FAILED", f"The retry could not be started: {error}")

    def get(self, job: str, run_id: str) -> JobRun:
        """Return one run. Raises :class:`EntryNotFound`."""
        run = self._store.get(RUNS, run_id)
        if run is None or run.scope != job:
            raise EntryNotFound("job run", run_id)
        return run

    def page(self, job: str, *, limit: int, token: str | None = None) -> Page[JobRun]:
        """Return up to ``limit`` runs, newest first. Raises :class:`EntryNotFound`."""
        if self._store.get(JOBS, job) is None:
            raise EntryNotFound("job", job)

        def read(after: str | None, count: int) -> Sequence[JobRun]:
            return self._store.list(RUNS, job, after=after, limit=count, newest_first=True)

        return page(f"runs:{job}", token, limit, read, lambda job_run: job_run.rank, kind=str)

    def stop(self, job: str, run_id: str) -> None:
        """Stop a run. Raises :class:`EntryNotFound`, and :class:`InvalidInput` if it has ended or is being stopped."""
        self.get(job, run_id)

        def request(run: JobRun) -> JobRun:
            if run.state in ENDED:
                raise InvalidInput(f"Run {run_id} of job {job} has ended already: it is {run.state}.")
            now = self._now()
            if run.state == "WAITING" or run.owner is None:
                return replace(run, state="STOPPED", modified=now, completed=now)
            return replace(run, state="STOPPING", modified=now)

        if self._store.change(RUNS, run_id, request) is None:
            raise EntryNotFound("job run", run_id)
        self._wake()


def _settings(job: Job, request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the job's settings with those of a run: a capacity replaces the job's, in whichever member it is."""
    settings = dict(job.settings)
    if any(request.get(member) is not None for member in _CAPACITY):
        for member in _CAPACITY:
            settings.pop(member, None)
    settings.update({member: value for member, value in request.items() if value is not None})
    if "Timeout" not in settings and job.kind != "gluestreaming":
        settings["Timeout"] = _DEFAULT_MINUTES
    return settings


def _new_run(job: Job, request: RunRequest, settings: Mapping[str, Any], state: RunState, now: datetime) -> JobRun:
    return JobRun(
        id=request.id or f"{JOB_RUN}{secrets.token_hex(32)}",
        job=job.name,
        attempt=_attempt(request),
        previous=request.previous,
        trigger=request.trigger,
        workflow=request.workflow,
        predecessors=tuple(request.predecessors),
        settings=settings,
        arguments=request.arguments,
        state=state,
        started=now,
        modified=now,
    )


def _attempt(request: RunRequest) -> int:
    _, separator, number = (request.id or "").rpartition("_attempt_")
    return int(number) if separator and number.isdigit() else 0
