"""Pages by key: a token names the last key seen, so that no write between two pages repeats or skips a row."""

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from penstock.errors import InvalidInput

__all__ = ["Page", "page"]

T = TypeVar("T")
_MAX_TOKEN = 4_096


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some rows and the token of the next ones; None where these were the last."""

    items: Sequence[T]
    token: str | None


def page(
    listing: str, token: str | None, size: int, read: Callable[[Any, int], Sequence[T]], key: Callable[[T], Any]
) -> Page[T]:
    """One page of ``listing`` (its name and arguments).

    ``read(after, count)`` gives rows behind the key ``after`` (None: from the start); ``key`` is a row's, of JSON values.
    """
    rows = read(_decode(listing, token), size + 1)
    more = len(rows) > size
    shown = rows[:size]
    return Page(shown, _encode(listing, key(shown[-1])) if more else None)


def _encode(listing: str, key: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps([listing, key]).encode()).decode()


def _decode(listing: str, token: str | None) -> Any:
    if not token:
        return None
    try:
        if len(token) > _MAX_TOKEN:
            raise ValueError
        found, key = json.loads(base64.b64decode(token, altchars=b"-_", validate=True))
        if found != listing:
            raise ValueError
    except (ValueError, TypeError, binascii.Error, RecursionError):
        raise InvalidInput(
            "The NextToken is not one that this listing gave.",
            remedy="Start again without a token, with the same arguments.",
        ) from None
    return key
