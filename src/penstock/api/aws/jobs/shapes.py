"""What the operations on jobs share: pages, and parts of requests."""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.api.aws.protocol.values import Request, Response
from penstock.paging import Page

__all__ = ["PAGE", "paged", "wanted"]

PAGE = 100
"""Entries of a page whose request says nothing."""


def paged(page: Page[Any], **members: Any) -> Response:
    """Return an answer with the page's token, if more follows."""
    return {**members, "NextToken": page.next_token} if page.next_token else members


def wanted(request: Request, members: Sequence[str]) -> dict[str, Any]:
    """Return those of ``members`` that the request has."""
    found: Mapping[str, Any] = {member: request.get(member) for member in members}
    return {member: value for member, value in found.items() if value is not None}
