"""Request bodies within bounds of size and JSON depth, and the rest of bodies that are not read."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any
from urllib.parse import parse_qsl

from penstock.api.errors import RequestTooLarge, UnreadableRequest
from penstock.api.limits import SMALL_BODY
from penstock.bounded_json import JsonTooDeep, JsonTooLarge, read_json

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "MAX_VALUES",
    "ClientGone",
    "Unread",
    "body_size",
    "declared_length",
    "parse_json",
    "query_members",
    "read_body",
]

MAX_BYTES = 10 * 1024 * 1024
MAX_DEPTH = 100
MAX_VALUES = 500_000
"""Values of a JSON body, by :func:`penstock.bounded_json.count_marks`: those of 100 partitions with 1,000 columns."""
# Bytes of an oversize body that are read and discarded, so that the client gets its answer and not a broken connection.
_DRAINED = 8 * MAX_BYTES
# Bytes of an unread body that are discarded after its answer: closing at once would reset the connection of a client that is
# still sending, which then would not see the answer.
_LINGER_BYTES = 1024 * 1024
_LINGER_SECONDS = 2.0

Headers = Mapping[str, str]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class ClientGone(Exception):
    """The client closed the connection before its request was complete."""


def declared_length(headers: Headers) -> int | None:
    """Return the body's length by its header; None if it is chunked or has no length."""
    length = headers.get("content-length", "")
    return int(length) if length.isascii() and length.isdigit() else None


def body_size(headers: Headers) -> int:
    """Return the bytes to reserve for a body: its length, or the maximum if it is unknown, or 0 if it is too large."""
    declared = declared_length(headers)
    if declared is not None:
        # A body that is too large is not kept.
        return declared if declared <= MAX_BYTES else 0
    return MAX_BYTES if "transfer-encoding" in headers else 0


class Unread:
    """A request that is answered before its body is read: whether its connection is closed, and the rest is discarded."""

    __slots__ = ("closes", "pending")

    def __init__(self, headers: Headers) -> None:
        declared = declared_length(headers)
        chunked = declared is None and "transfer-encoding" in headers
        # A client that waits for 100 Continue may not send the body, so what follows on the connection is ambiguous.
        waits = "expect" in headers
        self.pending = not waits and (chunked or bool(declared))
        self.closes = waits or chunked or (declared or 0) > SMALL_BODY

    async def drop(self, receive: Receive) -> None:
        """Discard the rest of the body: at most 1 MB and 2 seconds if the connection is closed afterwards."""
        dropped = 0
        try:
            async with asyncio.timeout(_LINGER_SECONDS if self.closes else None):
                while dropped <= _LINGER_BYTES:
                    message = await receive()
                    if message["type"] != "http.request" or not message.get("more_body", False):
                        return
                    dropped += len(message.get("body", b""))
        except TimeoutError:
            return


async def read_body(receive: Receive, declared: int | None) -> bytes:
    """Return the body. Raises :class:`RequestTooLarge` over :data:`MAX_BYTES`, :class:`ClientGone` if it ends early."""
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body", False):
        body: bytes = message.get("body", b"")
        if len(body) > MAX_BYTES:
            raise _too_large()
        return body
    chunks: list[bytes] = []
    size = 0
    while True:
        if message["type"] != "http.request":
            raise ClientGone
        chunk = message.get("body", b"")
        size += len(chunk)
        if size <= MAX_BYTES:
            chunks.append(chunk)
        else:
            chunks.clear()
        if not message.get("more_body", False):
            break
        if max(size, declared or 0) > _DRAINED:
            raise _too_large()
        message = await receive()
    if size > MAX_BYTES:
        raise _too_large()
    return b"".join(chunks)


def parse_json(body: bytes) -> Any:
    """Return the JSON value of ``body``, ``{}`` if empty. A body of over 64 KB is parsed on a thread, not on the event loop.

    Raises :class:`UnreadableRequest` if it is invalid or too deep, :class:`RequestTooLarge` if it has too many values.
    """
    if not body:
        return {}
    if len(body) > SMALL_BODY and _is_on_loop():
        raise RuntimeError("a large body was to be parsed on the event loop")
    try:
        return read_json(body, most=MAX_VALUES, deepest=MAX_DEPTH)
    except JsonTooLarge:
        raise RequestTooLarge(
            f"The request body has more than {MAX_VALUES:,} values.", remedy="Send it as several requests."
        ) from None
    except JsonTooDeep:
        raise UnreadableRequest(f"The request body is nested more than {MAX_DEPTH} levels deep.") from None
    except ValueError as error:
        raise UnreadableRequest(f"The request body is not JSON: {error}.") from None


def _is_on_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def query_members(query: str) -> Mapping[str, str]:
    """Return the members of a presigned request: signers put a body's string members into the query."""
    return {name: value for name, value in parse_qsl(query, keep_blank_values=True) if not name.startswith("X-Amz-")}


def _too_large() -> RequestTooLarge:
    return RequestTooLarge(f"The request body is larger than {MAX_BYTES} bytes.")
