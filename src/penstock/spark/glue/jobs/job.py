"""Glue's Job: the start and the end of a run. A streaming job's progress is its checkpoint; there are no bookmarks."""

from collections.abc import Mapping
from typing import Any

from penstock.errors import InvalidInput
from penstock.spark.glue.errors import not_supported

__all__ = ["Job"]

_MARKS = "Leave --job-bookmark-option out: a stream goes on from its checkpointLocation."


class Job:
    """One run of a job; ``glue_context`` is the GlueContext."""

    def __init__(self, glue_context: Any) -> None:
        self.glue_context = glue_context
        self._name: str | None = None
        self._arguments: Mapping[str, Any] = {}

    def init(self, job_name: str, args: Mapping[str, Any] | None = None) -> None:
        """Begin the run of ``job_name`` with the result of getResolvedOptions."""
        self._arguments = dict(args or {})
        if self._arguments.get("job_bookmark_option") in {"job-bookmark-enable", "job-bookmark-pause"}:
            raise not_supported({"bookmarks": _MARKS}, "Job", "bookmarks")
        self._name = job_name

    def isInitialized(self) -> bool:  # noqa: N802
        """Return whether :meth:`init` was called."""
        return self._name is not None

    def commit(self) -> None:
        """End the run. Raises :class:`InvalidInput` if it has not begun."""
        if self._name is None:
            raise InvalidInput(
                "Job.commit was called before Job.init.", remedy="Call job.init(args['JOB_NAME'], args) first."
            )
