"""Schemas: create with a first version, read, list, change, delete."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from penstock.errors import InvalidInput
from penstock.paging import Page, page
from penstock.registry.errors import SchemaNotFound, TooMuchContention, VersionNotFound
from penstock.registry.identity import DEFAULT_REGISTRY, fingerprint_with, new_version_id
from penstock.registry.model import AVAILABLE, Reference, RegistryLimits, Schema, SchemaKey, Version
from penstock.registry.policies.scopes import ScopeConfigs
from penstock.registry.registries import Registries
from penstock.registry.store import SchemaStore, VersionStore
from penstock.registry.versions.definitions import Definitions
from penstock.registry.versions.references import declared_references
from penstock.schema.compatibility import CompatibilityMode
from penstock.schema.formats import format_of
from penstock.tags import check_tags

__all__ = ["NewSchema", "Schemas"]

_ATTEMPTS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSchema:
    """The request of CreateSchema; without ``registry`` it is the default one, which is created at its first use.

    ``compatibility`` None is inherited. ``references`` None are those that the tags declare
    (:func:`penstock.registry.versions.references.declared_references`). ``contract`` is the first version's; so are
    ``schema_id`` and ``number``, for imports.
    """

    name: str
    data_format: str
    registry: str | None = None
    compatibility: CompatibilityMode | None = CompatibilityMode.NONE
    description: str | None = None
    definition: str | None = None
    tags: Mapping[str, str] | None = None
    references: Sequence[Reference] | None = None
    schema_id: int | None = None
    number: int | None = None
    contract: str | None = None


class Schemas:
    """Schemas by :class:`SchemaKey`. Deleting one deletes its versions at once."""

    def __init__(
        self,
        store: SchemaStore,
        versions: VersionStore,
        definitions: Definitions,
        registries: Registries,
        configs: ScopeConfigs,
        *,
        now: Callable[[], datetime],
        limits: RegistryLimits,
    ) -> None:
        self._store = store
        self._versions = versions
        self._definitions = definitions
        self._registries = registries
        self._configs = configs
        self._now = now
        self._limits = limits

    def create(self, new: NewSchema) -> tuple[Schema, Version | None]:
        """Add a schema, with its first version if there is a definition.

        :class:`RegistryNotFound`, :class:`SchemaExists`; :class:`InvalidInput` for a definition that is not valid, or whose
        references cannot be used; :class:`SchemaIdTaken` for an import's id.
        """
        format_of(new.data_format)
        check_tags(new.tags or {}, self._limits.tags)
        key = SchemaKey(new.registry or DEFAULT_REGISTRY, new.name)
        now = self._now()
        first = self._first_version(key, new, now)
        schema = Schema(
            key=key,
            data_format=new.data_format,
            compatibility=new.compatibility,
            description=new.description,
            latest=first.number if first else None,
            next_number=first.number + 1 if first else 1,
            created=now,
            updated=now,
        )
        if new.registry is None:
            self._registries.ensure(DEFAULT_REGISTRY, "Made for schemas without a registry.")
        return schema, self._store.add(schema, first, new.tags or {})

    def get(self, key: SchemaKey) -> Schema:
        """The schema; :class:`SchemaNotFound`."""
        schema = self._store.get(key)
        if schema is None:
            raise SchemaNotFound(*key)
        return schema

    def find(self, key: SchemaKey) -> Schema | None:
        """The schema; None if it does not exist."""
        return self._store.get(key)

    def effective(self, schema: Schema) -> CompatibilityMode:
        """Return the effective compatibility of ``schema``: its own, or the inherited one."""
        return self._configs.compatibility(schema)

    def set_compatibility(self, key: SchemaKey, compatibility: CompatibilityMode | None) -> None:
        """Replace the compatibility (None: inherited) and keep the checkpoint. :class:`SchemaNotFound`."""
        self._change(key, lambda schema: replace(schema, compatibility=compatibility, updated=self._now()))

    def subjects(
        self,
        registry: str | None,
        *,
        prefix: str = "",
        live: bool = True,
        deleted: bool = False,
        after: SchemaKey | None = None,
        count: int = 1_000,
    ) -> Sequence[SchemaKey]:
        """Return the keys of schemas that have versions, by registry and name: see :meth:`SchemaStore.list_subjects`."""
        return self._store.list_subjects(registry, prefix, after, count, live=live, deleted=deleted)

    def list(self, registry: str | None = None, *, token: str | None = None, size: int = 25) -> Page[Schema]:
        """A page of schemas by registry and name, of one registry or of all; :class:`RegistryNotFound`."""
        if registry is not None:
            self._registries.get(registry)

        def read(after: str | None, count: int) -> Sequence[Schema]:
            # Names have no slash.
            last = None if after is None else SchemaKey(*(after.partition("/")[::2]))
            return self._store.list(registry, last, count)

        return page(f"schemas:{registry or ''}", token, size, read, lambda schema: "/".join(schema.key), kind=str)

    def update(
        self,
        key: SchemaKey,
        *,
        compatibility: CompatibilityMode | None = None,
        checkpoint: int | None = None,
        latest: bool = False,
        description: str | None = None,
    ) -> None:
        """Change the compatibility, the checkpoint (a number, or ``latest``), the description.

        A new compatibility needs a checkpoint from which it applies; earlier versions are not checked again. Raises
        :class:`VersionNotFound` for a checkpoint that is not an AVAILABLE version.
        """
        pointed = latest or checkpoint is not None
        if compatibility is not None and not pointed:
            raise InvalidInput(
                "A change of Compatibility needs the SchemaVersionNumber from which it applies (the checkpoint).",
                remedy="Give SchemaVersionNumber with VersionNumber, or with LatestVersion true.",
            )
        if not pointed and description is None:
            raise InvalidInput(
                "The update changes nothing.", remedy="Give Compatibility, SchemaVersionNumber or Description."
            )

        def changed(schema: Schema) -> Schema:
            return replace(
                schema,
                compatibility=compatibility or schema.compatibility,
                checkpoint=self._checkpoint(schema, checkpoint) if pointed else schema.checkpoint,
                description=schema.description if description is None else description,
                updated=self._now(),
            )

        self._change(key, changed)

    def delete(self, key: SchemaKey) -> None:
        """Delete a schema with its versions; :class:`SchemaNotFound`."""
        if not self._store.delete(key):
            raise SchemaNotFound(*key)

    def _change(self, key: SchemaKey, changed: Callable[[Schema], Schema]) -> None:
        for _ in range(_ATTEMPTS):
            if self._store.update(changed(self.get(key))):
                return
        raise TooMuchContention(*key)

    def _checkpoint(self, schema: Schema, requested: int | None) -> int:
        number = schema.latest if requested is None else requested
        version = None if number is None else self._versions.get_numbered(schema.key, number)
        if version is None or version.deleted is not None:
            raise VersionNotFound(f"SchemaName: {schema.key.name}, VersionNumber: {number or 'latest'}")
        if version.status != AVAILABLE:
            raise InvalidInput(
                f"Version {version.number} of schema {schema.key.name} is {version.status} and cannot be a checkpoint.",
                remedy="Choose an AVAILABLE version.",
            )
        return version.number

    def _first_version(self, key: SchemaKey, new: NewSchema, now: datetime) -> Version | None:
        if new.definition is None:
            return None
        references = new.references
        if references is None:
            references = declared_references(new.tags or {}, key.registry)
        legacy = new.schema_id is not None
        parsed = self._definitions.parse(new.data_format, new.definition, references, legacy=legacy)
        return Version(
            id=new_version_id(),
            key=key,
            number=new.number or 1,
            status=AVAILABLE,
            data_format=new.data_format,
            created=now,
            schema_id=new.schema_id or 0,
            definition=new.definition,
            fingerprint=fingerprint_with(parsed.fingerprint, new.contract),
            references=tuple(references),
            contract=new.contract,
        )
