"""Glue's Job: the start and the end of a run, and with them the job's bookmark.

Source: https://docs.aws.amazon.com/glue/latest/dg/aws-glue-api-crawler-pyspark-extensions-job.html and
https://docs.aws.amazon.com/glue/latest/dg/monitor-continuations.html
"""

import logging
from collections.abc import Mapping
from typing import Any

from penstock.glue.jobs.arguments import BOOKMARKS
from penstock.glue.jobs.bookmark_store import bookmark_store
from penstock.glue.jobs.bookmarks import Bookmarks

__all__ = ["Job"]

_ENABLE, _DISABLE, _PAUSE = BOOKMARKS
_log = logging.getLogger("awsglue")


class Job:
    """One run of a job; ``glue_context`` is the GlueContext, whose reads go on from the job's bookmark."""

    @classmethod
    def job_bookmark_options(cls) -> list[str]:
        """Return the option of bookmarks and its values, in AWS's order."""
        return ["--job-bookmark-option", "job-bookmark-enable", "job-bookmark-pause", "job-bookmark-disable"]

    @classmethod
    def continuation_options(cls) -> list[str]:
        """Return the older option of bookmarks and its values."""
        return ["--continuation-option", "continuation-enabled", "continuation-readonly", "continuation-ignore"]

    @classmethod
    def job_bookmark_range_options(cls) -> list[str]:
        """Return the options of a paused bookmark's range."""
        return ["--job-bookmark-from", "--job-bookmark-to"]

    @classmethod
    def id_params(cls) -> list[str]:
        """Return the options that say which job runs."""
        return ["--JOB_NAME", "--JOB_ID", "--JOB_RUN_ID", "--SECURITY_CONFIGURATION"]

    @classmethod
    def encryption_type_options(cls) -> list[str]:
        """Return the option of encryption and its values."""
        return ["--encryption-type", "sse-s3"]

    def __init__(self, glue_context: Any) -> None:
        self.glue_context = glue_context
        self._name: str | None = None
        self._bookmarks: Bookmarks | None = None

    def init(self, job_name: str, args: Mapping[str, Any] | None = None) -> None:
        """Begin the run of ``job_name`` with the result of getResolvedOptions.

        With ``job-bookmark-enable`` and ``job-bookmark-pause`` the bookmark is read. Raises
        :class:`penstock.errors.InvalidInput` for one of job_bookmark_from and job_bookmark_to without the other.
        """
        arguments = dict(args or {})
        self._name = job_name
        option = arguments.get("job_bookmark_option") or _DISABLE
        if option == _DISABLE:
            return
        store = bookmark_store(job_name, arguments.get("JOB_RUN_ID"))
        paused = option == _PAUSE
        bounds = {"after": arguments.get("job_bookmark_from"), "upto": arguments.get("job_bookmark_to")} if paused else {}
        self._bookmarks = self.glue_context._session.bookmarks
        self._bookmarks.begin(store, **bounds, paused=paused)

    def isInitialized(self) -> bool:  # noqa: N802
        """Return whether :meth:`init` was called."""
        return self._name is not None

    def commit(self) -> None:
        """Make what the run has read the job's bookmark: the next run reads what came later.

        Raises :class:`penstock.errors.ConcurrentModification` if another run of the job has committed meanwhile.
        """
        if self._name is None:
            _log.warning("Job.commit was called without Job.init: there is nothing to commit.")
            return
        if self._bookmarks is not None:
            self._bookmarks.commit()
