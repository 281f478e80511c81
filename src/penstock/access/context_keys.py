"""The keys of conditions and policy variables: caller, origin, time. Source: "AWS global condition keys"."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from penstock.access.principals import Caller

__all__ = ["SERVED_KEYS", "Origin", "RequestContextKeys"]

Values = tuple[str, ...]
_TAG = "aws:principaltag/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a request comes from. ``client`` is a network address."""

    client: str = "-"
    secure: bool = False
    region: str = ""
    user_agent: str = ""
    now: datetime = field(default_factory=lambda: datetime.now(UTC))


class RequestContextKeys:
    """A request's keys, computed on demand. ``extra`` are keys of the service, in lower case."""

    __slots__ = ("_account", "_caller", "_extra", "_origin", "_tags")

    def __init__(
        self,
        caller: Caller,
        origin: Origin,
        *,
        resource_account: str,
        tags: Mapping[str, str] | None = None,
        extra: Mapping[str, str] | None = None,
    ) -> None:
        self._caller = caller
        self._origin = origin
        self._account = resource_account
        self._tags = tags or {}
        self._extra = extra or {}

    def get(self, key: str) -> Values | None:
        """Return the values of a key; None if the request lacks it."""
        value = self.text(key)
        return None if value is None else (value,)

    def text(self, key: str) -> str | None:
        """Return the value of a key that has exactly one; else None."""
        if key.startswith(_TAG):
            tag = key.removeprefix(_TAG)
            return next((value for name, value in self._tags.items() if name.lower() == tag), None)
        value_of = _KNOWN.get(key)
        if value_of is not None:
            return value_of(self._caller, self._origin)
        return self._account if key == "aws:resourceaccount" else self._extra.get(key)


def _source_ip(_caller: Caller, origin: Origin) -> str | None:
    return None if origin.client == "-" else origin.client


def _principal_type(caller: Caller, _origin: Origin) -> str:
    if caller.is_root:
        return "Account"
    if caller.federated_by is not None:
        return "FederatedUser"
    return "AssumedRole" if caller.role_name is not None else "User"


def _issued(caller: Caller, _origin: Origin) -> str | None:
    return None if caller.session is None else _time(datetime.fromtimestamp(caller.session.issued, UTC))


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


_KNOWN: dict[str, Callable[[Caller, Origin], str | None]] = {
    "aws:currenttime": lambda _, origin: _time(origin.now),
    "aws:epochtime": lambda _, origin: str(int(origin.now.timestamp())),
    "aws:multifactorauthpresent": lambda caller, _: None if caller.session is None else "false",
    "aws:principalaccount": lambda caller, _: caller.account,
    "aws:principalarn": lambda caller, _: caller.arn_for_policies,
    "aws:principalisawsservice": lambda _caller, _origin: "false",
    "aws:principaltype": _principal_type,
    "aws:requestedregion": lambda _, origin: origin.region or None,
    "aws:securetransport": lambda _, origin: "true" if origin.secure else "false",
    "aws:sourceip": _source_ip,
    "aws:tokenissuetime": _issued,
    "aws:useragent": lambda _, origin: origin.user_agent or None,
    "aws:userid": lambda caller, _: caller.user_id or None,
    "aws:username": lambda caller, _: caller.user_name,
    "aws:viaawsservice": lambda _caller, _origin: "false",
}
SERVED_KEYS = frozenset({*_KNOWN, "aws:resourceaccount"})
"""The keys that every request may have, in lower case; the tags of the caller come on top."""
