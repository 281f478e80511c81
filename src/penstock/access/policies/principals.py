"""The Principal element of policies. Source: IAM user guide, "AWS JSON policy elements: Principal"."""

import re
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from penstock.access.policies.errors import MalformedPolicy
from penstock.access.principals import Caller

__all__ = ["Match", "PrincipalElement", "parse_principal", "texts_of"]

_ACCOUNT = re.compile(r"\d{12}", re.ASCII)
_ROOT = re.compile(r"arn:aws:iam::(\d{12}):root", re.ASCII)
_ARN = re.compile(r"arn:aws:(?:iam|sts)::(\d{12}):(?:user|role|assumed-role|federated-user)/[\x21-\x7e]{1,600}", re.ASCII)
_KINDS = {"AWS", "Service", "Federated", "CanonicalUser"}
_MAX_ENTRIES = 1_000  # actions, resources or principals of one statement


class Match(IntEnum):
    """How closely a Principal element matches a caller."""

    NONE = 0
    ACCOUNT = 1
    """The caller's account, which then decides by its own policies."""
    EVERYBODY = 2
    """Everybody, or everybody except some."""
    PRINCIPAL = 3
    """The user or role itself."""
    SESSION = 4
    """The session itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrincipalElement:
    """A parsed Principal or, ``excluded``, NotPrincipal."""

    everybody: bool
    accounts: frozenset[str]
    arns: frozenset[str]
    excluded: bool = False
    federated: frozenset[str] = frozenset()
    """Identity providers, as the policy has them."""
    services: frozenset[str] = frozenset()
    """Services of AWS, such as ``glue.amazonaws.com``; only this server's own work comes as one."""

    def match(self, caller: Caller) -> Match:
        """Return how closely the element matches ``caller``."""
        if not self.excluded:
            return self._named(caller)
        exempt = self._named(caller)
        if caller.is_root and exempt is Match.ACCOUNT:
            exempt = Match.PRINCIPAL
        return Match.NONE if exempt >= Match.EVERYBODY else Match.EVERYBODY

    def _named(self, caller: Caller) -> Match:
        if caller.principal in self.arns:
            session = caller.session
            of_its_own = session is not None and (session.role is not None or session.federated_by is not None)
            return Match.SESSION if of_its_own else Match.PRINCIPAL
        if (
            caller.arn_for_policies in self.arns
            or caller.federated_by in self.arns
            or caller.principal in self.federated | self.services
        ):
            return Match.PRINCIPAL
        if self.everybody:
            return Match.EVERYBODY
        return Match.ACCOUNT if caller.account in self.accounts else Match.NONE


def parse_principal(place: str, value: Any, *, excluded: bool) -> PrincipalElement:
    """Return the parsed element; raise :class:`MalformedPolicy`. Canonical users match no caller."""
    if value == "*":
        return PrincipalElement(everybody=True, accounts=frozenset(), arns=frozenset(), excluded=excluded)
    if not isinstance(value, dict) or not value:
        raise MalformedPolicy(place, 'has to be "*" or an object such as {"AWS": "111122223333"}')
    aws: list[str] = []
    federated: list[str] = []
    services: list[str] = []
    for principal_type, entries in value.items():
        if principal_type not in _KINDS:
            raise MalformedPolicy(place, f"has the kind '{str(principal_type)[:60]}'; known are {', '.join(sorted(_KINDS))}")
        texts = texts_of(f"{place}.{principal_type}", entries)
        aws.extend(texts if principal_type == "AWS" else ())
        federated.extend(texts if principal_type == "Federated" else ())
        services.extend(texts if principal_type == "Service" else ())
    return PrincipalElement(
        everybody="*" in aws,
        accounts=frozenset(account for text in aws if (account := _account(text)) is not None),
        arns=frozenset(_checked_arn(f"{place}.AWS", text) for text in aws if text != "*" and _account(text) is None),
        excluded=excluded,
        federated=frozenset(federated),
        services=frozenset(services),
    )


def _account(text: str) -> str | None:
    root = _ROOT.fullmatch(text)
    if root:
        return root[1]
    return text if _ACCOUNT.fullmatch(text) else None


def _checked_arn(place: str, text: str) -> str:
    if _ARN.fullmatch(text) is None or "*" in text or "?" in text:
        raise MalformedPolicy(
            place, f"'{text[:100]}' is not a principal: use an account, or the ARN of a user, a role or a session"
        )
    return text


def texts_of(place: str, value: Any) -> list[str]:
    """Return the entries of an element with one string or a list of them: actions, resources, principals."""
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text for text in texts):
        raise MalformedPolicy(place, "has to be a string or a list of strings")
    if len(texts) > _MAX_ENTRIES:
        raise MalformedPolicy(place, f"has more than {_MAX_ENTRIES:,} entries")
    if any("\x00" in text for text in texts):
        raise MalformedPolicy(place, "contains the character NUL")
    return texts
