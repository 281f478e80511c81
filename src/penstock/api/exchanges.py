"""The frame of an API's ASGI application: one request answered, sent, and observed, however it ends."""

import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from penstock.access.principals import Caller
from penstock.api.body import ClientGone, Unread
from penstock.api.observer import CompletedRequest, Observer

__all__ = ["Exchange", "Frame", "Receive", "Rendered", "Scope", "Send"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Exchange(Protocol):
    """What is known of a request so far."""

    headers: dict[str, str]
    client: str
    request_id: str
    caller: Caller | None
    unread: bool
    """Whether nothing of the body has been read."""

    @property
    def operation(self) -> str: ...


class Rendered(Protocol):
    """An answer, with its status."""

    @property
    def status(self) -> int: ...


E = TypeVar("E", bound=Exchange)
A = TypeVar("A", bound=Rendered)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame(Generic[E, A]):
    """What differs between APIs: how a request is answered, an error rendered, and an answer sent.

    ``code_of`` returns what metrics call an answer. ``send`` gets what is left of the body, if none of it was read.
    """

    service: str
    observer: Observer
    answer: Callable[[E, Scope, Receive], Awaitable[A]]
    render: Callable[[E, Exception], A]
    code_of: Callable[[A], str]
    send: Callable[[Send, E, A, bool, Unread | None], Awaitable[None]]

    async def run(self, exchange: E, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of HTTP."""
        started = time.perf_counter()
        status, code = 499, "ClientGone"
        unread: Unread | None = None
        self.observer.started()
        try:
            try:
                answer = await self.answer(exchange, scope, receive)
            except ClientGone:
                return
            except Exception as error:  # noqa: BLE001 -- the one place that renders errors
                answer = self.render(exchange, error)
            status, code = answer.status, self.code_of(answer)
            unread = Unread(exchange.headers) if exchange.unread else None
            await self.send(send, exchange, answer, scope["method"] == "HEAD", unread)
        finally:
            self.observer.finished(
                CompletedRequest(
                    self.service,
                    exchange.operation,
                    code,
                    status,
                    time.perf_counter() - started,
                    exchange.caller.principal if exchange.caller is not None else "-",
                    exchange.request_id,
                    exchange.client,
                )
            )
            if unread is not None and unread.pending:
                await unread.drop(receive)
                await send({"type": "http.response.body", "body": b""})
