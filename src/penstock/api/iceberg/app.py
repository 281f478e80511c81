"""Iceberg's REST catalog API as one raw ASGI application: path, credentials, body, handler on a thread, answer."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import getrandbits
from typing import Protocol

import orjson

from penstock.access.audit.event import MOST_TEXT, OUTCOMES, AuditEvent
from penstock.access.audit.log import AuditSink, NullAuditSink
from penstock.access.authenticate import Authenticator, caller_of
from penstock.access.bearer import BearerTokens
from penstock.access.keys import AccessKey
from penstock.access.principals import Caller
from penstock.access.sigv4 import SignedRequest, is_unsigned
from penstock.api.body import Unread, body_size, declared_length, parse_json, read_body
from penstock.api.exchanges import Frame, Receive, Scope, Send
from penstock.api.iceberg import catalogs, namespaces, signing, tables, views
from penstock.api.iceberg.call import Answer, Call, CatalogAccess, IcebergSettings, Vendor
from penstock.api.iceberg.catalogs import account_of
from penstock.api.iceberg.errors import Rendered, render
from penstock.api.iceberg.login import IcebergLogin
from penstock.api.iceberg.routes import ROOT, Match, Router
from penstock.api.iceberg.tokens import Issued
from penstock.api.limits import SMALL_BODY, Limits
from penstock.api.login import named_key
from penstock.api.observer import Observer
from penstock.api.tenants import Tenants
from penstock.api.workers import Workers
from penstock.errors import AccessDenied, InvalidInput
from penstock.lake.iceberg.files import MetadataFiles
from penstock.lake.locations import LakeFolder

__all__ = ["AccessSource", "Exchange", "IcebergApp", "IcebergServices"]

_SERVICE = "iceberg"
_TOKENS = f"{ROOT}/v1/oauth/tokens"


class Exchange:
    """What is known of a request so far, so that an error can be rendered at any point."""

    __slots__ = ("caller", "client", "headers", "key_id", "match", "operation", "request_id", "secure", "unread")

    def __init__(self, scope: Scope) -> None:
        self.headers: dict[str, str] = {}
        for raw, value in scope["headers"]:
            name, text = raw.decode("latin-1"), value.decode("latin-1")
            # Signers join the values of a repeated header with a comma.
            self.headers[name] = f"{self.headers[name]},{text}" if name in self.headers else text
        client = scope.get("client")
        self.client: str = client[0] if client else "-"
        self.secure: bool = scope.get("scheme") == "https"
        # The id is not a secret, so it need not come from the system's generator.
        self.request_id = f"{getrandbits(128):032x}"
        self.key_id = ""
        self.operation = "unknown"
        self.match: Match | None = None
        self.caller: Caller | None = None
        self.unread = True
        """Whether nothing of the body has been read."""

    @property
    def user_agent(self) -> str:
        """The client's name for itself."""
        return self.headers.get("user-agent", "")


class AccessSource(Protocol):
    """Returns what a caller may do in an account's catalog and lake, for one request."""

    def __call__(self, caller: Caller, account: str, exchange: Exchange, /) -> CatalogAccess: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergServices:
    """What the application serves: the accounts, their lakes, who may do what, and credentials for the lakes."""

    tenants: Tenants
    lake_of: Callable[[str], LakeFolder]
    access: AccessSource
    settings: IcebergSettings
    vendor: Vendor | None


class IcebergApp:
    """Answers Iceberg's API over the data catalogs of all accounts.

    If ``authenticator`` is None, every request is accepted, as ``anonymous`` of the first account. All APIs of the process
    share ``limits``. ``insecure`` accepts tokens on connections that others can read.
    """

    def __init__(
        self,
        services: IcebergServices,
        *,
        authenticator: Authenticator | None,
        tokens: BearerTokens | None,
        observer: Observer,
        limits: Limits | None = None,
        audit: AuditSink | None = None,
        insecure: bool = False,
        threads: int = 8,
    ) -> None:
        self._services = services
        self._frame = Frame(
            service=_SERVICE,
            observer=observer,
            answer=self._answer,
            render=self._rendered_error,
            code_of=lambda answer: answer.code,
            send=_send,
        )
        self._limits = limits or Limits()
        self._audit: AuditSink = audit or NullAuditSink()
        self._workers = Workers(threads, name="penstock-iceberg")
        self._first = services.tenants.first.account
        self._anonymous = Caller(account=self._first, principal="anonymous")
        self._login = None
        if authenticator is not None and tokens is not None:
            self._login = IcebergLogin(authenticator, tokens, self._limits, self._workers, insecure=insecure)
        routes = [*namespaces.routes(), *tables.routes(), *views.routes(), *signing.routes()]
        self._router = Router([*catalogs.routes(routes), *routes])

    def close(self) -> None:
        """Wait for running handlers, and start no more."""
        self._workers.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._frame.run(Exchange(scope), scope, receive, send)

    def _rendered_error(self, exchange: Exchange, error: Exception) -> Rendered:
        if isinstance(error, AccessDenied) and exchange.caller is None:
            self._note_failed_login(exchange, error)
        return render(error, request_id=exchange.request_id)

    async def _answer(self, exchange: Exchange, scope: Scope, receive: Receive) -> Rendered:
        head = SignedRequest(
            method=scope["method"],
            path=scope["raw_path"].decode("latin-1"),
            query=scope["query_string"].decode("latin-1"),
            headers=exchange.headers,
            body=b"",
        )
        if scope["path"] == _TOKENS and scope["method"] == "POST":
            exchange.operation = "GetToken"
            return await self._token(exchange, head, scope, receive)
        login = self._login
        presented = None if login is None else await login.present(head, exchange.client, scope)
        exchange.key_id = "" if presented is None else presented.key_id
        match = exchange.match = self._router.find(head.method, head.path)
        exchange.operation = match.route.name
        if match.route.changes:
            self._audit.check()
        owner, size = f"{exchange.client} {exchange.key_id}", body_size(exchange.headers)
        await self._limits.bodies.acquire(owner, size)
        try:
            exchange.unread = False
            request = head._replace(body=await read_body(receive, declared_length(exchange.headers)))
            if login is None or presented is None:
                self._limits.count("")
                caller = self._anonymous
            else:
                caller = await login.caller(presented, request, exchange.client)
            exchange.caller = caller
            work = partial(self._work, exchange, match, caller, request)
            answered: Rendered = await self._workers.run(work, owner=exchange.key_id or exchange.client)
            return answered
        finally:
            self._limits.bodies.release(owner, size)

    def _work(self, exchange: Exchange, match: Match, caller: Caller, request: SignedRequest) -> Rendered:
        """Return the handler's answer; runs on a thread."""
        services = self._services
        account = account_of(match.catalog, caller.account)
        access = services.access(caller, account, exchange)
        tenant = services.tenants.get(account)
        if tenant is None:
            # Who may not read a catalog does not learn either whether it exists.
            access.check("GetDatabases", {})
            raise InvalidInput(f"The account {account} does not exist on this server.")
        call = Call(
            caller=caller,
            account=account,
            parts=match.parts,
            query=request.query,
            body=parse_json(request.body),
            headers=exchange.headers,
            tables=tenant.tables,
            lake_formation=tenant.lake_formation,
            files=MetadataFiles(services.lake_of(account)),
            access=access,
            settings=services.settings,
            # Credentials are the caller's own, which reach only the lake of its own account.
            vendor=services.vendor if account == caller.account else None,
        )
        return _rendered(match.route.handler(call))

    async def _token(self, exchange: Exchange, head: SignedRequest, scope: Scope, receive: Receive) -> Rendered:
        login = self._login
        if login is None:
            raise InvalidInput("This server authenticates nobody (--no-auth), so it has no tokens.")
        login.check_private(scope)
        signed = not is_unsigned(head) and head.headers.get("authorization", "").startswith("AWS4-")
        presented = await login.present(head, exchange.client, scope) if signed else None
        self._limits.failures.check(exchange.client, "")
        if body_size(exchange.headers) > SMALL_BODY:
            raise InvalidInput(f"A request for a token has at most {SMALL_BODY} bytes.")
        exchange.unread = False
        request = head._replace(body=await read_body(receive, declared_length(exchange.headers)))
        if presented is not None:
            exchange.caller = await login.caller(presented, request, exchange.client)
        self._audit.check()
        issued = await login.endpoint.answer(request.body, exchange.headers, exchange.client, login.signer(presented))
        self._note_token(exchange, issued)
        return issued.answer

    def _note_token(self, exchange: Exchange, issued: Issued) -> None:
        """Record who got a token, or who was refused one."""
        key = issued.key
        caller = None if key is None else caller_of(key) if isinstance(key, AccessKey) else key.caller
        self._note(
            exchange,
            OUTCOMES[0] if caller is not None else OUTCOMES[2],
            key_id=issued.key_id,
            caller=caller,
            code="" if caller is not None else issued.answer.code,
            message=issued.refused,
            read_only=False,
        )

    def _note_failed_login(self, exchange: Exchange, error: AccessDenied) -> None:
        head = SignedRequest(method="", path="", query="", headers=exchange.headers, body=b"")
        key_id = exchange.key_id or named_key(head)
        self._note(exchange, OUTCOMES[2], key_id=key_id, code=error.aws_code, message=str(error))

    def _note(
        self,
        exchange: Exchange,
        outcome: str,
        *,
        key_id: str,
        caller: Caller | None = None,
        code: str,
        message: str,
        read_only: bool | None = None,
    ) -> None:
        self._audit.write(
            AuditEvent(
                time=time.time(),
                service=_SERVICE,
                operation=exchange.operation,
                outcome=outcome,
                region=self._services.settings.region,
                account=self._first if caller is None else caller.account,
                request_id=exchange.request_id,
                client=exchange.client,
                user_agent=exchange.user_agent[:MOST_TEXT],
                caller=caller,
                access_key_id=key_id[:MOST_TEXT],
                code=code,
                message=message,
                secure=exchange.secure,
                read_only=read_only,
            )
        )


def _rendered(answer: Answer) -> Rendered:
    headers = tuple((name.encode("latin-1"), value.encode("latin-1")) for name, value in answer.headers.items())
    body = b"" if answer.body is None else orjson.dumps(answer.body)
    return Rendered(status=answer.status, code="OK", body=body, headers=headers)


async def _send(send: Send, exchange: Exchange, answer: Rendered, head: bool, unread: Unread | None) -> None:
    headers = [(b"x-request-id", exchange.request_id.encode()), (b"x-content-type-options", b"nosniff"), *answer.headers]
    if answer.body and not head:
        headers.append((b"content-type", b"application/json"))
    if answer.status not in {204, 304}:
        headers.append((b"content-length", str(0 if head else len(answer.body)).encode()))
    if unread is not None and unread.closes:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    pending = unread is not None and unread.pending
    await send({"type": "http.response.body", "body": b"" if head else answer.body, "more_body": pending})
