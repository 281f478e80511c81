"""What S3 asks of a bucket's policy beyond the grammar of all policies, and whether a policy is public.

Sources: Amazon S3 user guide, "Policies and permissions in Amazon S3" and "Blocking public access to your Amazon S3
storage", section "The meaning of 'public'". A condition key that no request here has is refused by name: as part of an Allow
it would allow nothing, without a word.
"""

import ipaddress
import json
from collections.abc import Iterator, Mapping
from typing import Any

from penstock.access.policies.condition_keys import is_known
from penstock.access.policies.documents import Policy, PolicyType, parse_policy, parsed_policy
from penstock.access.policies.errors import MalformedPolicy
from penstock.access.policies.principals import Match, texts_of
from penstock.access.principals import Caller

__all__ = ["is_public", "names_caller", "parse_bucket_policy", "stored_bucket_policy"]

_MAX_BYTES = 20 * 1024
# Keys whose fixed values make a policy for everybody one for some. AWS lists more, of services that are not here.
_FIXED = frozenset(
    f"aws:{name}"
    for name in (
        *("principalaccount", "principalarn", "principalorgid", "principalorgpaths", "sourceaccount", "sourcearn"),
        *("sourceorgid", "sourceowner", "sourcevpc", "sourcevpce", "userid"),
    )
)
_EQUAL = frozenset({"StringEquals", "StringLike", "ArnEquals", "ArnLike", "StringEqualsIgnoreCase"})
_WIDEST = {4: 8, 6: 32}  # bits of the widest range of addresses that is not public


def parse_bucket_policy(text: str, bucket: str) -> Policy:
    """Return the policy in ``text`` for ``bucket``. Raises :class:`MalformedPolicy` with the place of the error."""
    policy = parse_policy(text, PolicyType.RESOURCE, limit=_MAX_BYTES)
    for place, statement in _statements(text):
        _check_actions(place, statement)
        _check_resources(place, statement, bucket)
        _check_principals(place, statement)
        for name, keys in statement.get("Condition", {}).items():
            lost = next((key for key in keys if not is_known(key.lower())), None)
            if lost is not None:
                raise MalformedPolicy(f"{place}.Condition.{name}", f"reads '{lost[:100]}', which no request has here")
    return policy


def stored_bucket_policy(text: str) -> Policy:
    """Return a policy that was checked when it was put; it is parsed once and cached."""
    return parsed_policy(text, PolicyType.RESOURCE)


def names_caller(policy: Policy, caller: Caller) -> bool:
    """Return whether a statement that allows something is about the caller, by name, account or as one of everybody."""
    return any(
        statement.allows and statement.principals is not None and statement.principals.match(caller) is not Match.NONE
        for statement in policy.statements
    )


def is_public(text: str) -> bool:
    """Return whether a policy that was parsed allows something to everybody, without a condition on who or where from."""
    return any(
        statement["Effect"] == "Allow" and _for_everybody(statement) and not _is_bounded(statement.get("Condition", {}))
        for _, statement in _statements(text)
    )


def _statements(text: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    statements = json.loads(text)["Statement"]
    for number, statement in enumerate(statements if isinstance(statements, list) else [statements]):
        yield f"Statement[{number}]", statement


def _check_actions(place: str, statement: Mapping[str, Any]) -> None:
    name = "Action" if "Action" in statement else "NotAction"
    for action in texts_of(f"{place}.{name}", statement[name]):
        if action != "*" and not action.lower().startswith("s3:"):
            raise MalformedPolicy(f"{place}.{name}", f"'{action[:100]}' is not an action of S3")


def _check_resources(place: str, statement: Mapping[str, Any], bucket: str) -> None:
    name = "Resource" if "Resource" in statement else "NotResource"
    for resource in texts_of(f"{place}.{name}", statement[name]):
        own = f"arn:aws:s3:::{bucket}"
        if resource != own and not resource.startswith(f"{own}/"):
            raise MalformedPolicy(f"{place}.{name}", f"'{resource[:200]}' is neither {own} nor an object in it ({own}/KEY)")


def _check_principals(place: str, statement: Mapping[str, Any]) -> None:
    name = "Principal" if "Principal" in statement else "NotPrincipal"
    if isinstance(statement[name], dict) and "CanonicalUser" in statement[name]:
        raise MalformedPolicy(f"{place}.{name}", "names a CanonicalUser, which no caller is here: name an account or an ARN")


def _for_everybody(statement: Mapping[str, Any]) -> bool:
    if "NotPrincipal" in statement:
        return True
    principal = statement["Principal"]
    return principal == "*" or "*" in texts_of("Principal", principal.get("AWS", ["-"]))


def _is_bounded(conditions: Mapping[str, Mapping[str, Any]]) -> bool:
    return any(
        _bounds(operator, key.lower(), value if isinstance(value, list) else [value])
        for operator, keys in conditions.items()
        for key, value in keys.items()
    )


def _bounds(operator: str, key: str, values: list[Any]) -> bool:
    operator = operator.removeprefix("ForAnyValue:")
    if key == "aws:sourceip" and operator == "IpAddress":
        return all(_is_narrow(str(value)) for value in values)
    return key in _FIXED and operator in _EQUAL and not any(set("*?$") & set(str(value)) for value in values)


def _is_narrow(text: str) -> bool:
    network = ipaddress.ip_network(text, strict=False)
    return network.prefixlen >= _WIDEST[network.version]
