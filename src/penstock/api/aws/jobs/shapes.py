"""What the operations on jobs share: parts of requests, and the arguments that only a job's author may set."""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.api.aws.protocol.operations import RequestContext
from penstock.api.aws.protocol.values import Request
from penstock.errors import AccessDenied
from penstock.jobs.starters import CodeArgumentDenied

__all__ = ["PAGE", "check_author", "chosen"]

PAGE = 100
"""Entries of a page whose request says nothing."""


def chosen(request: Request, members: Sequence[str]) -> dict[str, Any]:
    """Return those of ``members`` that the request has."""
    values: Mapping[str, Any] = {member: request.get(member) for member in members}
    return {member: value for member, value in values.items() if value is not None}


def check_author(context: RequestContext, job: str, names: Sequence[str]) -> None:
    """Raise :class:`CodeArgumentDenied` unless the caller may update ``job``, or sets none of its author's arguments."""
    if not names or context.check_operation is None:
        return
    try:
        context.check_operation("UpdateJob", {"JobName": job})
    except AccessDenied as error:
        raise CodeArgumentDenied(job, names) from error
