"""A closed-loop HTTP load generator in one process: signed requests over kept-alive connections, one in flight on each.

Requests are signed before the clock starts, so that the client's own work is not measured.
"""

import asyncio
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlsplit

import uvloop
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

__all__ = ["Rate", "measure", "sign"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Answers of one run: the number with status 200, the number of others, and the seconds it took."""

    answered: int
    refused: int
    seconds: float
    first_refusal: bytes

    @property
    def per_second(self) -> float:
        """Answers with status 200 per second."""
        return self.answered / self.seconds


def sign(endpoint: str, operation: str, body: object, key: tuple[str, str], region: str = "us-east-1") -> bytes:
    """Return the bytes of one signed Glue request."""
    address = urlsplit(endpoint).netloc
    payload = json.dumps(body).encode()
    headers = {"Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": f"AWSGlue.{operation}", "Host": address}
    request = AWSRequest(method="POST", url=endpoint + "/", data=payload, headers=headers)
    SigV4Auth(Credentials(*key), "glue", region).add_auth(request)
    lines = [f"{name}: {value}" for name, value in request.headers.items()]
    head = "\r\n".join(["POST / HTTP/1.1", *lines, f"Content-Length: {len(payload)}", "", ""])
    return head.encode() + payload


def measure(endpoint: str, requests: Sequence[bytes], *, seconds: float, connections: int, repeat: bool) -> Rate:
    """Send ``requests`` in turn until ``seconds`` have passed; ``repeat`` starts over when they are used up."""
    return uvloop.run(_measure(endpoint, requests, seconds, connections, repeat))


class _Client(asyncio.Protocol):
    def __init__(self, source: Iterator[bytes], deadline: float, done: asyncio.Future[None]) -> None:
        self.source, self.deadline, self.done = source, deadline, done
        self.answered = self.refused = 0
        self.first_refusal = b""
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not instances of an asyncio class.
        self.transport = cast(asyncio.Transport, transport)
        self._next()

    def _next(self) -> None:
        request = next(self.source, None) if time.perf_counter() < self.deadline else None
        if request is None:
            self.transport.close()
        else:
            self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self.buffer[:end].lower()
        at = head.index(b"content-length:") + 15
        stop = head.find(b"\r\n", at)
        length = int(head[at : stop if stop > 0 else end])
        if len(self.buffer) < end + 4 + length:
            return
        if head.startswith(b"http/1.1 200"):
            self.answered += 1
        else:
            self.refused += 1
            self.first_refusal = self.first_refusal or self.buffer
        self.buffer = b""
        if b"connection: close" in head:
            self.transport.close()
        else:
            self._next()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        if not self.done.done():
            self.done.set_result(None)


async def _measure(endpoint: str, requests: Sequence[bytes], seconds: float, connections: int, repeat: bool) -> Rate:
    where = urlsplit(endpoint)
    loop = asyncio.get_running_loop()
    started = time.perf_counter()
    source = _endless(requests) if repeat else iter(requests)
    clients: list[_Client] = []
    futures: list[asyncio.Future[None]] = []

    async def connect() -> None:
        done = loop.create_future()
        futures.append(done)
        _, client = await loop.create_connection(
            lambda: _Client(source, started + seconds, done), where.hostname or "127.0.0.1", where.port or 80
        )
        clients.append(client)

    await asyncio.gather(*(connect() for _ in range(connections)))
    # Some servers (moto's) close the connection after each answer: open new ones until the time is up.
    while time.perf_counter() < started + seconds:
        pending = [future for future in futures if not future.done()]
        if not pending and not repeat:
            break
        for _ in range(connections - len(pending)):
            await connect()
        pending = [future for future in futures if not future.done()]
        if pending:
            await asyncio.wait(
                pending, timeout=max(0.0, started + seconds - time.perf_counter()), return_when="FIRST_COMPLETED"
            )
    await asyncio.gather(*futures)
    return Rate(
        answered=sum(client.answered for client in clients),
        refused=sum(client.refused for client in clients),
        seconds=time.perf_counter() - started,
        first_refusal=next((client.first_refusal for client in clients if client.first_refusal), b""),
    )


def _endless(requests: Sequence[bytes]) -> Iterator[bytes]:
    while True:
        yield from requests
