"""Arguments that bring code into a run, or change how it is run: they are its job's author's, not its starter's.

A run has the rights of its job's role. Who may start a job, but not update it, could otherwise give a program of theirs
them. Source of the names: Glue developer guide, "Using job parameters in AWS Glue jobs".
"""

from collections.abc import Mapping, Sequence

from penstock.errors import AccessDenied
from penstock.jobs.model import JOBS
from penstock.jobs.store import JobStore

__all__ = ["CODE_ARGUMENTS", "STARTER_ARGUMENTS", "CodeArgumentDenied", "code_arguments"]

STARTER_ARGUMENTS = "--penstock-starter-arguments"
"""Argument of a job: the arguments of :data:`CODE_ARGUMENTS` that its starters may set, separated by commas."""
CODE_ARGUMENTS = frozenset(
    {
        *("--extra-py-files", "--extra-jars", "--extra-spark-jars", "--extra-files", "--user-jars-first"),
        *("--additional-python-modules", "--python-modules-installer-option"),
        *("--scriptLocation", "--job-language", "--class", "--conf"),
        *("--customJdbcDriverS3Path", "--customJdbcDriverClassName"),
        *("--JOB_NAME", "--JOB_ID", "--JOB_RUN_ID", "--WORKFLOW_NAME", "--WORKFLOW_RUN_ID", STARTER_ARGUMENTS),
    }
)
"""The arguments that only callers with the right to update a job may set."""
_CODE = {name.casefold(): name for name in CODE_ARGUMENTS}


class CodeArgumentDenied(AccessDenied):
    """A starter has set what is the job's author's."""

    def __init__(self, job: str, names: Sequence[str]) -> None:
        super().__init__(
            f"The argument {', '.join(names)} of job {job} can only be set by a caller who may update the job.",
            remedy="Ask for glue:UpdateJob on it, set the argument in the job, or let the job allow its starters to set it: "
            f"{STARTER_ARGUMENTS} among its DefaultArguments.",
        )


def code_arguments(store: JobStore, job: str, arguments: Mapping[str, str]) -> Sequence[str]:
    """Return the names of the ``arguments`` that a starter of ``job`` may not set; none if the job does not exist.

    One with the value that the job itself has changes nothing. A value that reads as such an argument counts, too: arguments
    become the words of a command line.
    """
    definition = store.get(JOBS, job)
    if definition is None:
        return ()
    own = {
        **(definition.settings.get("DefaultArguments") or {}),
        **(definition.settings.get("NonOverridableArguments") or {}),
    }
    allowed = {part.strip() for part in own.get(STARTER_ARGUMENTS, "").split(",")} - {STARTER_ARGUMENTS}
    names = [
        name
        for argument, value in arguments.items()
        if own.get(argument) != value
        for name in map(_code_argument, (argument, value))
        if name is not None and name not in allowed
    ]
    return list(dict.fromkeys(names))


def _code_argument(word: str) -> str | None:
    """Return the argument that a word of a command line is, as ``--NAME`` or ``--NAME=VALUE``; None if it brings none."""
    name = word.partition("=")[0].strip().casefold()
    return _CODE.get(name) or _CODE.get(name.replace("_", "-"))
