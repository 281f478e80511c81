"""Pages by key: a token names the last key seen, so that no write between two pages repeats or skips a row."""

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from penstock.errors import InvalidInput

__all__ = ["InvalidToken", "Page", "decode_token", "encode_token", "page"]

T = TypeVar("T")
K = TypeVar("K", str, int)
_MAX_TOKEN = 16_384


class InvalidToken(InvalidInput):
    """A token that is another listing's, or none of ours."""

    def __init__(self) -> None:
        super().__init__(
            "The NextToken is not one that this listing gave.",
            remedy="Start again without a token, with the same arguments.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """Some rows and the token of the next ones; None where these were the last."""

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
) -> Page[T]:
    """One page of ``listing`` (its name and arguments).

    ``read(after, count)`` gives up to ``count`` rows behind the key ``after`` (None: from the start); ``key`` is a row's, of
    type ``kind``. Raises :class:`InvalidToken` as :func:`decode_token` does.
    """
    rows = read(decode_token(listing, token, kind), size + 1)
    shown = rows[:size]
    return Page(items=shown, next_token=encode_token(listing, key(shown[-1])) if len(rows) > size else None)


def encode_token(listing: str, key: str | int) -> str:
    """An opaque token for ``listing`` (such as ``tables:sales``) that goes on behind ``key``."""
    return base64.urlsafe_b64encode(json.dumps([listing, key]).encode()).decode()


def decode_token(listing: str, token: str | None, kind: type[K]) -> K | None:
    """The key in ``token``, None for no token; :class:`InvalidToken` where it is another listing's or none of ours."""
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
