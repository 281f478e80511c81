"""Pages by key: a token names the last key seen, so that no write between two pages repeats or skips a row."""

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from penstock.errors import InvalidInput

__all__ = ["InvalidToken", "Page", "decode_token", "encode_token", "fitting", "page"]

T = TypeVar("T")
K = TypeVar("K", str, int)
_MAX_TOKEN = 16_384
_MAX_WEIGHT = 4_000_000  # characters of one page's rows
_FIRST_READ = 10
_MAX_READ = 300


class InvalidToken(InvalidInput):
    """A token that is another listing's, or none of ours."""

    def __init__(self) -> None:
        super().__init__(
            "The NextToken is not one that this listing gave.",
            remedy="Start again without a token, with the same arguments.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """Some rows and the token of the next ones; None if these were the last."""

    items: Sequence[T]
    next_token: str | None = None


def page(
    listing: str,
    token: str | None,
    size: int,
    read: Callable[[K | None, int], Sequence[T]],
    key: Callable[[T], K],
    *,
    kind: type[K],
    weigh: Callable[[T], int] | None = None,
) -> Page[T]:
    """One page of ``listing`` (its name and arguments).

    ``read(after, count)`` gives up to ``count`` rows behind the key ``after`` (None: from the start); ``key`` is a row's, of
    type ``kind``. ``weigh`` gives a row's size in characters: a page ends where its rows would be more than 4 million, and
    holds one row at least. Raises :class:`InvalidToken` as :func:`decode_token` does.
    """
    after = decode_token(listing, token, kind)
    if weigh is not None:
        shown, more = _weighed(after, size, read, key, weigh)
    else:
        rows = read(after, size + 1)
        shown, more = rows[:size], len(rows) > size
    return Page(items=shown, next_token=encode_token(listing, key(shown[-1])) if more else None)


def fitting(rows: Iterable[T], weigh: Callable[[T], int]) -> Iterator[T]:
    """The first of ``rows`` that fit on one page, and the very first in any case. No more than one further is read."""
    held = 0
    for number, row in enumerate(rows):
        held += weigh(row)
        if number and held > _MAX_WEIGHT:
            return
        yield row


def _weighed(
    after: K | None,
    size: int,
    read: Callable[[K | None, int], Sequence[T]],
    key: Callable[[T], K],
    weigh: Callable[[T], int],
) -> tuple[Sequence[T], bool]:
    """The rows of one page, and whether there are more behind them."""
    more = True

    def rows() -> Iterator[T]:
        # Few at first: what the rows weigh is known when they are read.
        nonlocal after, more
        count, left = _FIRST_READ, size + 1
        while left:
            asked = min(count, left)
            found = read(after, asked)
            yield from found
            if len(found) < asked:
                more = False
                return
            after = key(found[-1])
            left -= asked
            count = min(count * 3, _MAX_READ)

    shown = list(fitting(rows(), weigh))
    return shown[:size], more


def encode_token(listing: str, key: str | int) -> str:
    """An opaque token for ``listing`` (such as ``tables:sales``) that goes on behind ``key``."""
    return base64.urlsafe_b64encode(json.dumps([listing, key]).encode()).decode()


def decode_token(listing: str, token: str | None, kind: type[K]) -> K | None:
    """The key in ``token``, None for no token; :class:`InvalidToken` if it is another listing's or none of ours."""
    if not token:
        return None
    try:
        if len(token) > _MAX_TOKEN:
            raise ValueError
        found, key = json.loads(base64.b64decode(token, altchars=b"-_", validate=True))
        if found != listing or type(key) is not kind:
            raise ValueError
    except (ValueError, TypeError, binascii.Error, RecursionError):
        raise InvalidToken from None
    result: K = key
    return result
