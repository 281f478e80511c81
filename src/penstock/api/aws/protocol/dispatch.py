"""The AWS JSON and query protocols as one raw ASGI application: signature, target, shapes, handler, answer.

This is the server's hot path. Operations marked inline run on the event loop; the others on a bounded pool of threads.
Source: the AWS JSON 1.0 and 1.1 protocols of the Smithy specification; the query protocol is
:mod:`penstock.api.aws.protocol.query`.
"""

import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from functools import partial
from random import getrandbits
from typing import Any

from penstock.access.audit.event import MOST_TEXT, OUTCOMES, AuditEvent, is_reading, render_parameters
from penstock.access.audit.log import AuditSink, NullAuditSink
from penstock.access.authenticate import Authenticator, Caller
from penstock.access.errors import MissingAuthentication
from penstock.access.principals import ANONYMOUS
from penstock.access.sigv4 import SignedRequest, is_unsigned
from penstock.api.aws.protocol.endpoints import Endpoint, EndpointTable, Service
from penstock.api.aws.protocol.errors import RenderedError, render
from penstock.api.aws.protocol.models import QUERY, REST
from penstock.api.aws.protocol.operations import BatchHandler, OperationAuthorizer, RequestContext, RunOnThread, Trace
from penstock.api.aws.protocol.query import XML_TYPE, read_fields, write_error
from penstock.api.body import ClientGone, Unread, body_size, declared_length, parse_json, query_members, read_body
from penstock.api.errors import Overloaded, RequestTooLarge, Throttled, UnreadableRequest
from penstock.api.limits import SMALL_BODY, Buckets, Limits
from penstock.api.login import Login, named_key, named_service
from penstock.api.observer import CompletedRequest, Observer
from penstock.api.workers import RequestCoalescer, Workers
from penstock.errors import AccessDenied, PenstockError
from penstock.names import account_of

__all__ = ["AwsApp"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_JSON_TYPES = (b"application/x-amz-json-1.1", b"application/x-amz-json-1.0")
_FORM_TYPE = "application/x-www-form-urlencoded"
_MAX_FORM = 1024 * 1024  # bytes: the largest document of IAM has 131,072 characters, of which a form makes three each


_THROTTLED_RECORDS = 10.0  # audit events of throttled requests a second
_LARGE = 16 * 1024  # bytes of a request that is kept until its audit event is written


class _Exchange:
    """What is known of a request so far, so that an error can be rendered at any point."""

    __slots__ = (
        "caller",
        "client",
        "context",
        "fields",
        "head",
        "headers",
        "key_id",
        "operation",
        "presumed",
        "request_id",
        "retried",
        "service",
        "size",
        "target",
        "unread",
    )

    def __init__(self, headers: dict[str, str], client: str) -> None:
        self.headers = headers
        self.client = client
        self.target = headers.get("x-amz-target", "")
        self.request_id = _new_id()
        self.service: Service | None = None
        self.operation = ""
        self.caller: Caller | None = None
        self.fields: Mapping[str, str] | None = None
        """The fields of the query protocol; None for JSON."""
        self.presumed: Service | None = None
        """The service in whose form an error is rendered before the request's service is known."""
        self.head: SignedRequest | None = None
        self.context: RequestContext | None = None
        self.size = 0
        self.key_id = ""
        self.unread = True
        """Whether nothing of the body has been read."""
        self.retried = False
        """Whether the answer tells the client to send the request again."""


class AwsApp:
    """Answers AWS's JSON and query protocols over ``endpoints``.

    If ``authenticator`` is None, every request is accepted, as ``anonymous`` of ``account``. If ``authorizer`` is None,
    every caller may do everything. All APIs of the process share ``limits``. ``audit`` records every decision.
    """

    def __init__(
        self,
        endpoints: EndpointTable,
        *,
        authenticator: Authenticator | None,
        account: str,
        region: str,
        observer: Observer,
        limits: Limits | None = None,
        audit: AuditSink | None = None,
        authorizer: OperationAuthorizer | None = None,
        threads: int = 16,
    ) -> None:
        self._endpoints = endpoints
        self._authorizer = authorizer
        self._audit: AuditSink = audit or NullAuditSink()
        self._limits = limits or Limits()
        self._login = None if authenticator is None else Login(authenticator, self._limits)
        self._anonymous = Caller(account=account, principal="anonymous")
        self._throttled = Buckets(_THROTTLED_RECORDS, _THROTTLED_RECORDS)
        self._region = region
        self._observer = observer
        self._workers = Workers(threads, name="penstock-api")
        self._coalescers: dict[Endpoint, RequestCoalescer[tuple[Any, RequestContext], bytes]] = {}

    def close(self) -> None:
        """Wait for running handlers, and start no more."""
        self._workers.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        exchange = _Exchange(_headers(scope["headers"]), _client(scope))
        status, code, body = 200, "OK", b""
        self._observer.started()
        try:
            body = await self._recorded(exchange, scope, receive)
        except ClientGone:
            status, code = 499, "ClientGone"
            return
        except Exception as error:  # noqa: BLE001 -- the one place that renders errors
            rendered = self._render(exchange, error)
            exchange.retried = isinstance(error, Throttled | Overloaded)
            status, code, body = rendered.status, rendered.code, rendered.body
        finally:
            unread = Unread(exchange.headers) if exchange.unread else None
            if code != "ClientGone":
                await _send(send, exchange, status=status, code=code, body=body, unread=unread)
            caller = exchange.caller
            service = exchange.service
            self._observer.finished(
                CompletedRequest(
                    service.model.name if service is not None else "unknown",
                    exchange.operation or "unknown",
                    code,
                    status,
                    time.perf_counter() - started,
                    caller.principal if caller is not None else "-",
                    exchange.request_id,
                    exchange.client,
                )
            )
            if unread is not None and unread.pending and code != "ClientGone":
                await unread.drop(receive)
                await send({"type": "http.response.body", "body": b""})

    async def _recorded(self, exchange: _Exchange, scope: Scope, receive: Receive) -> bytes:
        """Return the answer, after the audit event is in the log's queue."""
        secure = scope.get("scheme") == "https"
        try:
            body = await self._answer(exchange, scope, receive)
        except ClientGone:
            raise
        except Exception as error:
            self._note(exchange, error, secure=secure)
            raise
        self._note(exchange, None, secure=secure)
        return body

    def _note(self, exchange: _Exchange, error: Exception | None, *, secure: bool) -> None:
        caller, context = exchange.caller, exchange.context
        denied = isinstance(error, AccessDenied)
        throttled = isinstance(error, Throttled) and self._throttled.take("")
        if caller is None and not denied and not throttled:
            # No decision was made: the request is invalid, or one of so many that their events would crowd out others.
            return
        if error is None and not self._audit.records_reads and is_reading(exchange.operation):
            return
        request = None if context is None or context.trace is None else context.trace.request
        parameters: Mapping[str, Any] | bytes | None = request
        authorizer = self._authorizer
        resources: Any = ()
        if request is not None and context is not None and authorizer is not None:
            resources = partial(authorizer.resources, request, context)
        if request is not None and exchange.size > _LARGE:
            # The log's queue is bounded by the number of events, so each one has to be small.
            resources = resources() if resources else ()
            parameters = render_parameters(request)
        service = exchange.service or exchange.presumed
        self._audit.write(
            AuditEvent(
                time=time.time(),
                service=service.model.name if service is not None else "unknown",
                operation=exchange.operation or exchange.target.rpartition(".")[2][:128],
                outcome=OUTCOMES[2 if caller is None else 1 if denied else 0],
                region=self._region,
                account=self._anonymous.account if caller is None else caller.account,
                request_id=exchange.request_id,
                client=exchange.client,
                user_agent=exchange.headers.get("user-agent", "")[:MOST_TEXT],
                caller=caller,
                access_key_id=self._key_id(exchange),
                code="" if error is None else getattr(error, "aws_code", "InternalFailure"),
                message="" if error is None else str(error),
                secure=secure,
                parameters=parameters,
                resources=resources,
            )
        )

    def _key_id(self, exchange: _Exchange) -> str:
        if exchange.key_id or exchange.head is None or self._login is None:
            return exchange.key_id
        return named_key(exchange.head)[:MOST_TEXT]

    async def _answer(self, exchange: _Exchange, scope: Scope, receive: Receive) -> bytes:
        head = exchange.head = _head(scope, exchange.headers)
        self._find_service(exchange, head)
        login = self._login
        presented = None
        unsigned = login is not None and exchange.fields is not None and is_unsigned(head)
        if unsigned:
            # The form's operation may need no signature: up to SMALL_BODY bytes are read without authentication.
            self._limits.failures.check(exchange.client, "")
            if body_size(exchange.headers) > SMALL_BODY:
                self._limits.failures.failed(exchange.client, "")
                raise _no_signature()
        elif login is not None:
            signed_for = exchange.service or exchange.presumed
            assert signed_for is not None
            presented = await login.check_key(head, signed_for.model, exchange.client, self._workers)
        exchange.key_id = "" if presented is None else presented.key_id
        owner = exchange.client if presented is None else f"{exchange.client} {presented.key_id}"
        size = body_size(exchange.headers)
        if exchange.fields is not None and (declared_length(exchange.headers) or 0) > _MAX_FORM:
            raise _large_form()
        await self._limits.bodies.acquire(owner, size)
        try:
            exchange.unread = False
            request = head._replace(body=await read_body(receive, declared_length(exchange.headers)))
            exchange.size = len(request.body)
            if exchange.fields is not None and exchange.size > _MAX_FORM:
                raise _large_form()
            if exchange.fields is not None and exchange.size > SMALL_BODY:
                await self._workers.run(self._read_form, exchange, request, owner=exchange.key_id or exchange.client)
            elif exchange.fields is not None:
                self._read_form(exchange, request)
            service = exchange.service
            assert service is not None
            if unsigned:
                return await self._call_unsigned(exchange, request, service, secure=scope.get("scheme") == "https")
            if login is None or presented is None:
                self._limits.count("")
                caller = self._anonymous
            else:
                caller = await login.authenticate(presented, request, service.model, exchange.client, self._workers)
            exchange.caller = caller
            return await self._call(exchange, request, caller, service, secure=scope.get("scheme") == "https")
        finally:
            self._limits.bodies.release(owner, size)

    async def _call_unsigned(self, exchange: _Exchange, request: SignedRequest, service: Service, *, secure: bool) -> bytes:
        """Return the answer of an operation without a signature; every failure counts as a failed login of the address."""
        endpoint = self._endpoints.get(exchange.target)
        try:
            if endpoint is None or not endpoint.unsigned:
                raise _no_signature()
            body = await self._call(exchange, request, Caller(account="", principal=ANONYMOUS), service, secure=secure)
        except PenstockError:
            self._limits.failures.failed(exchange.client, "")
            raise
        # Not set before, so that a rejected request is recorded as a failed login.
        trace = None if exchange.context is None else exchange.context.trace
        role = "" if trace is None or trace.request is None else trace.request.get("RoleArn", "")
        exchange.caller = Caller(account=account_of(role) or self._anonymous.account, principal=ANONYMOUS)
        return body

    def _find_service(self, exchange: _Exchange, head: SignedRequest) -> None:
        """Find the request's service by its headers; forms name it in their bodies."""
        path = head.path.removeprefix("/")
        if path:
            # Only services whose operations are paths get here with one: UnservedServices takes the others.
            exchange.target = f"{REST}{named_service(head)}.{path}"
        elif not exchange.target:
            if exchange.headers.get("content-type", "").startswith(_FORM_TYPE) or "Action=" in head.query:
                exchange.fields = {}
                exchange.presumed = self._endpoints.form_service(named_service(head))
                return
            if head.query:
                exchange.target = _hoisted_target(head.query)
        elif exchange.target.startswith((QUERY, REST)):
            exchange.target = ""
        exchange.service = self._endpoints.service_of(exchange.target)

    def _read_form(self, exchange: _Exchange, request: SignedRequest) -> None:
        try:
            form = request.body.decode()
        except UnicodeDecodeError:
            raise UnreadableRequest("The form is not UTF-8.") from None
        exchange.fields = read_fields("&".join(part for part in (form, request.query) if part))
        exchange.target = f"{QUERY}{exchange.fields.get('Version', '')}.{exchange.fields.get('Action', '')}"
        exchange.service = self._endpoints.service_of(exchange.target)

    async def _call(
        self, exchange: _Exchange, request: SignedRequest, caller: Caller, service: Service, *, secure: bool
    ) -> bytes:
        endpoint = self._endpoints.get(exchange.target)
        if endpoint is None:
            exchange.operation = self._endpoints.known_operation(exchange.target)
            raise self._endpoints.refuse(exchange.target)
        exchange.operation = endpoint.operation
        if endpoint.bounded and self._limits.account_throttle is not None:
            # Without a signature there is no account yet: the address is counted, and uses up no account's rate.
            self._limits.account_throttle.take(caller.account or exchange.client)
        owner = exchange.key_id or exchange.client
        raw: Any = exchange.fields
        if raw is None and request.query and not request.body:
            raw = query_members(request.query)
        elif raw is None and exchange.size <= SMALL_BODY:
            raw = parse_json(request.body)
        elif raw is None:
            raw = await self._workers.run(parse_json, request.body, owner=owner)
        inline = endpoint.inline and exchange.size <= SMALL_BODY
        if not is_reading(endpoint.operation):
            self._audit.check()
        context = exchange.context = RequestContext(
            service=service.model.name,
            operation=endpoint.operation,
            account=caller.account,
            region=self._region,
            principal=caller.principal,
            request_id=exchange.request_id,
            client=exchange.client,
            on_loop=inline,
            caller=caller,
            secure=secure,
            user_agent=exchange.headers.get("user-agent", ""),
            trace=Trace(),
        )
        if inline:
            [answer] = endpoint.answer([(raw, context)], self._authorizer)
            if not isinstance(answer, RunOnThread):
                return _returned(answer)
            context = context._replace(on_loop=False)
        if isinstance(endpoint.handler, BatchHandler):
            return await self._coalescer(endpoint).run((raw, context))
        [answer] = await self._workers.run(endpoint.answer, [(raw, context)], self._authorizer, owner=owner)
        return _returned(answer)

    def _coalescer(self, endpoint: Endpoint) -> RequestCoalescer[tuple[Any, RequestContext], bytes]:
        coalescer = self._coalescers.get(endpoint)
        if coalescer is None:
            coalescer = RequestCoalescer(self._workers, partial(endpoint.answer, authorizer=self._authorizer))
            self._coalescers[endpoint] = coalescer
        return coalescer

    def _render(self, exchange: _Exchange, error: Exception) -> RenderedError:
        service = exchange.service or exchange.presumed
        rendered = render(
            error,
            request_id=exchange.request_id,
            renamed=service.renamed if service is not None else {},
            message_keys=service.message_keys if service is not None else {},
        )
        if service is not None and service.model.query:
            return write_error(service.model, rendered, request_id=exchange.request_id)
        return rendered


def _no_signature() -> MissingAuthentication:
    return MissingAuthentication("Missing Authentication Token")


def _large_form() -> RequestTooLarge:
    return RequestTooLarge(f"The form is larger than {_MAX_FORM} bytes.")


def _new_id() -> str:
    # A version 4 UUID. The id is not a secret, so it need not come from the system's generator.
    digits = f"{getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def _returned(answer: bytes | Exception) -> bytes:
    if isinstance(answer, Exception):
        raise answer
    return answer


def _client(scope: Scope) -> str:
    client = scope.get("client")
    return client[0] if client else "-"


def _headers(raw: list[tuple[bytes, bytes]]) -> dict[str, str]:
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in raw}
    if len(headers) == len(raw):
        return headers
    headers.clear()
    for name, value in raw:
        key = name.decode("latin-1")
        text = value.decode("latin-1")
        # Signers join the values of a repeated header with a comma.
        headers[key] = f"{headers[key]},{text}" if key in headers else text
    return headers


def _head(scope: Scope, headers: dict[str, str]) -> SignedRequest:
    return SignedRequest(
        method=scope["method"],
        path=scope["raw_path"].decode("latin-1"),
        query=scope["query_string"].decode("latin-1"),
        headers=headers,
        body=b"",
    )


def _hoisted_target(query: str) -> str:
    """Return the target that some signers move from the header to a presigned URL."""
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        if name.lower() == "x-amz-target":
            return "" if value.startswith(QUERY) else value
    return ""


async def _send(send: Send, exchange: _Exchange, *, status: int, code: str, body: bytes, unread: Unread | None) -> None:
    content_type = exchange.headers.get("content-type", "").encode("latin-1")
    xml = exchange.fields is not None and (exchange.service or exchange.presumed) is not None
    answer = [
        (b"content-type", XML_TYPE if xml else content_type if content_type in _JSON_TYPES else _JSON_TYPES[0]),
        (b"content-length", str(len(body)).encode()),
        (b"x-amzn-requestid", exchange.request_id.encode()),
    ]
    if status != 200:
        answer.append((b"x-amzn-errortype", code.encode()))
    if exchange.retried:
        answer.append((b"retry-after", b"1"))
    if unread is not None and unread.closes:
        answer.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": answer})
    await send({"type": "http.response.body", "body": body, "more_body": unread is not None and unread.pending})
