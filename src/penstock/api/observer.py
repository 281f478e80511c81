"""What metrics and the access log are told of each request."""

from typing import NamedTuple, Protocol

__all__ = ["CompletedRequest", "Observer"]


class CompletedRequest(NamedTuple):
    """One answered request, for metrics and the access log. ``code`` is OK or the error's."""

    service: str
    operation: str
    code: str
    status: int
    seconds: float
    principal: str
    request_id: str
    client: str


class Observer(Protocol):
    """Hears of every request."""

    def started(self) -> None:
        """A request came in."""

    def finished(self, request: CompletedRequest) -> None:
        """Its answer went out."""
