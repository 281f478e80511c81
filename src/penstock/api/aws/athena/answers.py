"""What the answers of Athena's operations have in common: pages, their tokens, and lists of what was not found."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from penstock.errors import InvalidInput
from penstock.sql.errors import InvalidRequest

__all__ = ["page_arguments", "pages", "unprocessed", "with_token"]

_PAGE_SIZE = 50
"""How many members a page has if the request does not say; a MaxResults of 0 says nothing."""


@contextmanager
def pages() -> Iterator[None]:
    """Turn an invalid token of a listing into Athena's error."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidRequest(error.message, remedy=error.remedy) from error


def page_arguments(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``limit`` and ``token`` of a request for a page."""
    return {"limit": request.get("MaxResults") or _PAGE_SIZE, "token": request.get("NextToken")}


def with_token(answer: dict[str, Any], token: str | None) -> Mapping[str, Any]:
    """Return ``answer`` with the token of the next page, if there is one."""
    return answer if token is None else {**answer, "NextToken": token}


def unprocessed(
    requested: Sequence[str], present_ids: Iterable[str], member: str, what: str, *, code: str
) -> Sequence[Mapping[str, str]]:
    """Return what a batch says of those in ``requested`` that are not in ``present_ids``; ``what`` is their kind."""
    known = set(present_ids)
    return [
        {member: name, "ErrorCode": code, "ErrorMessage": f"{what} {name} was not found"}
        for name in requested
        if name not in known
    ]
