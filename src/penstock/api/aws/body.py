"""Request bodies, bounded: bytes, and how deep their JSON goes."""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any
from urllib.parse import parse_qsl

import orjson

from penstock.api.aws.errors import RequestTooLarge, UnreadableRequest

__all__ = ["MAX_BYTES", "MAX_DEPTH", "ClientGone", "parse_json", "query_members", "read_body"]

MAX_BYTES = 10 * 1024 * 1024
MAX_DEPTH = 100
# What of an oversize body is read and thrown away, so that the client gets its answer instead of a broken connection.
_DRAINED = 8 * MAX_BYTES

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class ClientGone(Exception):
    """The client closed the connection before its request was whole."""


async def read_body(receive: Receive, declared: int | None) -> bytes:
    """The body's bytes. Raises :class:`RequestTooLarge` over :data:`MAX_BYTES`, :class:`ClientGone` when it ends early."""
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
    """The JSON value of ``body``, ``{}`` for an empty one; :class:`UnreadableRequest` where it is none or too deep."""
    if not body:
        return {}
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise UnreadableRequest(f"The request body is not JSON: {error}.") from None
    if body.count(b"{") + body.count(b"[") > MAX_DEPTH and _deeper(value, MAX_DEPTH):
        raise UnreadableRequest(f"The request body is nested more than {MAX_DEPTH} levels deep.")
    return value


def query_members(query: str) -> Mapping[str, str]:
    """Members of a presigned request: signers put a body's text members into the query."""
    return {name: value for name, value in parse_qsl(query, keep_blank_values=True) if not name.startswith("X-Amz-")}


def _deeper(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit + 1):
        below: list[Any] = []
        for item in level:
            if type(item) is dict:
                below.extend(item.values())
            elif type(item) is list:
                below.extend(item)
        if not below:
            return False
        level = [item for item in below if type(item) is dict or type(item) is list]
    return bool(level)


def _too_large() -> RequestTooLarge:
    return RequestTooLarge(f"The request body is larger than {MAX_BYTES} bytes.")
