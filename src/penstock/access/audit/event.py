"""One decision as an audit event, rendered in CloudTrail's form.

Source: CloudTrail user guide, "CloudTrail record contents" and "CloudTrail userIdentity element".
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, lru_cache
from itertools import count
from typing import Any, NamedTuple
from urllib.parse import unquote_plus
from uuid import uuid4

import orjson

from penstock.access.principals import ANONYMOUS, Caller

__all__ = ["MOST_TEXT", "OUTCOMES", "AuditEvent", "is_reading", "render_event", "render_parameters", "shown_query"]

OUTCOMES = ("allowed", "denied", "failed login")

_READING = ("BatchGet", "Check", "Describe", "Get", "Head", "List", "Lookup", "Query", "Search")
# Members that may contain secrets: never in an event.
_SECRET = frozenset(
    {
        "AccessToken",
        "AddPrivateKey",
        "Arguments",
        "AuthorizationCode",
        "Code",
        "ConnectionProperties",
        "CustomAuthenticationCredentials",
        "DefaultArguments",
        "ExecutionParameters",
        "JwtToken",
        "NewPassword",
        "NonOverridableArguments",
        "OldPassword",
        "Password",
        "PrivateKey",
        "RefreshToken",
        "RotationToken",
        "SAMLAssertion",
        "SecretAccessKey",
        "SecretBinary",
        "SecretString",
        "WorkUnitToken",
        "TokenCode",
        "TradeInToken",
        "UserManagedClientApplicationClientSecret",
        "WebIdentityToken",
    }
)
# Endings of names that users choose themselves: parameters of a table, of a URL.
_SECRETIVE = (
    "apikey",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "secret",
    "secretkey",
    "securitytoken",
    "signature",
)
_OMITTED = "***OMITTED***"
MOST_TEXT = 1_000  # characters of one value
_MOST_BYTES = 8_192  # of all parameters
_MOST_ITEMS = 100
_MOST_DEPTH = 8


class AuditEvent(NamedTuple):
    """The decision on one request. ``time`` is in seconds since 1970.

    ``service`` is an AWS service's name, or ``confluent``; ``code`` is the error's, empty for a success. ``parameters`` and
    ``resources`` may be values or functions; they are evaluated when the event is written, after the request.
    """

    time: float
    service: str
    operation: str
    outcome: str
    region: str
    account: str
    request_id: str
    client: str
    user_agent: str = ""
    caller: Caller | None = None
    access_key_id: str = ""
    code: str = ""
    message: str = ""
    secure: bool = False
    parameters: Mapping[str, Any] | bytes | None = None
    """The request's parameters, or the result of :func:`render_parameters` for them."""
    resources: Sequence[str] | Callable[[], Sequence[str]] = ()
    read_only: bool | None = None
    data: bool = False
    """Whether it is about an object in a lake, and not about metadata or access to it."""

    @property
    def is_read_only(self) -> bool:
        """Whether the request changes nothing."""
        return is_reading(self.operation) if self.read_only is None else self.read_only

    @property
    def succeeded(self) -> bool:
        """Whether the request was allowed and did not fail, so that it cannot be rejected any more."""
        return self.outcome == OUTCOMES[0] and not self.code

    @property
    def is_mandatory(self) -> bool:
        """Whether the event must not be dropped: every change, denial and failed login."""
        return not self.is_read_only or self.outcome != OUTCOMES[0]


def is_reading(operation: str) -> bool:
    """Return whether an operation of AWS changes nothing, by its name."""
    return operation.startswith(_READING)


def render_event(event: AuditEvent, previous: str) -> bytes:
    """Return the event as one line of JSON; ``previous`` is the SHA-256 of the line before it."""
    # The members that a client's requests have in common are rendered once, because every read by id is recorded, too.
    common = _common(
        event.caller,
        event.access_key_id,
        event.service,
        event.operation,
        event.region,
        event.account,
        event.client,
        event.user_agent,
        event.is_read_only,
        event.data,
    )
    failed = b""
    if event.code:
        failed = b',"errorCode":%b,"errorMessage":%b' % (orjson.dumps(event.code), orjson.dumps(event.message[:MOST_TEXT]))
    return _RECORD % (
        common,
        _time(int(event.time)).encode(),
        orjson.dumps(event.request_id),
        _new_id().encode(),
        _rendered(event.parameters) if event.parameters else b"null",
        _rendered_resources(tuple(_resources(event)), event.account),
        orjson.dumps(event.outcome),
        b"true" if event.secure else b"false",
        previous.encode(),
        failed,
    )


# Faster than a serializer, which would build and traverse a dictionary of members that are the same in all events.
_RECORD = (
    b'%b,"eventTime":"%b","requestID":%b,"eventID":"%b","requestParameters":%b,"resources":%b,"additionalEventData":'
    b'{"decision":%b,"secureTransport":%b,"previousDigest":"%b"}%b}'
)


@lru_cache(maxsize=1024)
def _rendered_resources(resources: tuple[str, ...], account: str) -> bytes:
    return orjson.dumps([{"ARN": resource, "accountId": account} for resource in resources])


@lru_cache(maxsize=1024)
def _common(  # noqa: PLR0917 -- the key of the cache
    caller: Caller | None,
    access_key_id: str,
    service: str,
    operation: str,
    region: str,
    account: str,
    client: str,
    user_agent: str,
    reads: bool,
    data: bool,
) -> bytes:
    """Return the members that do not change from one request to the next, without the closing brace."""
    confluent = service == "confluent"
    members = {
        "eventVersion": "1.11",
        "userIdentity": _identity(caller, access_key_id),
        "eventSource": "confluent.penstock" if confluent else f"{service}.amazonaws.com",
        "eventName": operation or "Unknown",
        "awsRegion": region,
        "sourceIPAddress": client,
        "userAgent": user_agent[:MOST_TEXT],
        "responseElements": None,
        "readOnly": reads,
        "eventType": "ConfluentApiCall" if confluent else "AwsApiCall",
        "managementEvent": not data,
        "recipientAccountId": account,
        "eventCategory": "Data" if data else "Management",
    }
    return orjson.dumps(members)[:-1]


@lru_cache(maxsize=4)
def _time(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


_numbers = count()


def _new_id() -> str:
    # A version 4 UUID: random digits of the process and a counter. The id is not a secret.
    return f"{_process()}-{next(_numbers):012x}"


@cache
def _process() -> str:
    return str(uuid4())[:23]


def _identity(caller: Caller | None, access_key_id: str) -> dict[str, Any]:
    key = {"accessKeyId": access_key_id[:128]} if access_key_id else {}
    if caller is None or caller.principal == ANONYMOUS:
        return {"type": "Unknown", "principalId": caller.principal if caller is not None else "", **key}
    members: dict[str, Any] = {
        "principalId": caller.user_id,
        "arn": caller.principal,
        "accountId": caller.account,
        **key,
    }
    session = caller.session
    own = "Root" if caller.is_root else "IAMUser"
    if session is None:
        name = {"userName": caller.user_name} if caller.user_name else {}
        return {"type": own, **members, **name}
    context: dict[str, Any] = {"attributes": {"creationDate": _time(session.issued), "mfaAuthenticated": "false"}}
    if session.federated_by is not None:
        # CloudTrail's form: the session's issuer is who asked for it, as for a credential that was vended for a table.
        who, by = session.federated_by.rpartition("/")[2], session.federated_by
        creator = {"type": "IAMUser", "arn": by, "accountId": caller.account, "userName": who}
        creator |= {"principalId": session.federated_by_id or ""}
        return {"type": "FederatedUser", **members, "sessionContext": {"sessionIssuer": creator, **context}}
    if session.role is None:
        return {"type": own, **members, "sessionContext": context}
    issuer = {"type": "Role", "arn": session.role, "accountId": caller.account, "userName": caller.role_name}
    return {"type": "AssumedRole", **members, "sessionContext": {"sessionIssuer": issuer, **context}}


def _resources(event: AuditEvent) -> Sequence[str]:
    resources = event.resources
    if not callable(resources):
        return resources
    try:
        return resources()
    except Exception:  # noqa: BLE001 -- the names are unknown then; the parameters are in the event
        return ()


def _rendered(parameters: Mapping[str, Any] | bytes) -> bytes:
    return parameters if isinstance(parameters, bytes) else render_parameters(parameters)


def render_parameters(parameters: Mapping[str, Any]) -> bytes:
    """Return the parameters of an event in JSON: without secrets, with long texts cut; 8 KB at most.

    Parameters that cannot be rendered are ``null``: the decision itself is recorded in any case.
    """
    shown = {f"{name[0].lower()}{name[1:]}": _shown(name, value, 0) for name, value in parameters.items() if name}
    try:
        text = orjson.dumps(shown, default=str)
    except orjson.JSONEncodeError:  # for example lone surrogates
        return b"null"
    return text if len(text) <= _MOST_BYTES else orjson.dumps(dict.fromkeys(list(shown)[:_MOST_ITEMS], _OMITTED))


def shown_query(query: str) -> str:
    """Return a URL's query for an event: without the values of secrets."""
    shown = []
    for part in query.split("&"):
        name, sign, _ = part.partition("=")
        shown.append(f"{name}={_OMITTED}" if sign and _is_secret(unquote_plus(name[-200:])) else part)
    return "&".join(shown)


@lru_cache(maxsize=1024)
def _is_secret(name: str) -> bool:
    plain = "".join(filter(str.isalnum, name)).lower()
    return name in _SECRET or plain.endswith(_SECRETIVE)


def _shown(name: str, value: Any, depth: int) -> Any:
    if _is_secret(name[-200:]) or depth > _MOST_DEPTH:
        return _OMITTED
    if isinstance(value, str):
        return value if len(value) <= MOST_TEXT else f"{value[:MOST_TEXT]}... ({len(value)} characters)"
    if isinstance(value, Mapping):
        return {str(key): _shown(str(key), entry, depth + 1) for key, entry in list(value.items())[:_MOST_ITEMS]}
    if isinstance(value, list | tuple):
        return [_shown(name, entry, depth + 1) for entry in value[:_MOST_ITEMS]]
    return _OMITTED if isinstance(value, bytes) else value
