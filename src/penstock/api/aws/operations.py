"""What an operation is: the contract between the dispatcher and the modules of operations.

A module of operations (``registry.py``, ``catalog.py``, ...) has one function that takes its domain service and returns
an :class:`OperationSet`. Handlers get the request as botocore's shapes describe it (already checked: required members,
types, lengths, patterns; blobs as ``bytes``, timestamps as ``datetime``), return the response in the same terms, and raise
:class:`penstock.errors.PenstockError`; the dispatcher renders both.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Handler", "OperationSet", "RequestContext", "RunOnThread"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestContext:
    """Who asks for what, as the signature proved it."""

    service: str
    operation: str
    account: str
    region: str
    principal: str
    """ARN of the caller; ``anonymous`` under --no-auth."""
    request_id: str
    client: str = "-"
    """Network address it came from."""
    on_loop: bool = False
    """Whether the handler holds up the event loop, and so all other requests."""


class RunOnThread(Exception):
    """An inline handler's request to be called again on a worker thread, before it has done anything."""


Handler = Callable[[Mapping[str, Any], RequestContext], Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationSet:
    """Handlers of one service (``glue``, ``athena``, ``secretsmanager``), by operation name.

    Handlers named in ``inline`` answer from memory or one indexed read within about 100 microseconds and run on the event
    loop; they raise :class:`RunOnThread` for the rare request that takes longer. All others run on a worker thread.
    """

    service: str
    handlers: Mapping[str, Handler]
    inline: frozenset[str] = field(default_factory=frozenset)
