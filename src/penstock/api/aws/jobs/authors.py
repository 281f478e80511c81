"""Whether a caller may set the arguments of a job that are its author's."""

from collections.abc import Sequence

from penstock.api.aws.protocol.operations import RequestContext
from penstock.errors import AccessDenied
from penstock.jobs.starters import CodeArgumentDenied

__all__ = ["check_author"]


def check_author(context: RequestContext, job: str, names: Sequence[str]) -> None:
    """Raise :class:`CodeArgumentDenied` unless the caller may update ``job``, or sets none of its author's arguments."""
    if not names or context.check_operation is None:
        return
    try:
        context.check_operation("UpdateJob", {"JobName": job})
    except AccessDenied as error:
        raise CodeArgumentDenied(job, names) from error
