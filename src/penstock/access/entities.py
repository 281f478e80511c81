"""The entities of an account's administration: users, groups, roles, policies and more, and the account itself."""

import secrets
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from penstock.access.principals import role_arn, user_arn
from penstock.errors import AlreadyExists, NotFound

__all__ = [
    "SERVICE_PATH",
    "Account",
    "AccountAlias",
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
    "UnmodifiableEntity",
    "User",
    "kind_of",
    "missing",
    "new_id",
    "taken",
]

SERVICE_PATH = "/aws-service-role/"
"""The path of service-linked roles; a service's name follows."""

_ID_LETTERS = string.ascii_uppercase + "234567"


class EntityExists(AlreadyExists):
    """The name is taken in its account."""

    aws_code = "EntityAlreadyExists"


class NoSuchEntity(NotFound):
    """The user, group, role, policy or other entity does not exist."""

    aws_code = "NoSuchEntity"


class DeleteConflict(AlreadyExists):
    """Something still depends on the entity."""

    aws_code = "DeleteConflict"


class UnmodifiableEntity(AlreadyExists):
    """The role is a service's own, which alone changes it."""

    aws_code = "UnmodifiableEntity"


class AccountExists(AlreadyExists):
    """The account id is taken."""

    aws_code = "DuplicateAccountException"


class EntityKind(Enum):
    """The kinds of entities, as the store and error messages write them."""

    USER = "user"
    ROLE = "role"
    POLICY = "policy"
    GROUP = "group"
    PROFILE = "profile"
    OIDC = "oidc"
    ALIAS = "alias"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One account of the server; ``id`` is twelve digits."""

    id: str
    name: str
    email: str
    created: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """What users, roles and policies have in common. ``id`` is never used again, ``path`` begins and ends with a slash."""

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
    """A user, group or role, which has policies. ``inline`` are texts by name, ``attached`` ARNs of managed policies."""

    inline: Mapping[str, str] = field(default_factory=dict)
    attached: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal(Identity):
    """A user or a role, which requests come from. ``boundary`` is the ARN of its permissions boundary."""

    boundary: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class User(Principal):
    """A person or a program with its own keys. ``groups`` are names, spelled as the groups spell them."""

    groups: tuple[str, ...] = ()

    @property
    def arn(self) -> str:
        return user_arn(self.account, self.path, self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Role(Principal):
    """A principal that others may assume for a limited time. ``trust`` says who; ``max_session`` is in seconds."""

    trust: str
    description: str | None = None
    max_session: int = 3600

    @property
    def is_service_linked(self) -> bool:
        """Whether the role is a service's own."""
        return self.path.startswith(SERVICE_PATH)

    @property
    def arn(self) -> str:
        return role_arn(self.account, self.path, self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group(Identity):
    """Users that share policies. Membership is stored with the users."""

    @property
    def arn(self) -> str:
        return f"arn:aws:iam::{self.account}:group{self.path}{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceProfile(Entity):
    """A container that passes a role to a machine; ``role`` is the role's name."""

    role: str | None = None

    @property
    def arn(self) -> str:
        return f"arn:aws:iam::{self.account}:instance-profile{self.path}{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcProvider(Entity):
    """An issuer of web identity tokens that an account trusts; ``name`` is its URL without ``https://``.

    ``client_ids`` are the audiences whose tokens are accepted, ``thumbprints`` those that clients gave of its certificates.
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
class AccountAlias(Entity):
    """Another name of an account, which no two accounts share."""

    @property
    def arn(self) -> str:
        return f"arn:aws:iam::{self.account}:alias/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyVersion:
    """One text of a managed policy; ``number`` counts from 1 and is never used twice."""

    number: int
    document: str
    created: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedPolicy(Entity):
    """A policy that is attached by its ARN; ``default`` is the number of the version in force."""

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
        """The text of the default version."""
        return next(version.document for version in self.versions if version.number == self.default)


def new_id(prefix: str, letters: int = 17) -> str:
    """Return a unique id in IAM's form: ``AIDA`` for users, ``AGPA`` for groups, ``AROA`` roles, ``ANPA`` for policies."""
    return prefix + "".join(secrets.choice(_ID_LETTERS) for _ in range(letters))


def kind_of(entity: Entity | type[Entity]) -> EntityKind:
    """Return the kind of an entity or of a class of entities."""
    return _KINDS[entity if isinstance(entity, type) else type(entity)]


def missing(entity_type: EntityKind, name: str) -> NoSuchEntity:
    """Return the error for an entity that does not exist, in IAM's words."""
    if entity_type is EntityKind.PROFILE:
        return NoSuchEntity(f"Instance Profile {name[:200]} cannot be found.")
    if entity_type is EntityKind.OIDC:
        return NoSuchEntity(f"OpenIDConnect Provider not found for https://{name[:200]}")
    if entity_type is EntityKind.ALIAS:
        return NoSuchEntity(f"The Account Alias cannot be found: {name[:200]}.")
    return NoSuchEntity(f"The {entity_type.value} with name {name[:200]} cannot be found.")


def taken(entity_type: EntityKind, name: str) -> EntityExists:
    """Return the error for a name that is taken, in IAM's words."""
    if entity_type is EntityKind.PROFILE:
        return EntityExists(f"Instance Profile {name} already exists.")
    if entity_type is EntityKind.OIDC:
        return EntityExists(f"Provider with url https://{name} already exists.")
    if entity_type is EntityKind.ALIAS:
        return EntityExists(f"The account alias {name} already exists.")
    return EntityExists(f"{entity_type.value.capitalize()} with name {name} already exists.")


_KINDS: Mapping[type[Entity], EntityKind] = {
    User: EntityKind.USER,
    Role: EntityKind.ROLE,
    ManagedPolicy: EntityKind.POLICY,
    Group: EntityKind.GROUP,
    InstanceProfile: EntityKind.PROFILE,
    OidcProvider: EntityKind.OIDC,
    AccountAlias: EntityKind.ALIAS,
}
