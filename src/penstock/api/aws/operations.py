"""What an operation is: the contract between the dispatcher and the modules of operations.

A module of operations (``registry.py``, ``catalog.py``, ...) has one function that takes its domain service and returns
an :class:`OperationSet`. Handlers get the request as botocore's shapes describe it (already checked: required members,
types, lengths, patterns; blobs as ``bytes``, timestamps as ``datetime``), return the response in the same terms, and raise
:class:`penstock.errors.PenstockError`; the dispatcher renders both.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Handler", "OperationSet", "RequestContext"]


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


Handler = Callable[[Mapping[str, Any], RequestContext], Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationSet:
    """Handlers of one service (``glue``, ``athena``, ``secretsmanager``), by operation name.

    Handlers named in ``inline`` answer from memory or one indexed read within about 100 microseconds and run on the event
    loop; all others run on a worker thread.
    """

    service: str
    handlers: Mapping[str, Handler]
    inline: frozenset[str] = field(default_factory=frozenset)
