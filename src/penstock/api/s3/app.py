"""The ASGI application of the S3 endpoint: finds a request's operation and sends its answer or error document."""

import asyncio
import errno
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import unquote_to_bytes

from starlette.types import Receive, Scope, Send

from penstock.access.audit.event import is_reading
from penstock.access.audit.log import AuditSink, AuditUnavailable, NullAuditSink
from penstock.access.context_keys import Origin
from penstock.access.principals import ANONYMOUS, Caller
from penstock.access.sigv4 import Claim, SignedRequest
from penstock.api.errors import Throttled
from penstock.api.limits import Limits
from penstock.api.s3.audit import UNDECIDED, AuditedRequest, named_key
from penstock.api.s3.body import BodyReader
from penstock.api.s3.buckets import BUCKET_HANDLERS
from penstock.api.s3.call import Answer, Authorize, BucketLake, Call, Handler, Lake, not_implemented
from penstock.api.s3.identity import AuthenticatedRequest, S3Authenticator
from penstock.api.s3.model import operation_of, output_of, parse_members, parse_query
from penstock.api.s3.objects import OBJECT_HANDLERS
from penstock.api.s3.policies import POLICY_HANDLERS, BucketLakes
from penstock.api.s3.request_headers import check_headers
from penstock.api.s3.settings import SETTING_HANDLERS
from penstock.api.s3.signature import ChunkSigner, Payload, payload_of
from penstock.api.s3.transfers import TRANSFER_HANDLERS
from penstock.api.s3.work import Work
from penstock.api.s3.xml import error_xml, render_xml, scalar_text
from penstock.lake.objects.errors import S3Error

__all__ = ["HANDLERS", "S3App"]

HANDLERS: Mapping[str, Handler] = {
    **BUCKET_HANDLERS,
    **SETTING_HANDLERS,
    **POLICY_HANDLERS,
    **OBJECT_HANDLERS,
    **TRANSFER_HANDLERS,
}

_log = logging.getLogger("penstock.s3")
_XML = "application/xml"
_BLOCK = 512 * 1024
_FULL = {errno.ENOSPC, errno.EDQUOT}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    bucket: str
    key: str

    @property
    def depth(self) -> int:
        return 2 if self.key else 1 if self.bucket else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Authenticated:
    caller: Caller
    authorize: Authorize | None
    payload: Payload
    signer: ChunkSigner


class S3App:
    """S3 over the lakes that ``lake_of`` returns by account.

    ``accounts`` returns the accounts that have one: callers reach those of others by their buckets' policies. Without
    ``authenticator`` every caller is root of the account ``first``. Hosts below one of ``domains`` (``.localhost``)
    are named after buckets.
    """

    def __init__(
        self,
        lake_of: Callable[[str], Lake],
        authenticator: S3Authenticator | None,
        *,
        work: Work,
        first: str,
        region: str,
        domains: tuple[str, ...] = (".localhost",),
        audit: AuditSink | None = None,
        limits: Limits | None = None,
        close: Callable[[], None] | None = None,
        accounts: Callable[[], Iterable[str]] | None = None,
    ) -> None:
        self._buckets = BucketLakes(lake_of, accounts)
        self._identities = authenticator
        self._work = work
        self._first = first
        self._region = region
        self._domains = domains
        self._audit: AuditSink = audit or NullAuditSink()
        self._limits = limits or Limits()
        self._close = close

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        request_id = secrets.token_hex(8).upper()
        incoming = _Incoming(scope, receive)
        send = incoming.closing(send)
        try:
            answer, operation = await self._recorded(scope, incoming.receive, request_id)
        except S3Error as error:
            await _send_error(scope, send, error, request_id)
            return
        except OSError as error:
            full = error.errno in _FULL
            if not full:
                _log.exception("request %s failed", request_id)
            code = "InsufficientStorage" if full else "InternalError"
            text = "The disk of the lake is full." if full else "We encountered an internal error. Please try again."
            await _send_error(scope, send, S3Error(code, text), request_id)
            return
        except Exception:  # noqa: BLE001 -- whatever it is, clients read S3's documents alone
            _log.exception("request %s failed", request_id)
            text = "We encountered an internal error. Please try again."
            await _send_error(scope, send, S3Error("InternalError", text), request_id)
            return
        try:
            await self._send(scope, send, answer, operation, request_id)
        finally:
            if answer.stream is not None:
                answer.stream.close()

    async def _recorded(self, scope: Scope, receive: Receive, request_id: str) -> tuple[Answer, str]:
        """Return the answer, after the audit event is in the log's queue."""
        audited = AuditedRequest(request_id=request_id, region=self._region, account=self._first)
        try:
            try:
                answer = await self._answer(scope, receive, audited)
            except Exception as error:
                audited.write_audit(self._audit, scope, error)
                raise
            try:
                audited.write_audit(self._audit, scope, None)
            except BaseException:
                if answer[0].stream is not None:
                    answer[0].stream.close()
                raise
        except AuditUnavailable as error:
            raise S3Error("ServiceUnavailable", error.message, remedy=error.remedy) from None
        return answer

    async def _answer(self, scope: Scope, receive: Receive, audited: AuditedRequest) -> tuple[Answer, str]:
        headers = _headers(scope)
        query_text = scope["query_string"].decode("latin-1")
        query = parse_query(query_text)
        target = self._target(scope, headers)
        request = SignedRequest(scope["method"], _raw_path(scope), query_text, headers, b"")
        audited.key_id = named_key(request)
        audited.bucket, audited.key = target.bucket, target.key
        authenticated = await self._authenticated(scope, request)
        audited.caller = authenticated.caller
        model = operation_of(scope["method"], target.depth, query, headers)
        audited.operation = model.name
        if not is_reading(model.name):
            self._audit.check()
        handler = HANDLERS.get(model.name)
        if handler is None:
            raise not_implemented(
                f"The operation {model.name}", remedy="See docs/lake/s3.md for the operations that are served."
            )
        members = parse_members(model, query, headers)
        async with self._work.admitted():
            find = partial(self._buckets.find, authenticated.caller, authenticated.authorize)
            # A new bucket is the caller's own, whoever else has one of its name.
            bucket = "" if model.name == "CreateBucket" else target.bucket
            lake: BucketLake = await self._work.run(find, bucket, headers.get("x-amz-expected-bucket-owner"))
            body = BodyReader(receive, headers, authenticated.payload, authenticated.signer, self._work.run)
            call = Call(
                operation=model.name,
                bucket=target.bucket,
                key=target.key,
                members=members,
                headers=headers,
                query=query,
                body=body,
                lake=lake.lake,
                caller=authenticated.caller,
                region=self._region,
                access=lake.access,
                work=self._work,
                find=find,
            )
            if call.bucket:
                check_headers(call)
            answer = await handler(call)
            audited.denied = answer.denied
        return answer, model.name

    async def _authenticated(self, scope: Scope, request: SignedRequest) -> _Authenticated:
        if self._identities is None:
            caller = Caller(account=self._first, principal=ANONYMOUS)
            payload = payload_of(None, request.headers)
            return _Authenticated(caller=caller, authorize=None, payload=payload, signer=ChunkSigner(None, ""))
        client = scope["client"][0] if scope.get("client") else "-"
        authenticated = await self._login(self._identities, request, client)
        origin = Origin(
            client=client,
            secure=scope.get("scheme") == "https",
            region=self._region,
            user_agent=request.headers.get("user-agent", ""),
        )
        claim: Claim = authenticated.claim
        return _Authenticated(
            caller=authenticated.caller,
            authorize=self._identities.access(authenticated.caller, origin, request.headers),
            payload=authenticated.payload,
            signer=ChunkSigner(claim, authenticated.secret_access_key),
        )

    async def _login(self, authenticator: S3Authenticator, request: SignedRequest, client: str) -> AuthenticatedRequest:
        """Return who signed the request. Failures are counted by address and key id, as by the other APIs."""
        key_id = named_key(request)
        try:
            self._limits.failures.check(client, key_id)
            try:
                authenticated = await authenticator.authenticate(request)
            except S3Error as error:
                if error.code not in UNDECIDED:
                    self._limits.failures.failed(client, key_id)
                raise
            self._limits.failures.succeeded(client, key_id)
            # After authentication: a caller without the secret cannot use up the key's rate.
            self._limits.count(key_id)
        except Throttled as error:
            raise S3Error("SlowDown", "Please reduce your request rate.", remedy=error.remedy) from None
        return authenticated

    def _target(self, scope: Scope, headers: Mapping[str, str]) -> _Target:
        try:
            path = unquote_to_bytes(_raw_path(scope)).decode()
        except UnicodeDecodeError:
            raise S3Error(
                "InvalidURI", "Couldn't parse the specified URI.", remedy="Send the key as percent-encoded UTF-8."
            ) from None
        path = path.removeprefix("/")
        host = headers.get("host", "").rpartition(":")[0] or headers.get("host", "")
        for domain in self._domains:
            if host.lower().endswith(domain):
                return _Target(bucket=host[: -len(domain)], key=path)
        bucket, _, key = path.partition("/")
        if not bucket and key:
            raise S3Error("InvalidBucketName", "The specified bucket is not valid.")
        return _Target(bucket=bucket, key=key)

    async def _send(self, scope: Scope, send: Send, answer: Answer, operation: str, request_id: str) -> None:
        shape, root = output_of(operation)
        document = b""
        headers = dict(answer.headers)
        if answer.document is not None:
            document = answer.document
        elif shape is not None and answer.stream is None and _has_document(shape):
            payload = shape.serialization.get("payload")
            inner = shape if payload is None else shape.members[payload]
            value = answer.members if payload is None else answer.members.get(payload, {})
            document = render_xml(value, inner, root)
        if shape is not None:
            headers |= _header_members(answer.members, shape)
        if document:
            headers.setdefault("content-type", _XML)
        if answer.status not in {204, 304}:
            headers.setdefault("content-length", str(len(document)))
        headers |= {"x-amz-request-id": request_id, "x-amz-id-2": request_id}
        await send({"type": "http.response.start", "status": answer.status, "headers": _encoded(headers)})
        if answer.stream is None or answer.length == 0 or scope["method"] == "HEAD":
            await send({"type": "http.response.body", "body": document})
            return
        async for block, more in self._blocks(answer):
            await send({"type": "http.response.body", "body": block, "more_body": more})

    async def _blocks(self, answer: Answer) -> AsyncIterator[tuple[bytes, bool]]:
        assert answer.stream is not None
        at, end = answer.start, answer.start + answer.length
        if answer.stream.content is not None:
            yield answer.stream.content[at:end], False
            return
        while at < end:
            block = await self._work.read(answer.stream.descriptor, min(_BLOCK, end - at), at)
            if not block:
                # The file was truncated meanwhile: the client sees that bytes are missing.
                raise ConnectionError("the object became shorter while it was sent")
            at += len(block)
            yield block, at < end

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self._work.close()
        if self._close is not None:
            await asyncio.to_thread(self._close)
        await send({"type": "lifespan.shutdown.complete"})


class _Incoming:
    """The client's body, and whether any of it was read.

    A client that sends ``Expect: 100-continue`` and gets a final answer instead does not send its body. The connection has
    to be closed then, or its next request would be read as that body (RFC 9110 section 10.1.1).
    """

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._receive = receive
        self._waits = any(name == b"expect" for name, _ in scope["headers"])
        self._asked = False

    async def receive(self) -> Any:
        self._asked = True
        return await self._receive()

    def closing(self, send: Send) -> Send:
        """Return ``send``, closing the connection if the body was never read."""

        async def closing_send(message: Any) -> None:
            if self._waits and not self._asked and message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], (b"connection", b"close")]}
            await send(message)

        return closing_send if self._waits else send


def _raw_path(scope: Scope) -> str:
    raw: bytes = scope["raw_path"]
    return raw.decode("latin-1")


def _headers(scope: Scope) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, raw in scope["headers"]:
        try:
            value = raw.decode()
        except UnicodeDecodeError:
            value = raw.decode("latin-1")
        key = name.decode("latin-1")
        headers[key] = f"{headers[key]},{value}" if key in headers else value
    return headers


def _has_document(shape: Any) -> bool:
    if shape.serialization.get("payload") is not None:
        return bool(shape.members[shape.serialization["payload"]].type_name == "structure")
    return any(member.serialization.get("location") is None for member in shape.members.values())


def _header_members(members: Mapping[str, Any], shape: Any) -> dict[str, str]:
    values = {}
    for name, member in shape.members.items():
        if member.serialization.get("location") == "header" and members.get(name) is not None:
            values[member.serialization["name"].lower()] = scalar_text(members[name], member, header=True)
    return values


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1", "replace"), value.encode("latin-1", "replace")) for name, value in headers.items()]


async def _send_error(scope: Scope, send: Send, error: S3Error, request_id: str) -> None:
    document = error_xml(error.code, str(error), error.details, _raw_path(scope), request_id)
    headers = {
        "content-type": _XML,
        "content-length": str(len(document)),
        "x-amz-request-id": request_id,
        "x-amz-id-2": request_id,
    }
    if error.status == 304 or scope["method"] == "HEAD":
        document = b""
    if error.status == 503:
        headers["retry-after"] = "1"
    await send({"type": "http.response.start", "status": error.status, "headers": _encoded(headers)})
    await send({"type": "http.response.body", "body": document})
