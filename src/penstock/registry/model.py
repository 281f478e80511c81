"""The registry's values as the store holds them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import NamedTuple

from penstock.registry.audit import Actor, current_actor
from penstock.schema.compatibility import CompatibilityMode, CompatibilityVerdict

__all__ = [
    "AVAILABLE",
    "FAILURE",
    "GLOBAL_SCOPE",
    "IMPORT",
    "MAX_SCHEMA_ID",
    "MAX_VERSION",
    "READONLY",
    "READONLY_MODES",
    "READONLY_OVERRIDE",
    "READWRITE",
    "EffectiveSchema",
    "Metadata",
    "NewVersion",
    "Reference",
    "Registry",
    "RegistryLimits",
    "ResourcePolicy",
    "Schema",
    "SchemaKey",
    "ScopeConfig",
    "Version",
    "VersionHead",
]

AVAILABLE = "AVAILABLE"
FAILURE = "FAILURE"
MAX_VERSION = 100_000  # VersionLongNumber in the Glue API model
MAX_SCHEMA_ID = 2**31 - 1  # Confluent's ids are 32-bit integers
GLOBAL_SCOPE = ""
READWRITE = "READWRITE"
READONLY = "READONLY"
READONLY_OVERRIDE = "READONLY_OVERRIDE"
READONLY_MODES = frozenset({READONLY, READONLY_OVERRIDE})
IMPORT = "IMPORT"


class SchemaKey(NamedTuple):
    """A schema's identity: its registry's name and its own."""

    registry: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """A named set of schemas. Times are UTC."""

    name: str
    description: str | None
    created: datetime
    updated: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """A schema.

    ``latest`` is the highest AVAILABLE version number, None before the first; ``next_number`` is one above the highest
    number assigned so far, also to refused versions. ``checkpoint`` is the version that compatibility checks reach back to.
    ``revision`` changes with every write, for optimistic concurrency.
    ``compatibility`` None is inherited: from the configs of the schema's name, its registry, the whole store.
    """

    key: SchemaKey
    data_format: str
    compatibility: CompatibilityMode | None
    description: str | None
    checkpoint: int = 1
    latest: int | None = None
    next_number: int = 1
    revision: int = 0
    created: datetime
    updated: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A version that a definition refers to; ``name`` is its name in the definition."""

    name: str
    registry: str
    schema: str
    number: int

    @property
    def key(self) -> SchemaKey:
        """The key of its schema."""
        return SchemaKey(self.registry, self.schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionHead:
    """A version without its text. ``status`` is AVAILABLE, or FAILURE for a definition that was refused.

    ``schema_id`` is Confluent's global id: one number for one definition (format and fingerprint) in one registry, in all
    schemas that have it; 0 before the store assigned one. ``deleted`` is when it was soft-deleted.
    """

    id: str
    key: SchemaKey
    number: int
    status: str
    data_format: str
    created: datetime
    schema_id: int = 0
    deleted: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Version(VersionHead):
    """A version: immutable until it is deleted.

    ``definition`` is the text as it was registered. ``fingerprint`` is that of its canonical form, with the ``contract``
    if it has one: Confluent's metadata of a schema, as canonical JSON. ``verdict`` says why a FAILURE was
    refused.
    """

    definition: str
    fingerprint: str
    verdict: CompatibilityVerdict | None = None
    references: tuple[Reference, ...] = ()
    contract: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewVersion:
    """A version to be added by ``actor`` if its schema still has the revision ``revision``.

    It replaces the version with id ``replaces``, which may be its own.
    """

    version: Version
    revision: int
    replaces: str | None = None
    actor: Actor = field(default_factory=current_actor)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeConfig:
    """The settings of a scope, which everything in it inherits; a member is None if it is not set.

    ``scope`` is :data:`GLOBAL_SCOPE`, ``registry/NAME`` or ``schema/REGISTRY/NAME``. ``mode`` is READWRITE, READONLY,
    IMPORT, or READONLY_OVERRIDE, which overrides all other modes if the whole store has it. ``alias`` is the subject that
    this one stands for in Confluent's API. The rest belongs to that API, too: ``compatibility_policy`` is STRICT
    or LENIENT, ``compatibility_group`` a property of the metadata, the metadata are canonical contracts.
    """

    scope: str
    compatibility: CompatibilityMode | None = None
    mode: str | None = None
    normalize: bool | None = None
    alias: str | None = None
    validate_fields: bool | None = None
    compatibility_policy: str | None = None
    compatibility_group: str | None = None
    default_metadata: str | None = None
    override_metadata: str | None = None

    def __str__(self) -> str:
        """Return the settings as text for the audit log; metadata, which may be long or sensitive, as its length."""
        members = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "scope"}
        for name in ("default_metadata", "override_metadata"):
            members[name] = None if members[name] is None else f"of {len(members[name])} characters"
        texts = {name: str(value).lower() if isinstance(value, bool) else value for name, value in members.items()}
        return ", ".join(f"{name} {value}" for name, value in texts.items() if value is not None) or "empty"


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveSchema:
    """A schema with the configs that decide what may be registered in it.

    ``mode`` and ``inherited`` (a compatibility) come from the nearest scope config that sets them: of the schema's name,
    of its registry, of the whole store, whose READONLY_OVERRIDE goes first. None: none of them sets it.
    """

    schema: Schema
    mode: str | None
    inherited: CompatibilityMode | None
    tags: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """One pair of a version's metadata; a key can have several values."""

    key: str
    value: str
    created: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourcePolicy:
    """A JSON policy document of ``resource``: ``catalog``, ``registry/NAME`` or ``schema/REGISTRY/NAME``."""

    resource: str
    text: str
    hash: str
    created: datetime
    updated: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryLimits:
    """Counts at which writes are refused; AWS starts at 100 registries and 10,000 versions and raises both on request."""

    registries: int = 1_000
    versions_per_schema: int = MAX_VERSION
    metadata_per_version: int = 10
    tags: int = 50
