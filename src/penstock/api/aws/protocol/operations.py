"""What an operation is: the contract between the dispatcher and the modules of operations.

A module of operations (``registry.py``, ``catalog.py``, ...) has one function that takes its domain service and returns
an :class:`OperationSet`. Handlers get the request as botocore's shapes describe it (already checked: required members,
types, lengths, patterns; blobs as ``bytes``, timestamps as ``datetime``), return the response in the same terms, and raise
:class:`penstock.errors.PenstockError`; the dispatcher renders both.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from penstock.access.context_keys import Origin
from penstock.access.principals import Caller, root_arn
from penstock.query.ports import CatalogAccess

__all__ = [
    "Answer",
    "AnyHandler",
    "BatchHandler",
    "Handler",
    "OperationAuthorizer",
    "OperationCall",
    "OperationSet",
    "RequestContext",
    "RunOnThread",
    "ServedOperation",
    "Trace",
]


class RequestContext(NamedTuple):
    """The authenticated caller and the operation of one request.

    A named tuple, because creating one takes a fifth of the time of a frozen dataclass.
    """

    service: str
    operation: str
    account: str
    """Account of the requested resources: the caller's own, unless the request names another one."""
    region: str
    principal: str
    """ARN of the caller; ``anonymous`` under --no-auth."""
    request_id: str
    client: str = "-"
    """Network address of the client."""
    on_loop: bool = False
    """Whether the handler runs on the event loop, and so blocks all other requests."""
    caller: Caller | None = None
    secure: bool = False
    """Whether the request came over TLS."""
    user_agent: str = ""
    check_operation: Callable[[str, Mapping[str, Any]], None] | None = None
    """For an operation that carries out others of its service: raises :class:`penstock.errors.AccessDenied` unless the
    caller may call the named one with a request; None if it may call all."""
    trace: "Trace | None" = None
    catalog_access: CatalogAccess | None = None
    """For services that read Glue's catalog on behalf of the caller; None if the caller may read all of it."""

    @property
    def caller_or_root(self) -> Caller:
        """The caller; under --no-auth the root of the account."""
        if self.caller is None or self.caller.principal == self.principal == "anonymous":
            return Caller(account=self.account, principal=root_arn(self.account), user_id=self.account)
        return self.caller

    @property
    def origin(self) -> Origin:
        """The request's origin, for conditions of policies."""
        return Origin(client=self.client, secure=self.secure, region=self.region, user_agent=self.user_agent)

    def for_account(self, account: str) -> "RequestContext":
        """Return the same request for the resources of ``account``."""
        return self._replace(account=account)


class Trace:
    """Keeps the checked request for its audit event; None if the check rejected it."""

    __slots__ = ("request",)

    def __init__(self) -> None:
        self.request: Mapping[str, Any] | None = None


class RunOnThread(Exception):
    """Raised by an inline handler, before it has any effect, to be called again on a worker thread."""


Handler = Callable[[Mapping[str, Any], RequestContext], Mapping[str, Any]]
OperationCall = tuple[Mapping[str, Any], RequestContext]
Answer = Mapping[str, Any] | Exception


@dataclass(frozen=True, slots=True, eq=False)
class BatchHandler:
    """A handler that answers several requests together: many writes in one transaction cost less than one transaction each.

    ``answer`` returns for each request, in order, its response or its error: an error of one is not an error of the others.
    The callers are in the contexts.
    """

    answer: Callable[[Sequence[OperationCall]], Sequence[Answer]]


AnyHandler = Handler | BatchHandler


class ServedOperation(Protocol):
    """The operation that a request names."""

    @property
    def handler(self) -> AnyHandler: ...


class OperationAuthorizer(Protocol):
    """Authorizes operations, and picks the account whose handler answers."""

    def authorize(
        self, endpoint: ServedOperation, request: Mapping[str, Any], context: RequestContext
    ) -> tuple[AnyHandler, RequestContext]:
        """Return the handler to call and its context; raise :class:`~penstock.access.errors.NotAuthorized`.

        ``request`` is checked. Raises :class:`RunOnThread` if it is called on the event loop and would have to read a store.
        """

    def resources(self, request: Mapping[str, Any], context: RequestContext) -> Sequence[str]:
        """Return the ARNs that a request was authorized on, for its audit event; may read a store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationSet:
    """Handlers of one service (``glue``, ``athena``, ``secretsmanager``), by operation name.

    Handlers named in ``inline`` answer from memory or one indexed read within about 100 microseconds and run on the event
    loop; they raise :class:`RunOnThread` for the rare request that takes longer. All others run on a worker thread.
    """

    service: str
    handlers: Mapping[str, AnyHandler]
    inline: frozenset[str] = field(default_factory=frozenset)
    bounded: frozenset[str] = field(default_factory=frozenset)
    """Operations whose every call is recorded and that no other limit bounds: an account may send so many a second."""
    unsigned: frozenset[str] = field(default_factory=frozenset)
    """Operations that authenticate by a token in the request instead of a signature; only of the query protocol."""
    misplaced: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By operation, members that it does not have but that published examples send: to ignore them would mislead. The text
    says what to send instead; all other unknown members are ignored, as AWS does."""
