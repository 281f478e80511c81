"""What an account holds for its administration: users, groups, roles, policies and more, and the account itself."""

import secrets
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from penstock.access.principals import role_arn, user_arn
from penstock.errors import AlreadyExists, NotFound

__all__ = [
    "Account",
    "AccountExists",
    "DeleteConflict",
    "Entity",
    "EntityExists",
    "EntityKind",
    "Group",
    "Identity",
    "InstanceProfile",
    "ManagedPolicy",
    "NoSuchEntity",
    "OidcProvider",
    "PolicyVersion",
    "Principal",
    "Role",
    "User",
    "kind_of",
    "missing",
    "new_id",
    "taken",
]

_ID_LETTERS = string.ascii_uppercase + "234567"


class EntityExists(AlreadyExists):
    """The name is taken in its account."""

    aws_code = "EntityAlreadyExists"


class NoSuchEntity(NotFound):
    """There is no such user, role, policy or key."""

    aws_code = "NoSuchEntity"


class DeleteConflict(AlreadyExists):
    """Something hangs on the entity still."""

    aws_code = "DeleteConflict"


class AccountExists(AlreadyExists):
    """The account id is taken."""

    aws_code = "DuplicateAccountException"


class EntityKind(Enum):
    """The kinds, as the store and error messages write them."""

    USER = "user"
    ROLE = "role"
    POLICY = "policy"
    GROUP = "group"
    PROFILE = "profile"
    OIDC = "oidc"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One account of the server; ``id`` is twelve digits."""

    id: str
    name: str
    email: str
    created: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """What users, roles and policies have in common. ``id`` is unique for ever, ``path`` begins and ends with a slash."""

    account: str
    name: str
    id: str
    created: datetime
    path: str = "/"
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def arn(self) -> str:
        """The entity's ARN."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity(Entity):
    """A user, group or role: what may be given policies. ``inline`` are texts by name, ``attached`` ARNs of managed ones."""

    inline: Mapping[str, str] = field(default_factory=dict)
    attached: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal(Identity):
    """A user or a role: what requests come from. ``boundary`` is the ARN of the policy that bounds what it may do."""

    boundary: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class User(Principal):
    """A person or a program with keys of its own. ``groups`` are names, as the groups write them."""

    groups: tuple[str, ...] = ()

    @property
    def arn(self) -> str:
        return user_arn(self.account, self.path, self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Role(Principal):
    """What others may assume for a while. ``trust`` says who; ``max_session`` is in seconds."""

    trust: str
    description: str | None = None
    max_session: int = 3600

    @property
    def arn(self) -> str:
        return role_arn(self.account, self.path, self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group(Identity):
    """Users that share policies. The users say which groups they are in."""

    @property
    def arn(self) -> str:
        return f"arn:aws:iam::{self.account}:group{self.path}{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceProfile(Entity):
    """A container that hands a role to a machine; ``role`` is its name."""

    role: str | None = None

    @property
    def arn(self) -> str:
        return f"arn:aws:iam::{self.account}:instance-profile{self.path}{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcProvider(Entity):
    """An issuer of web identity tokens that an account trusts; ``name`` is its URL without ``https://``.

    ``client_ids`` are the audiences whose tokens are taken, ``thumbprints`` what clients said of its certificates.
    """

    client_ids: tuple[str, ...] = ()
    thumbprints: tuple[str, ...] = ()

    @property
    def arn(self) -> str:
        return f"arn:aws:iam::{self.account}:oidc-provider/{self.name}"

    @property
    def issuer(self) -> str:
        """The URL that its tokens have as ``iss``."""
        return f"https://{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyVersion:
    """One text of a managed policy; ``number`` counts from 1 and is never given twice."""

    number: int
    document: str
    created: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedPolicy(Entity):
    """A policy that users and roles are given by its ARN; ``default`` is the number of the version that holds."""

    versions: tuple[PolicyVersion, ...]
    default: int
    next_number: int
    updated: datetime
    description: str | None = None

    @property
    def arn(self) -> str:
        return f"arn:aws:iam::{self.account}:policy{self.path}{self.name}"

    @property
    def document(self) -> str:
        """The text that holds."""
        return next(version.document for version in self.versions if version.number == self.default)


def new_id(prefix: str, letters: int = 17) -> str:
    """A unique id such as IAM gives: ``AIDA`` for users, ``AGPA`` for groups, ``AROA`` for roles, ``ANPA`` for policies."""
    return prefix + "".join(secrets.choice(_ID_LETTERS) for _ in range(letters))


def kind_of(entity: Entity | type[Entity]) -> EntityKind:
    """The kind that an entity, or a class of them, is of."""
    return _KINDS[entity if isinstance(entity, type) else type(entity)]


def missing(kind: EntityKind, name: str) -> NoSuchEntity:
    """The error for an entity that is not there, in IAM's words."""
    if kind is EntityKind.PROFILE:
        return NoSuchEntity(f"Instance Profile {name[:200]} cannot be found.")
    if kind is EntityKind.OIDC:
        return NoSuchEntity(f"OpenIDConnect Provider not found for https://{name[:200]}")
    return NoSuchEntity(f"The {kind.value} with name {name[:200]} cannot be found.")


def taken(kind: EntityKind, name: str) -> EntityExists:
    """The error for a name that is taken, in IAM's words."""
    if kind is EntityKind.PROFILE:
        return EntityExists(f"Instance Profile {name} already exists.")
    if kind is EntityKind.OIDC:
        return EntityExists(f"Provider with url https://{name} already exists.")
    return EntityExists(f"{kind.value.capitalize()} with name {name} already exists.")


_KINDS: Mapping[type[Entity], EntityKind] = {
    User: EntityKind.USER,
    Role: EntityKind.ROLE,
    ManagedPolicy: EntityKind.POLICY,
    Group: EntityKind.GROUP,
    InstanceProfile: EntityKind.PROFILE,
    OidcProvider: EntityKind.OIDC,
}
