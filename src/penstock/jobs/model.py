"""Jobs and their runs as values. Settings are kept as Glue's API names them.

Source: Glue API reference, "Job", "JobRun"; developer guide, "AWS Glue job run statuses".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from penstock.jobs.named import TaggedEntry
from penstock.jobs.store import Kind

__all__ = ["ENDED", "JOBS", "JOB_RUN", "RUNNING", "RUNS", "Job", "JobRun", "RunState"]

RunState = Literal["WAITING", "STARTING", "RUNNING", "STOPPING", "STOPPED", "SUCCEEDED", "FAILED", "TIMEOUT", "ERROR"]
ENDED = frozenset({"STOPPED", "SUCCEEDED", "FAILED", "TIMEOUT", "ERROR"})
RUNNING = frozenset({"STARTING", "RUNNING", "STOPPING"})
"""The states of runs that have a process, or are to have one."""
JOB_RUN = "jr_"
"""What the ids of runs of jobs begin with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(TaggedEntry):
    """A job. ``settings`` are the members of CreateJob except its name and tags."""

    settings: Mapping[str, Any]
    created: datetime
    modified: datetime

    @property
    def kind(self) -> str:
        """The name of its command: glueetl, gluestreaming, pythonshell."""
        return str(self.settings["Command"].get("Name") or "glueetl")

    @property
    def concurrent(self) -> int:
        """How many runs it may have at once."""
        return int((self.settings.get("ExecutionProperty") or {}).get("MaxConcurrentRuns") or 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRun:
    """A run of a job.

    ``settings`` are the job's, with what the run changes; ``arguments`` are those given for this run. ``owner`` is the
    server process that watches it (:mod:`penstock.owners`), ``heartbeat`` that process's last sign of life, ``host`` the
    machine that runs it. ``token`` is the SHA-256 of the token by which the run asks for its credentials. ``handled`` is set
    once the run has ended and its retry and triggers were dealt with.
    """

    id: str
    job: str
    attempt: int = 0
    previous: str | None = None
    trigger: str | None = None
    workflow: str | None = None
    """``NAME/RUN`` of the workflow's run that it belongs to."""
    predecessors: Sequence[str] = ()
    """``JOB/RUN`` of each run whose end started this one."""
    settings: Mapping[str, Any]
    arguments: Mapping[str, str] = field(default_factory=dict)
    state: RunState = "STARTING"
    started: datetime
    """The time of the request."""
    began: datetime | None = None
    """The start of its process."""
    modified: datetime
    completed: datetime | None = None
    error: str | None = None
    owner: str | None = None
    heartbeat: datetime | None = None
    host: str | None = None
    token: str | None = None
    handled: bool = False

    @property
    def key(self) -> str:
        """The id."""
        return self.id

    @property
    def of_session(self) -> bool:
        """Whether it is the process of a session, and no run of a job."""
        return not self.id.startswith(JOB_RUN)

    @property
    def scope(self) -> str:
        """The job. A session's process is listed under a text that no job can have as its name, so that no job lists it."""
        return f"\x1f{self.job}" if self.of_session else self.job

    @property
    def rank(self) -> str:
        """By the time of the request."""
        return f"{self.started.isoformat(timespec='microseconds')} {self.id}"

    @property
    def active(self) -> bool:
        """Whether it runs, or its end has to be dealt with."""
        return not self.handled

    @property
    def ended(self) -> bool:
        """Whether its state is a last one."""
        return self.state in ENDED

    @property
    def all_arguments(self) -> Mapping[str, str]:
        """The arguments of its script: the job's defaults, the run's own, and those that a run cannot replace."""
        not_overridable = self.settings.get("NonOverridableArguments") or {}
        return {**(self.settings.get("DefaultArguments") or {}), **self.arguments, **not_overridable}

    @property
    def seconds(self) -> int:
        """Whole seconds of its process so far, or in all; 0 before its start (Glue's ExecutionTime)."""
        end = self.completed or self.modified
        return max(0, int((end - self.began).total_seconds())) if self.began is not None else 0


JOBS = Kind("job", Job)
RUNS = Kind("run", JobRun)
