"""The errors of jobs, with the codes that Glue gives them."""

from penstock.errors import AlreadyExists, ConcurrentModification, InvalidInput, LimitExceeded, NotFound

__all__ = [
    "BookmarkMoved",
    "EntryExists",
    "EntryNotFound",
    "IllegalSession",
    "IllegalWorkflow",
    "JobsOff",
    "SettingNotServed",
    "TooManyEntries",
    "TooManyRuns",
]


class EntryNotFound(NotFound):
    """No job, run, trigger, workflow, configuration or session has this name."""

    def __init__(self, what: str, name: str) -> None:
        super().__init__(f"{what.capitalize()} {name[:300]} was not found.")


class JobsOff(InvalidInput):
    """This server runs no jobs. The caller's error: another try would fail, too."""

    def __init__(self, what: str) -> None:
        super().__init__(f"This server runs no {what}.", remedy="Its operator starts it with --jobs.")


class EntryExists(AlreadyExists):
    """The name is taken."""

    def __init__(self, what: str, name: str) -> None:
        super().__init__(f"{what.capitalize()} {name[:300]} already exists.")


class TooManyRuns(LimitExceeded):
    """As many runs as allowed are running."""

    aws_code = "ConcurrentRunsExceededException"

    def __init__(self, what: str, name: str, limit: int) -> None:
        super().__init__(
            f"Concurrent runs exceeded for {name}: this {what} may have {limit} at once.",
            remedy="Wait for one to end, stop it, or raise MaxConcurrentRuns.",
        )


class TooManyEntries(LimitExceeded):
    """As many entries of a kind as an account may have, or runs as may wait, are there."""

    def __init__(self, what: str, limit: int, *, remedy: str = "Delete some first.") -> None:
        super().__init__(f"There are {limit:,} {what} already, which is the maximum.", remedy=remedy)


class SettingNotServed(InvalidInput):
    """A setting that Glue has and this server cannot follow."""


class IllegalSession(InvalidInput):
    """The session is not in a state for this request."""

    aws_code = "IllegalSessionStateException"


class IllegalWorkflow(InvalidInput):
    """The workflow's run is not in a state for this request."""

    aws_code = "IllegalWorkflowStateException"


class BookmarkMoved(ConcurrentModification):
    """Another run committed the job's bookmark first, or it was reset."""

    def __init__(self, job: str, expected: int, actual: int) -> None:
        super().__init__(
            f"The bookmark of job {job} is at version {actual}, and not at {expected} as this run read it.",
            remedy="Another run of the job committed, or the bookmark was reset: start the job again.",
        )
