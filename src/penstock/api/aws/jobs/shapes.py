"""What the operations on jobs share: pages, parts of requests, and arguments that are the author's of a job."""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.api.aws.protocol.operations import RequestContext
from penstock.api.aws.protocol.values import Request, Response
from penstock.errors import AccessDenied
from penstock.jobs.starters import CodeArgumentDenied
from penstock.paging import Page

__all__ = ["PAGE", "check_author", "paged", "wanted"]

PAGE = 100
"""Entries of a page whose request says nothing."""


def paged(page: Page[Any], **members: Any) -> Response:
    """Return an answer with the page's token, if more follows."""
    return {**members, "NextToken": page.next_token} if page.next_token else members


def wanted(request: Request, members: Sequence[str]) -> dict[str, Any]:
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
