"""Pages by key: a token names the last key seen, so that no write between two pages repeats or skips a row."""

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from penstock.errors import InvalidInput

__all__ = ["InvalidToken", "Page", "decode_token", "encode_token", "fitting", "page", "page_of"]

T = TypeVar("T")
K = TypeVar("K", str, int)
_MAX_TOKEN = 16_384
_MAX_WEIGHT = 4_000_000  # characters of one page's rows
_FIRST_READ = 10
_MAX_READ = 300


class InvalidToken(InvalidInput):
    """A token that is invalid or of another listing."""

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
    """Return one page of ``listing`` (its name and arguments).

    ``read(after, count)`` returns up to ``count`` rows after the key ``after`` (None: from the start); ``key`` returns a
    row's key, of type ``kind``. ``weigh`` returns a row's size in characters: a page has at most 4 million, but at least
    one row. Raises :class:`InvalidToken` as :func:`decode_token` does.
    """
    after = decode_token(listing, token, kind)
    if weigh is not None:
        shown, more = _weighed(after, size, read, key, weigh)
    else:
        rows = read(after, size + 1)
        shown, more = rows[:size], len(rows) > size
    return Page(items=shown, next_token=encode_token(listing, key(shown[-1])) if more else None)


def page_of(listing: str, token: str | None, size: int, rows: Sequence[T], key: Callable[[T], str]) -> Page[T]:
    """Return one page of ``rows`` that are in memory, in the order of ``key``; raise :class:`InvalidToken`."""

    def read(after: str | None, count: int) -> Sequence[T]:
        return [row for row in rows if after is None or key(row) > after][:count]

    return page(listing, token, size, read, key, kind=str)


def fitting(rows: Iterable[T], weigh: Callable[[T], int]) -> Iterator[T]:
    """Yield the first of ``rows`` that fit on one page, and always the first one. Reads at most one further row."""
    total = 0
    for number, row in enumerate(rows):
        total += weigh(row)
        if number and total > _MAX_WEIGHT:
            return
        yield row


def _weighed(
    after: K | None,
    size: int,
    read: Callable[[K | None, int], Sequence[T]],
    key: Callable[[T], K],
    weigh: Callable[[T], int],
) -> tuple[Sequence[T], bool]:
    """Return the rows of one page, and whether more follow."""
    more = True

    def rows() -> Iterator[T]:
        # Few at first: their weight is known only when they are read.
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
    """Return an opaque token for ``listing`` (such as ``tables:sales``) that continues after ``key``."""
    return base64.urlsafe_b64encode(json.dumps([listing, key]).encode()).decode()


def decode_token(listing: str, token: str | None, kind: type[K]) -> K | None:
    """Return the key in ``token``, None for no token; :class:`InvalidToken` if it is invalid or of another listing."""
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
