"""Parses policy documents; an error names the place in the document.

Source: IAM user guide, "Grammar of the IAM JSON policy language". A document's size is checked before it is parsed, and the
grammar bounds its depth. Unknown members are rejected, as IAM rejects them: a misspelt ``NotAction`` would otherwise allow
what it was meant to forbid.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

from penstock.access.policies.arns import check_resource
from penstock.access.policies.condition_keys import never_matches
from penstock.access.policies.conditions import Condition, parse_conditions
from penstock.access.policies.errors import MalformedPolicy
from penstock.access.policies.globs import Glob, arn_glob, text_glob
from penstock.access.policies.principals import PrincipalElement, parse_principal, texts_of

__all__ = ["MAX_POLICY_BYTES", "Policy", "PolicyType", "Statement", "check_current_version", "parse_policy", "parsed_policy"]

MAX_POLICY_BYTES = 10_240  # the largest quota of any type: a role's inline policies together, Glue's resource policy
_VERSIONS = ("2012-10-17", "2008-10-17")
_VENDOR = re.compile(r"\*|[A-Za-z0-9.-]+", re.ASCII)
_COMMON = {"Sid", "Effect", "Action", "NotAction", "Condition"}


class PolicyType(Enum):
    """The type of a policy, which determines its elements."""

    IDENTITY = "identity"
    """Of a user, group, role or session: it has no principals."""
    RESOURCE = "resource"
    """Of a resource: principals and resources."""
    TRUST = "trust"
    """Of a role, for who may assume it: principals, and no resources."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One statement. If ``resources`` or ``principals`` is None, any matches; the ``not_`` flags negate the match."""

    allows: bool
    actions: Sequence[Glob]
    not_actions: bool = False
    resources: Sequence[Glob] | None = None
    not_resources: bool = False
    principals: PrincipalElement | None = None
    conditions: Sequence[Condition] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A policy; a ``constant`` one depends on nothing of a request but action and resource."""

    statements: Sequence[Statement]
    constant: bool = False


def parse_policy(text: str, policy_type: PolicyType, *, limit: int = MAX_POLICY_BYTES, stored: bool = False) -> Policy:
    """Return the policy in ``text``; raise :class:`MalformedPolicy` with the place of the error.

    ``limit`` is in bytes of UTF-8. A ``stored`` policy was checked when it was put, perhaps by a release with fewer rules:
    only its grammar is checked, so that an upgrade does not take away permissions.
    """
    if len(text.encode()) > limit:
        raise MalformedPolicy("the document", f"has more than {limit:,} bytes")
    document = _members("the document", _json(text))
    _refuse_unknown("the document", document, {"Version", "Id", "Statement"})
    version = document.get("Version", _VERSIONS[1])
    if version not in _VERSIONS:
        raise MalformedPolicy("Version", f"has to be {_VERSIONS[0]}, not {_shown(version)}")
    if not isinstance(document.get("Id", ""), str):
        raise MalformedPolicy("Id", "has to be a string")
    if "Statement" not in document:
        raise MalformedPolicy("Statement", "is missing")
    statements = document["Statement"] if isinstance(document["Statement"], list) else [document["Statement"]]
    if not statements:
        raise MalformedPolicy("Statement", "is empty")
    reader = _Reader(policy_type, variables=version == _VERSIONS[0], stored=stored)
    read = [reader.statement(f"Statement[{number}]", statement) for number, statement in enumerate(statements)]
    sids = [statement["Sid"] for statement in statements if statement.get("Sid")]
    if len(sids) != len(set(sids)):
        raise MalformedPolicy("Statement", "has the same Sid twice")
    return Policy(statements=tuple(read), constant=all(map(_constant, read)))


@lru_cache(maxsize=4096)
def parsed_policy(text: str, policy_type: PolicyType) -> Policy:
    """Return a policy that was checked when it was stored; it is parsed once and cached."""
    return parse_policy(text, policy_type, limit=10 * MAX_POLICY_BYTES, stored=True)


def check_current_version(text: str) -> None:
    """Raise :class:`MalformedPolicy` unless a parsed document has the version 2012-10-17, as managed policies must."""
    if json.loads(text).get("Version") != _VERSIONS[0]:
        raise MalformedPolicy(
            "Version", f"has to be {_VERSIONS[0]}: policy document must be version {_VERSIONS[0]} or greater"
        )


class _Reader:
    """Parses the statements of one document."""

    def __init__(self, policy_type: PolicyType, *, variables: bool, stored: bool) -> None:
        self._policy_type = policy_type
        self._variables = variables
        self._stored = stored

    def statement(self, place: str, value: Any) -> Statement:
        members = _members(place, value)
        allowed = set(_COMMON)
        if self._policy_type is not PolicyType.TRUST:
            allowed |= {"Resource", "NotResource"}
        if self._policy_type is not PolicyType.IDENTITY:
            allowed |= {"Principal", "NotPrincipal"}
        _refuse_unknown(place, members, allowed)
        if not isinstance(members.get("Sid", ""), str):
            raise MalformedPolicy(f"{place}.Sid", "has to be a string")
        effect = members.get("Effect")
        if effect not in ("Allow", "Deny"):
            raise MalformedPolicy(f"{place}.Effect", f"has to be Allow or Deny, not {_shown(effect)}")
        actions, not_actions = self._either(place, members, "Action", self._action)
        resources, not_resources = None, False
        if self._policy_type is not PolicyType.TRUST:
            resources, not_resources = self._either(place, members, "Resource", self._resource)
        return Statement(
            allows=effect == "Allow",
            actions=actions,
            not_actions=not_actions,
            resources=resources,
            not_resources=not_resources,
            principals=None if self._policy_type is PolicyType.IDENTITY else self._principals(place, members),
            conditions=self._conditions(f"{place}.Condition", members, deny=effect == "Deny"),
        )

    def _conditions(self, place: str, members: Mapping[str, Any], *, deny: bool) -> Sequence[Condition]:
        conditions = parse_conditions(place, members.get("Condition", {}), variables=self._variables)
        lost = next(
            (condition.key for condition in conditions if deny and not self._stored and never_matches(condition)), None
        )
        if lost is not None:
            raise MalformedPolicy(
                place, f"reads {_shown(lost)}, which no request has here: the Deny would apply to nothing. Name resources"
            )
        return conditions

    def _either(
        self, place: str, members: Mapping[str, Any], name: str, read: Callable[[str, str], Glob]
    ) -> tuple[Sequence[Glob], bool]:
        """Return the patterns of an element or of its ``Not`` form, and whether it is the ``Not`` form."""
        chosen = _one_of(place, members, name)
        texts = texts_of(f"{place}.{chosen}", members[chosen])
        return tuple(read(f"{place}.{chosen}", text) for text in texts), chosen != name

    def _action(self, place: str, text: str) -> Glob:
        service, colon, action = text.partition(":")
        if text != "*" and (not colon or not service or not action or text != "".join(text.split())):
            raise MalformedPolicy(place, f"{_shown(text)} is not an action: use SERVICE:ACTION, or * for all")
        if not self._stored:
            if ":" in action:
                raise MalformedPolicy(place, f"{_shown(text)} has two colons: an action can contain only one")
            if _VENDOR.fullmatch(service) is None:
                raise MalformedPolicy(place, f"{_shown(text)} names the vendor {_shown(service)}, which is not valid")
        return text_glob(text, variables=False, ignore_case=True)

    def _resource(self, place: str, text: str) -> Glob:
        if text != "*" and not text.startswith("arn:") and not (self._variables and text.startswith("${")):
            raise MalformedPolicy(place, f'{_shown(text)} has to be an ARN or "*"')
        if not self._stored and text.startswith("arn:"):
            check_resource(place, text)
        return arn_glob(text, variables=self._variables)

    def _principals(self, place: str, members: Mapping[str, Any]) -> PrincipalElement:
        chosen = _one_of(place, members, "Principal")
        return parse_principal(f"{place}.{chosen}", members[chosen], excluded=chosen != "Principal")


def _constant(statement: Statement) -> bool:
    return not statement.conditions and all(glob.constant for glob in (*statement.actions, *(statement.resources or ())))


def _json(text: str) -> Any:
    def once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) != len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise MalformedPolicy("the document", f"has {_shown(twice)} twice in one object")
        return members

    try:
        return json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError):
        raise MalformedPolicy("the document", "is not JSON") from None


def _members(place: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise MalformedPolicy(place, "has to be an object")
    return value


def _refuse_unknown(place: str, members: Mapping[str, Any], allowed: set[str]) -> None:
    for name in members:
        if name not in allowed:
            raise MalformedPolicy(place, f"has the member {_shown(name)}; known here are {', '.join(sorted(allowed))}")


def _one_of(place: str, members: Mapping[str, Any], name: str) -> str:
    """Return ``name`` or ``NotNAME``, whichever is present; raise for both, and for neither."""
    present = [member for member in (name, f"Not{name}") if member in members]
    if len(present) != 1:
        raise MalformedPolicy(place, f"needs either {name} or Not{name}{', not both' if present else ''}")
    return present[0]


def _shown(value: Any) -> str:
    return f"'{str(value)[:100]}'"
