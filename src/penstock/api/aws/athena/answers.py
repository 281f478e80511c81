"""What the answers of Athena's operations have in common: pages, their tokens, and lists of what was not found."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from penstock.errors import InvalidInput
from penstock.sql.errors import InvalidRequest

__all__ = ["page_arguments", "pages", "unprocessed"]

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


def unprocessed(
    requested: Sequence[str], existing: Sequence[str], member: str, what: str, *, code: str
) -> Sequence[Mapping[str, str]]:
    """Return what a batch answers of those in ``requested`` that do not exist; ``what`` is their type."""
    missing = [name for name in requested if name not in existing]
    return [{member: name, "ErrorCode": code, "ErrorMessage": f"{what} {name} was not found"} for name in missing]
