"""The service of job definitions, and the rules of their settings.

Source: Glue API reference, "CreateJob" and "JobCommand"; developer guide, "Using job parameters in AWS Glue jobs".
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from penstock.errors import InvalidInput
from penstock.jobs.bookmarks import BookmarkService
from penstock.jobs.errors import SettingNotServed
from penstock.jobs.model import JOBS, RUNNING, RUNS, Job
from penstock.jobs.modules import INSTALLER_OPTION, MODULES, check_installer_option, parse_modules
from penstock.jobs.named import TaggedEntries
from penstock.jobs.store import JobStore
from penstock.tags import check_tags

__all__ = ["KINDS", "WORKERS", "JobService", "check_arguments", "check_settings"]

KINDS = ("glueetl", "gluestreaming", "pythonshell")
WORKERS: Mapping[str, tuple[int, int]] = {
    "Standard": (4, 16),
    "G.025X": (2, 4),
    "G.1X": (4, 16),
    "G.2X": (8, 32),
    "G.4X": (16, 64),
    "G.8X": (32, 128),
    "G.12X": (48, 192),
    "G.16X": (64, 256),
    "R.1X": (4, 32),
    "R.2X": (8, 64),
    "R.4X": (16, 128),
    "R.8X": (32, 256),
}
"""By worker type, virtual CPUs and GB of memory (developer guide, "Worker types")."""
_QUOTA = 2_000  # "Max jobs per account"
_PYTHON = ("2", "3")
_MAX_RETRIES = 10
_MAX_TIMEOUT = 10_080  # minutes, seven days
_MAX_ARGUMENTS = 260_000  # characters, of all together
_MAX_ARGUMENT = 131_071  # bytes: MAX_ARG_STRLEN of execve(2) on Linux
_REFUSED_ARGUMENTS = {
    "--extra-spark-jars": "Write --extra-jars.",
}


class JobService(TaggedEntries[Job]):
    """The jobs of an account."""

    def __init__(self, store: JobStore, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        super().__init__(store, JOBS, "job", quota=_QUOTA)
        self._now = now
        self._bookmarks = BookmarkService(store)

    def create(self, name: str, settings: Mapping[str, Any], tags: Mapping[str, str]) -> None:
        """Add a job. Raises :class:`EntryExists`, and :class:`InvalidInput` for settings that cannot be followed."""
        check_settings(settings)
        check_tags(tags)
        now = self._now()
        self._add(Job(name=name, settings=settings, tags=tags, created=now, modified=now))

    def update(self, name: str, settings: Mapping[str, Any]) -> None:
        """Replace all settings, as Glue does: members that are left out have their defaults again.

        Raises :class:`EntryNotFound`, and :class:`InvalidInput` for settings that cannot be followed. Role and Command are
        needed: a caller who gives a script to a job has to show that the job's role may be passed.
        """
        for member in ("Role", "Command"):
            if not settings.get(member):
                raise InvalidInput(
                    f"{member} is missing: an update replaces all settings of a job.", remedy=f"Give {member}."
                )

        def change(job: Job) -> Job:
            check_settings(settings)
            return replace(job, settings=settings, modified=self._now())

        self._change(name, change)

    def delete(self, name: str) -> None:
        """Delete a job with its runs and its bookmark. A missing one is not an error, as in Glue.

        Raises :class:`InvalidInput` while it runs.
        """
        if any(run.scope == name and run.state in RUNNING for run in self._store.active(RUNS)):
            raise InvalidInput(f"Job {name} is running.", remedy="Stop its runs first.")
        if self._store.delete(JOBS, name):
            self._store.delete_scope(RUNS, name)
            self._bookmarks.delete(name)


def check_settings(settings: Mapping[str, Any], *, with_script: bool = True) -> None:
    """Raise :class:`InvalidInput` for settings of a job, or of one of its runs, that cannot be followed.

    The run of a session has no script.
    """
    command = settings.get("Command") or {}
    job_type = command.get("Name") or "glueetl"
    if job_type == "glueray":
        raise SettingNotServed("Jobs of the command glueray are not served.", remedy="Ray has no place here: use glueetl.")
    if job_type not in KINDS:
        raise InvalidInput(f"'{job_type[:60]}' is not a job's command.", remedy=f"Use {', '.join(KINDS)}.")
    if with_script:
        _check_script(command.get("ScriptLocation") or "")
    python = str(command.get("PythonVersion") or "3")
    if python.partition(".")[0] not in _PYTHON or python.partition(".")[0] == "2":
        raise SettingNotServed(f"PythonVersion {python[:20]} is not served.", remedy="Use 3 or 3.9.")
    _check_number(settings, "MaxRetries", 0, _MAX_RETRIES)
    _check_number(settings, "Timeout", 1, _MAX_TIMEOUT)
    _check_number(settings.get("ExecutionProperty") or {}, "MaxConcurrentRuns", 1, 1_000)
    _check_workers(settings, job_type)
    for member in ("DefaultArguments", "NonOverridableArguments"):
        check_arguments(settings.get(member) or {})


def check_arguments(arguments: Mapping[str, str]) -> None:
    """Raise :class:`InvalidInput` for arguments of a script that are too long, or that ask for what is not served."""
    if sum(len(name) + len(value) for name, value in arguments.items()) > _MAX_ARGUMENTS:
        raise InvalidInput(f"The arguments are too long: up to {_MAX_ARGUMENTS} characters together.")
    for name, value in arguments.items():
        if "\0" in name or "\0" in value:
            raise InvalidInput(f"The argument {name[:60]!r} contains the character NUL.")
        if max(len(name.encode()), len(value.encode())) > _MAX_ARGUMENT:
            raise InvalidInput(
                f"The argument {name[:60]!r} has more than {_MAX_ARGUMENT:,} bytes.",
                remedy="Write it to S3, and give its location.",
            )
        if name in _REFUSED_ARGUMENTS:
            raise SettingNotServed(f"The argument {name} is not served.", remedy=_REFUSED_ARGUMENTS[name])
    parse_modules(arguments.get(MODULES, ""))
    check_installer_option(arguments.get(INSTALLER_OPTION, ""))


def _check_script(location: str) -> None:
    if not location:
        raise InvalidInput("The job has no script.", remedy="Set Command.ScriptLocation to s3://BUCKET/KEY.py.")
    if not location.startswith(("s3://", "s3a://", "file:///", "/")) or location.endswith("/"):
        raise InvalidInput(
            f"'{location[:200]}' is not the location of a script.", remedy="Write s3://BUCKET/KEY.py, or a file's full path."
        )


def _check_number(settings: Mapping[str, Any], member: str, low: int, high: int) -> None:
    value = settings.get(member)
    if value is not None and not low <= value <= high:
        raise InvalidInput(f"{member} is {value}; it has to be from {low:,} to {high:,}.")


def _check_workers(settings: Mapping[str, Any], job_type: str) -> None:
    worker, count = settings.get("WorkerType"), settings.get("NumberOfWorkers")
    if worker is not None and worker not in WORKERS:
        raise SettingNotServed(f"Workers of the type {worker} are not served.", remedy=f"Use {', '.join(WORKERS)}.")
    if (worker is None) is not (count is None):
        raise InvalidInput("WorkerType and NumberOfWorkers belong together.", remedy="Give both, or none of them.")
    if count is not None and count < 1:
        raise InvalidInput(f"NumberOfWorkers is {count}; it has to be 1 or more.")
    if worker is not None and (settings.get("MaxCapacity") is not None or settings.get("AllocatedCapacity")):
        raise InvalidInput("MaxCapacity cannot be given with WorkerType.", remedy="Leave MaxCapacity out.")
    if worker is not None and job_type == "pythonshell":
        raise InvalidInput("A pythonshell job has no workers.", remedy="Give MaxCapacity 0.0625 or 1.")
    if job_type == "pythonshell" and settings.get("MaxCapacity") not in {None, 0.0625, 1.0}:
        raise InvalidInput("MaxCapacity of a pythonshell job is 0.0625 or 1.")
