"""What metrics and the access log get of each request."""

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
    """Is called for every request."""

    def started(self) -> None:
        """A request has arrived."""

    def finished(self, request: CompletedRequest) -> None:
        """Its answer has been sent."""
