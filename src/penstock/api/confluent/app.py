"""Confluent's API as one raw ASGI application: path, credentials, body, handler on a thread, answer."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import getrandbits
from typing import Any

import orjson

from penstock.access.audit.event import MOST_TEXT, OUTCOMES, AuditEvent, render_parameters, shown_query
from penstock.access.audit.log import AuditSink, NullAuditSink
from penstock.access.authenticate import Caller, KeyCache
from penstock.access.context_keys import Origin
from penstock.api.access_checker import AccessChecker
from penstock.api.body import ClientGone, Unread, body_size, declared_length, parse_json, read_body
from penstock.api.confluent import configs, schemas, subjects
from penstock.api.confluent.auth import BasicLogin, check_private
from penstock.api.confluent.authorize import UNRESTRICTED, Permissions
from penstock.api.confluent.errors import NotAcceptable, Rendered, Unauthenticated, code_of, render
from penstock.api.confluent.media import DEFAULT_TYPE, check_content_type, chosen_type
from penstock.api.confluent.requests import Query, Request
from penstock.api.confluent.routes import Match, RawText, Route, Router
from penstock.api.confluent.shapes import Shapes
from penstock.api.exchanges import Frame, Receive, Scope, Send
from penstock.api.limits import SMALL_BODY, Limits
from penstock.api.observer import Observer
from penstock.api.tenants import Tenants
from penstock.api.workers import Workers
from penstock.errors import AccessDenied
from penstock.registry.audit import Actor, acting
from penstock.registry.service import RegistryService
from penstock.registry.subjects.ids import SubjectIds
from penstock.registry.subjects.registration import SubjectRegistration
from penstock.registry.subjects.service import Subjects

__all__ = ["SERVICE", "ConfluentApp"]

SERVICE = "confluent"
"""The name of this API in metrics."""
_STRICT_CLIENTS = ("Java/", "Apache-HttpClient")
_WITH_BODY = frozenset({"POST", "PUT"})
_LARGE = 16 * 1024  # bytes of a request that is kept until its audit event is written
# Routes with a body that change nothing.
_ASKING = frozenset({"look_up", "test_all", "test_one"})


class _Exchange:
    """What is known of a request so far, so that an error can be rendered at any point."""

    __slots__ = ("caller", "client", "headers", "key_id", "match", "named", "request_id", "unread")

    def __init__(self, scope: Scope) -> None:
        # The first header of each name: none of those read here may be repeated.
        self.headers: dict[str, str] = {}
        for name, value in scope["headers"]:
            self.headers.setdefault(name.decode("latin-1"), value.decode("latin-1"))
        client = scope.get("client")
        self.client: str = client[0] if client else "-"
        # The id is not a secret, so it need not come from the system's generator.
        self.request_id = f"{getrandbits(128):032x}"
        self.key_id = ""
        self.named: Callable[[], Sequence[str]] | None = None
        """The ARNs that the request is authorized on."""
        self.unread = True
        """Whether nothing of the body has been read."""
        self.match: Match | None = None
        self.caller: Caller | None = None

    @property
    def operation(self) -> str:
        """The route's name."""
        return self.match.route.name if self.match is not None else "unknown"

    def name(self, key_id: str) -> None:
        """Keep the key id that the Authorization header names."""
        self.key_id = key_id

    @property
    def extras(self) -> bool:
        """Whether the client can read members that older versions of Confluent's server did not send.

        The Java client fails on unknown members unless its header announces that it accepts them.
        """
        return self.headers.get("confluent-accept-unknown-properties", "").lower() == "true" or self.error_extras

    @property
    def error_extras(self) -> bool:
        """The same for errors. The Java client fails on unknown members of an error whatever it announces."""
        return not self.headers.get("user-agent", "").startswith(_STRICT_CLIENTS)

    @property
    def answered_type(self) -> bytes:
        """The media type of the answer; the newest one for a client that accepts none and so gets an error."""
        try:
            return chosen_type(self.headers.get("accept", "")).encode()
        except NotAcceptable:
            return DEFAULT_TYPE.encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class _RegistryApi:
    """Confluent's API over one account's registry; ``permissions`` None lets every caller do everything."""

    router: Router
    permissions: Permissions | None

    @classmethod
    def over(cls, service: RegistryService, permissions: Permissions | None) -> "_RegistryApi":
        under = Subjects(service)
        shapes = Shapes(service, under)
        routes = [
            *schemas.routes(SubjectIds(service), shapes),
            *subjects.routes(under, SubjectRegistration(service, under), shapes),
            *configs.routes(under.configs),
        ]
        return cls(router=Router(routes), permissions=permissions)

    def is_cached(self, caller: Caller, route: Route) -> bool:
        """Return whether all policies that authorize the caller's request are in memory."""
        return self.permissions is None or route.name in UNRESTRICTED or caller.is_root or self.permissions.is_cached(caller)


class ConfluentApp:
    """Answers Confluent's API over ``service``, the registry of ``account``, and over the registries of other accounts.

    If ``keys`` is None, every request is accepted, as ``anonymous`` of ``account``. ``access_checker`` authorizes requests
    on the resources of the caller's tenant in ``tenants``. If those two are None, there is one account, and its callers may
    do everything. All APIs of the process share ``limits``. ``insecure_basic_auth`` accepts passwords on connections that
    others can read.
    """

    def __init__(
        self,
        service: RegistryService,
        *,
        keys: KeyCache | None,
        account: str,
        observer: Observer,
        access_checker: AccessChecker | None = None,
        tenants: Tenants | None = None,
        limits: Limits | None = None,
        insecure_basic_auth: bool = False,
        audit: AuditSink | None = None,
        threads: int = 16,
    ) -> None:
        self._access = access_checker
        self._tenants = tenants
        permissions = (
            Permissions(access_checker, tenants.first)
            if access_checker is not None and tenants is not None and keys
            else None
        )
        self._apis = {account: _RegistryApi.over(service, permissions)}
        self._limits = limits or Limits()
        self._insecure_basic_auth = insecure_basic_auth
        self._audit: AuditSink = audit or NullAuditSink()
        self._anonymous = Caller(account=account, principal="anonymous")
        self._region = service.identity.region
        self._frame = Frame(
            service=SERVICE,
            observer=observer,
            answer=self._recorded,
            render=lambda exchange, error: render(error, request_id=exchange.request_id, extras=exchange.error_extras),
            code_of=lambda answer: "OK" if answer.code == 200 else str(answer.code),
            send=_send,
        )
        self._workers = Workers(threads, name="penstock-confluent")
        self._login = None
        if keys is not None:
            self._login = BasicLogin(keys, self._limits.failures, lambda key_id: self._workers.run(keys.fetch, key_id))

    def close(self) -> None:
        """Wait for running handlers, and start no more."""
        self._workers.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._frame.run(_Exchange(scope), scope, receive, send)

    async def _recorded(self, exchange: _Exchange, scope: Scope, receive: Receive) -> Rendered:
        """Return the answer, after the audit event is in the log's queue."""
        try:
            answer = await self._answer(exchange, scope, receive)
        except ClientGone:
            raise
        except Exception as error:
            self._note(exchange, scope, error)
            raise
        self._note(exchange, scope, None)
        return answer

    def _note(self, exchange: _Exchange, scope: Scope, error: Exception | None) -> None:
        caller, denied = exchange.caller, isinstance(error, AccessDenied)
        match = exchange.match
        if caller is None and not denied:
            return
        if error is None and not self._audit.records_reads and _reads(scope, match):
            return
        parameters: Mapping[str, Any] | bytes
        query = shown_query(scope["query_string"].decode("latin-1"))
        parameters = {"Method": scope["method"], "Path": scope["path"], "Query": query}
        if len(scope["raw_path"]) + len(scope["query_string"]) > _LARGE:
            # The log's queue is bounded by the number of events, so each one has to be small.
            parameters = render_parameters(parameters)
        self._audit.write(
            AuditEvent(
                time=time.time(),
                service=SERVICE,
                operation=match.route.name if match is not None else "",
                outcome=OUTCOMES[0 if not denied else 2 if caller is None else 1],
                region=self._region,
                account=self._anonymous.account if caller is None else caller.account,
                request_id=exchange.request_id,
                client=exchange.client,
                user_agent=exchange.headers.get("user-agent", "")[:MOST_TEXT],
                caller=caller,
                access_key_id=exchange.key_id,
                code="" if error is None else str(code_of(error)),
                message="" if error is None else str(error),
                secure=scope.get("scheme") == "https",
                parameters=parameters,
                resources=exchange.named or (),
                read_only=_reads(scope, match),
            )
        )

    async def _answer(self, exchange: _Exchange, scope: Scope, receive: Receive) -> Rendered:
        method = scope["method"]
        caller = exchange.caller = await self._caller(exchange, scope)
        account = caller.account if self._tenants is not None else self._anonymous.account
        api = self._apis.get(account) or await self._workers.run(self._start, account)
        exchange.match = api.router.find(method, scope["raw_path"].decode("latin-1"))
        chosen_type(exchange.headers.get("accept", ""))
        if not _reads(scope, exchange.match):
            self._audit.check()
        if method in _WITH_BODY:
            check_content_type(exchange.headers.get("content-type", ""))
        owner, size = f"{exchange.client} {exchange.key_id}", body_size(exchange.headers)
        await self._limits.bodies.acquire(owner, size)
        try:
            exchange.unread = False
            body = await read_body(receive, declared_length(exchange.headers))
            return await self._call(exchange, scope, api, caller, body)
        finally:
            self._limits.bodies.release(owner, size)

    async def _call(self, exchange: _Exchange, scope: Scope, api: _RegistryApi, caller: Caller, body: bytes) -> Rendered:
        assert exchange.match is not None
        request = Request(
            parts=exchange.match.parts,
            context=exchange.match.context,
            query=Query(scope["query_string"].decode("latin-1")),
            raw=await self._parsed(exchange, body) if scope["method"] in _WITH_BODY else None,
            extras=exchange.extras,
        )
        if api.permissions is not None:
            # The log's queue is bounded by the number of events, so each one has to be small.
            retained = request if len(body) <= _LARGE else replace(request, raw=None)
            exchange.named = partial(api.permissions.named, exchange.match.route.name, retained)
        work = partial(_work, exchange.match, request, api.permissions, caller, _origin(exchange, scope))
        inline = exchange.match.route.inline and not request.query.text("format") and len(body) <= SMALL_BODY
        if inline and api.is_cached(caller, exchange.match.route):
            return Rendered(status=200, code=200, body=work())
        content: bytes = await self._workers.run(work, owner=exchange.key_id or exchange.client)
        return Rendered(status=200, code=200, body=content)

    async def _parsed(self, exchange: _Exchange, body: bytes) -> Any:
        if len(body) <= SMALL_BODY:
            return parse_json(body)
        return await self._workers.run(parse_json, body, owner=exchange.key_id or exchange.client)

    def _start(self, account: str) -> _RegistryApi:
        tenant = self._tenants.get(account) if self._tenants is not None else None
        if tenant is None or self._access is None:
            raise Unauthenticated
        api = self._apis[account] = _RegistryApi.over(tenant.schemas, Permissions(self._access, tenant))
        return api

    async def _caller(self, exchange: _Exchange, scope: Scope) -> Caller:
        """Return the caller. Authentication reads headers only, so the body of an unauthenticated request is not read."""
        if self._login is None:
            self._limits.count("")
            return self._anonymous
        if not self._insecure_basic_auth:
            check_private(scope)
        authorization = exchange.headers.get("authorization", "")
        caller = await self._login.caller(authorization, exchange.client, named=exchange.name)
        self._limits.count(exchange.key_id)
        return caller


def _work(match: Match, request: Request, permissions: Permissions | None, caller: Caller, origin: Origin) -> bytes:
    if permissions is not None:
        permissions.check(caller, match.route.name, request, origin)
    with acting(Actor(principal=caller.principal, client=origin.client)):
        answer = match.route.handler(request)
    if permissions is not None:
        answer = permissions.shown(caller, match.route.name, answer, origin)
    return answer.text.encode() if isinstance(answer, RawText) else orjson.dumps(answer)


def _origin(exchange: _Exchange, scope: Scope) -> Origin:
    secure = scope.get("scheme") == "https"
    return Origin(client=exchange.client, secure=secure, user_agent=exchange.headers.get("user-agent", ""))


def _reads(scope: Scope, match: Match | None) -> bool:
    """Return whether a request changes nothing."""
    return scope["method"] in {"GET", "HEAD"} or (match is not None and match.route.name in _ASKING)


async def _send(send: Send, exchange: _Exchange, answer: Rendered, head: bool, unread: Unread | None) -> None:
    headers = [
        (b"content-type", exchange.answered_type),
        (b"content-length", str(len(answer.body)).encode()),
        (b"x-request-id", exchange.request_id.encode()),
        (b"x-content-type-options", b"nosniff"),
        *answer.headers,
    ]
    if unread is not None and unread.closes:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    pending = unread is not None and unread.pending
    await send({"type": "http.response.body", "body": b"" if head else answer.body, "more_body": pending})
