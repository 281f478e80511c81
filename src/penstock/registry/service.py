"""The registry's services over one store, and the columns that the catalog reads."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Protocol

from penstock.names import DEFAULT_ACCOUNT, DEFAULT_REGION
from penstock.registry.audit import AuditLog
from penstock.registry.errors import BadReference
from penstock.registry.identity import Identity
from penstock.registry.metadata import VersionMetadata
from penstock.registry.model import AVAILABLE, RegistryLimits, SchemaKey, Version
from penstock.registry.policies.resources import ResourcePolicies
from penstock.registry.policies.scopes import ScopeConfigs
from penstock.registry.registries import Registries
from penstock.registry.resources import Resources, Tags
from penstock.registry.schemas import Schemas
from penstock.registry.store import RegistryStore
from penstock.registry.versions.definitions import Definitions
from penstock.registry.versions.deletion import Deletions
from penstock.registry.versions.difference import syntax_diff
from penstock.registry.versions.registration import Versions
from penstock.schema.columns import HiveColumn
from penstock.schema.formats import format_of

__all__ = ["RegistryService", "SchemaReferenceLike"]

_UTC_NOW = partial(datetime.now, UTC)


class SchemaReferenceLike(Protocol):
    """A table's SchemaReference, as the catalog keeps it: a version id, or a schema and a version number."""

    @property
    def schema_version_id(self) -> str | None: ...
    @property
    def schema_arn(self) -> str | None: ...
    @property
    def registry_name(self) -> str | None: ...
    @property
    def schema_name(self) -> str | None: ...
    @property
    def schema_version_number(self) -> int | None: ...


class RegistryService:
    """The semantics of Glue's registry operations, without their wire shapes.

    ``registries``, ``schemas``, ``versions``, ``configs``, ``metadata`` and ``tags`` serve one noun each, ``deletion``
    deletes in one or two steps, ``audit`` is the audit log, ``resource_policies`` are JSON policy documents; ``identity`` is
    for ARNs.
    """

    def __init__(
        self,
        store: RegistryStore,
        *,
        region: str = DEFAULT_REGION,
        account: str = DEFAULT_ACCOUNT,
        limits: RegistryLimits | None = None,
        now: Callable[[], datetime] = _UTC_NOW,
    ) -> None:
        limits = limits or RegistryLimits()
        self._definitions = Definitions(store.versions)
        self.identity = Identity(region=region, account=account)
        self.configs = ScopeConfigs(store.configs)
        self.registries = Registries(store.registries, now=now, limits=limits)
        self.schemas = Schemas(
            store.schemas, store.versions, self._definitions, self.registries, self.configs, now=now, limits=limits
        )
        self.versions = Versions(store.versions, store.schemas, store.schema_ids, self._definitions, now=now, limits=limits)
        self.deletion = Deletions(store.deletion, store.schemas, store.versions, now=now)
        self.metadata = VersionMetadata(store.metadata, now=now, limits=limits)
        self.audit = AuditLog(store.audit)
        resources = Resources(store.registries, store.schemas, self.identity)
        self.resource_policies = ResourcePolicies(store.resource_policies, resources, self.identity, now=now)
        self.tags = Tags(store.tags, resources, limits=limits)

    def diff(self, key: SchemaKey, first: int | None, second: int | None) -> str:
        """The difference of two versions (None: the latest) as a JSON Patch, with the verdict on refused ones."""
        versions = self.versions
        return syntax_diff(self._definitions, versions.get_numbered(key, first), versions.get_numbered(key, second))

    def standalone_text(self, version: Version) -> str:
        """Return the definition for APIs without references: with the referenced definitions inlined.

        It is the registered text if it has no references, or if they cannot be inlined.
        """
        return self._definitions.standalone(version)

    def referenced(self, reference: SchemaReferenceLike) -> Version:
        """The version a table refers to: by id, or by schema and number (no number: the latest)."""
        if reference.schema_version_id:
            return self.versions.get(reference.schema_version_id)
        key = self.identity.schema(
            schema_arn=reference.schema_arn, registry=reference.registry_name, name=reference.schema_name
        )
        return self.versions.get_numbered(key, reference.schema_version_number)

    def columns_of(self, reference: SchemaReferenceLike) -> Sequence[HiveColumn]:
        """The table columns of the version that ``reference`` names.

        Raises :class:`VersionNotFound`, :class:`SchemaNotFound`, :class:`BadReference` for a refused version, and
        :class:`~penstock.schema.errors.NoColumns`.
        """
        version = self.referenced(reference)
        if version.status != AVAILABLE:
            raise BadReference(
                f"Version {version.number} of schema {version.key.name} is {version.status} and gives no columns.",
                remedy="Refer to an AVAILABLE version.",
            )
        return format_of(version.data_format).columns(self._definitions.of(version))
