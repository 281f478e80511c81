"""Schema versions: register under the schema's compatibility, find, compare."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock

from penstock.paging import Page, page
from penstock.registry.audit import Actor, current_actor
from penstock.registry.errors import (
    IncompatibleSchema,
    NumberTaken,
    RegistryFull,
    SchemaIdDiffers,
    SchemaNotFound,
    TooMuchContention,
    VersioningDisabled,
    VersionNotFound,
)
from penstock.registry.identity import fingerprint_with, new_version_id
from penstock.registry.model import (
    AVAILABLE,
    FAILURE,
    EffectiveSchema,
    NewVersion,
    Reference,
    RegistryLimits,
    Schema,
    SchemaKey,
    Version,
    VersionHead,
)
from penstock.registry.policies.contracts import NO_CONTRACT_RULES, ContractRules
from penstock.registry.policies.scopes import compatibility_of, refuse_unwritable
from penstock.registry.store import SchemaIdStore, SchemaStore, VersionStore
from penstock.registry.versions.definitions import Definitions
from penstock.registry.versions.history import Candidate, History, all_heads
from penstock.registry.versions.references import declared_references
from penstock.schema.compatibility import CompatibilityMode, CompatibilityVerdict
from penstock.schema.errors import InvalidSchema
from penstock.schema.format import ParsedSchema
from penstock.schema.formats import format_of
from penstock.schema.rules import GLUE_RULES, CompatibilityRules

__all__ = ["Registration", "Versions"]

_log = logging.getLogger("penstock.registry")

_ATTEMPTS = 200
_LOCKS = 64
_PAGE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """The request to register a definition as a version of the schema ``key``, by ``actor``.

    ``references`` None are those that the schema's tags declare. An incompatible definition becomes a version with status
    FAILURE, which keeps the verdict; registered again after the schema's compatibility changed so that it fits, it gets a
    new id and number. Without ``keep_refused`` nothing is written, and :class:`IncompatibleSchema` has the verdict. A
    version that was soft-deleted comes back with its ids and a new number. Imports give ``schema_id`` and ``number``, and
    skip the compatibility check (``checked``). Without a ``contract`` it is the latest version's, except for imports, to
    which the rules of a configuration, ``contracts``, do not apply. With ``bound`` the modes READONLY and IMPORT refuse new
    versions.
    """

    key: SchemaKey
    definition: str
    references: Sequence[Reference] | None = None
    rules: CompatibilityRules = GLUE_RULES
    keep_refused: bool = True
    schema_id: int | None = None
    number: int | None = None
    checked: bool = True
    bound: bool = False
    contract: str | None = None
    contracts: ContractRules = NO_CONTRACT_RULES
    actor: Actor = field(default_factory=current_actor)


class Versions:
    """Versions of schemas.

    Refused versions (FAILURE) keep only their number. 'Latest' is the highest AVAILABLE version, so a consumer never gets a
    refused schema.
    """

    def __init__(
        self,
        versions: VersionStore,
        schemas: SchemaStore,
        schema_ids: SchemaIdStore,
        definitions: Definitions,
        *,
        now: Callable[[], datetime],
        limits: RegistryLimits,
    ) -> None:
        self._store = versions
        self._schemas = schemas
        self._schema_ids = schema_ids
        self._definitions = definitions
        self._history = History(versions, definitions)
        self._now = now
        self._limits = limits
        self._locks = [Lock() for _ in range(_LOCKS)]

    def register(self, registration: Registration) -> Version:
        """Register a definition and return its version, new or existing.

        Raises :class:`SchemaNotFound`, :class:`~penstock.schema.errors.InvalidSchema`, :class:`VersioningDisabled`,
        :class:`RegistryFull`, :class:`~penstock.registry.errors.BadReference`, :class:`SchemaIdTaken`, :class:`NumberTaken`,
        :class:`IncompatibleSchema`, :class:`~penstock.registry.errors.NotWritable`.
        """
        [outcome] = self.register_all([registration])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def register_all(self, registrations: Sequence[Registration]) -> list[Version | Exception]:
        """Return the version or the error of each registration, in order; new versions are stored in one transaction."""
        # A single registration goes straight to the queue of its schema.
        outcomes = self._attempt(registrations) if len(registrations) > 1 else [None] * len(registrations)
        return [
            self._retry(registration) if outcome is None else outcome
            for registration, outcome in zip(registrations, outcomes, strict=True)
        ]

    def _retry(self, registration: Registration) -> Version | Exception:
        """Register alone, again after each conflict with another writer."""
        # Writers of one schema queue inside a process; between processes they meet at the schema's revision.
        with self._locks[hash(registration.key) % _LOCKS]:
            for _ in range(_ATTEMPTS):
                [outcome] = self._attempt([registration])
                if outcome is not None:
                    return outcome
        return TooMuchContention(*registration.key)

    def _attempt(self, registrations: Sequence[Registration]) -> list[Version | Exception | None]:
        """Return the result of each registration; None if another writer changed the schema first."""
        outcomes: list[Version | Exception | None] = []
        steps: dict[int, NewVersion] = {}
        keys: set[SchemaKey] = set()
        with self._store.session():
            for place, registration in enumerate(registrations):
                decided = self._decide(registration) if registration.key not in keys else None
                if isinstance(decided, NewVersion):
                    keys.add(registration.key)
                    steps[place] = decided
                    decided = None
                outcomes.append(decided)
            added = self._store.add(list(steps.values())) if steps else ()
            for place, outcome in zip(steps, added, strict=True):
                outcomes[place] = outcome
                if isinstance(outcome, Version):
                    _warn_if_refused(outcome)
        return outcomes

    def _decide(self, registration: Registration) -> NewVersion | Version | Exception:
        """Return the existing version, the one to be written, or the error."""
        try:
            return self._decided(registration)
        except Exception as error:  # noqa: BLE001 one registration of a batch does not stop the others
            return error

    def _decided(self, registration: Registration) -> NewVersion | Version:
        key = registration.key
        effective = self._effective(key)
        schema = effective.schema
        references = _declared(effective) if registration.references is None else tuple(registration.references)
        legacy = registration.schema_id is not None
        parsed = self._definitions.parse(schema.data_format, registration.definition, references, legacy=legacy)
        contracts = registration.contracts if registration.checked else NO_CONTRACT_RULES
        existing, contract = self._existing(
            schema, parsed, registration.contract, inherits=registration.checked, contracts=contracts
        )
        if existing is not None and existing.status == AVAILABLE and existing.deleted is None:
            return _as_imported(existing, registration)
        if registration.bound:
            refuse_unwritable(key, effective.mode, with_id=False)
        number = self._number(schema, existing, registration.number)
        verdict = None
        if registration.checked:
            mode = compatibility_of(effective)
            if mode is CompatibilityMode.DISABLED and schema.latest is not None:
                raise VersioningDisabled(*key)
            verdict = self._history.check_compatibility(
                schema, mode, Candidate(parsed, contract, registration.rules, contracts)
            )
        refused = verdict is not None and not verdict.compatible
        if verdict is not None and refused:
            # A refused text cannot replace a soft-deleted one, which stays readable by its ids.
            if not registration.keep_refused or (existing is not None and existing.status == AVAILABLE):
                raise IncompatibleSchema(verdict)
            if existing is not None:
                return existing
        version = Version(
            id=existing.id if existing is not None and existing.status == AVAILABLE else new_version_id(),
            key=key,
            number=number,
            status=FAILURE if refused else AVAILABLE,
            data_format=schema.data_format,
            created=self._now(),
            schema_id=registration.schema_id or 0,
            definition=registration.definition,
            fingerprint=fingerprint_with(parsed.fingerprint, contract),
            verdict=verdict if refused else None,
            references=references,
            contract=contract,
        )
        replaces = None if existing is None else existing.id
        return NewVersion(version=version, revision=schema.revision, replaces=replaces, actor=registration.actor)

    def _existing(
        self,
        schema: Schema,
        parsed: ParsedSchema,
        contract: str | None,
        *,
        inherits: bool = True,
        contracts: ContractRules = NO_CONTRACT_RULES,
    ) -> tuple[Version | None, str | None]:
        """Return the version of a definition, and the contract that it has or would be registered with."""
        if contracts.set_metadata:
            if contract is None and schema.latest is not None:
                before = self._store.get_numbered(schema.key, schema.latest)
                contract = before.contract if before is not None else None
            contract, inherits = contracts.contract(contract), False
        existing = self._store.find(schema.key, fingerprint_with(parsed.fingerprint, contract))
        live = existing is not None and existing.status == AVAILABLE and existing.deleted is None
        if live or contract is not None or not inherits or schema.latest is None:
            return existing, contract
        latest = self._store.get_numbered(schema.key, schema.latest)
        if latest is not None and self._definitions.is_standalone_of(parsed, latest):
            # Glue's clients read it as one text, and register what they read.
            return latest, latest.contract
        if latest is None or latest.contract is None:
            return existing, None
        return self._store.find(schema.key, fingerprint_with(parsed.fingerprint, latest.contract)), latest.contract

    def _number(self, schema: Schema, existing: Version | None, requested: int | None) -> int:
        number = schema.next_number if requested is None else requested
        if number > self._limits.versions_per_schema:
            raise RegistryFull(f"{self._limits.versions_per_schema} versions of schema {schema.key.name}")
        if requested is not None:
            holder = self._store.get_numbered(schema.key, requested)
            if holder is not None and (existing is None or holder.id != existing.id):
                raise NumberTaken(schema.key, requested)
        return number

    def check_compatibility(
        self, registration: Registration, *, mode: CompatibilityMode | None = None, against: Sequence[int] | None = None
    ) -> CompatibilityVerdict:
        """Check as :meth:`register` does, without registering.

        ``mode`` None is the schema's. ``against`` are version numbers to compare with instead of those that the mode
        selects; :class:`VersionNotFound` for a missing one. Otherwise raises what :meth:`register` does.
        """
        effective = self._effective(registration.key)
        schema = effective.schema
        references = _declared(effective) if registration.references is None else registration.references
        parsed = self._definitions.parse(schema.data_format, registration.definition, references)
        mode = compatibility_of(effective) if mode is None else mode
        contract = registration.contract
        if registration.contracts != NO_CONTRACT_RULES:
            _, contract = self._existing(schema, parsed, contract, contracts=registration.contracts)
        new = Candidate(parsed, contract, registration.rules, registration.contracts)
        if against is None:
            return self._history.check_compatibility(schema, mode, new)
        chosen = [self.get_numbered(registration.key, number) for number in sorted(against, reverse=True)]
        return self._history.check_against(chosen, mode, new)

    def parse(self, data_format: str, definition: str, references: Sequence[Reference] = ()) -> ParsedSchema:
        """Parse a definition that belongs to no schema; :class:`InvalidSchema`, :class:`BadReference` for its references."""
        return self._definitions.parse(data_format, definition, references)

    def parsed(self, version: Version) -> ParsedSchema:
        """Return the parsed definition of a stored version."""
        return self._definitions.of(version)

    def check(self, data_format: str, definition: str) -> str | None:
        """Return why ``definition`` is invalid, or None; compatibility is not checked."""
        rules = format_of(data_format)
        try:
            self._definitions.parse(rules.name, definition)
        except InvalidSchema as error:
            return str(error)
        return None

    def get(self, version_id: str) -> Version:
        """By id; :class:`VersionNotFound`."""
        version = self._store.get(version_id)
        if version is None:
            raise VersionNotFound(f"SchemaVersionId: {version_id}")
        return version

    def get_numbered(self, key: SchemaKey, number: int | None, *, deleted: bool = False) -> Version:
        """By number, None being the latest; with ``deleted`` also a soft-deleted one.

        :class:`SchemaNotFound`, :class:`VersionNotFound`.
        """
        chosen = self._schema(key).latest if number is None else number
        version = None if chosen is None else self._store.get_numbered(key, chosen)
        if version is None or (version.deleted is not None and not deleted):
            self._schema(key)
            raise VersionNotFound(
                f"RegistryName: {key.registry}, SchemaName: {key.name}, VersionNumber: {chosen or 'latest'}"
            )
        return version

    def find(
        self,
        key: SchemaKey,
        definition: str,
        *,
        references: Sequence[Reference] | None = None,
        deleted: bool = False,
        contract: str | None = None,
        contracts: ContractRules = NO_CONTRACT_RULES,
        legacy: bool = False,
    ) -> Version:
        """By definition, in any spelling; ``references`` None are those that the schema's tags declare.

        Without a ``contract``, a version without one is found first, then one with the latest version's. ``legacy`` also
        finds definitions that an import stored unchecked.

        :class:`SchemaNotFound`, :class:`VersionNotFound`.
        """
        effective = self._effective(key)
        references = _declared(effective) if references is None else references
        data_format = effective.schema.data_format
        parsed = self._definitions.parse(data_format, definition, references, usable=not deleted, legacy=legacy)
        version, _ = self._existing(effective.schema, parsed, contract)
        if version is None and contracts.set_metadata:
            version, _ = self._existing(effective.schema, parsed, contract, contracts=contracts)
        if version is None and deleted:
            version = self._store.find(key, fingerprint_with(parsed.fingerprint, contract))
        if version is None or (version.deleted is not None and not deleted):
            raise VersionNotFound(f"RegistryName: {key.registry}, SchemaName: {key.name}")
        return version

    def with_schema_id(self, registry: str, schema_id: int) -> Version:
        """Return an AVAILABLE version with this schema id, if possible not a soft-deleted one; :class:`VersionNotFound`."""
        version = self._schema_ids.get_version(registry, schema_id)
        if version is None:
            raise VersionNotFound(f"RegistryName: {registry}, id: {schema_id}")
        return version

    def versions_with_id(self, registry: str | None, schema_id: int) -> Sequence[VersionHead]:
        """All AVAILABLE versions with this schema id in one registry or in all, those soft-deleted included, by schema."""
        heads = self._schema_ids.list_versions(registry, schema_id)
        return [head for head in heads if head.status == AVAILABLE]

    def highest_schema_id(self, registry: str) -> int:
        """The highest schema id that the registry has assigned, deleted ones included; 0 before the first."""
        return self._schema_ids.highest(registry)

    def heads(self, key: SchemaKey, *, deleted: bool = False) -> Sequence[VersionHead]:
        """Return all AVAILABLE versions by number; none if the schema does not exist."""
        return all_heads(self._store, key, deleted=deleted)

    def scan(
        self,
        registry: str | None,
        *,
        prefix: str = "",
        deleted: bool = False,
        after: tuple[SchemaKey, int] | None = None,
        count: int = _PAGE,
    ) -> Sequence[Version]:
        """Up to ``count`` AVAILABLE versions after ``after``, by registry, schema and number."""
        return self._store.scan(registry, prefix, after, count, deleted=deleted)

    def referencing(self, version: VersionHead) -> Sequence[VersionHead]:
        """Return the versions whose definitions refer to this one directly, by schema and number."""
        return self._store.list_referrers(version.id)

    def list(self, key: SchemaKey, *, token: str | None = None, size: int = 25) -> Page[VersionHead]:
        """A page of versions by number, refused ones included; :class:`SchemaNotFound`."""
        self._schema(key)

        def read(after: int | None, count: int) -> Sequence[VersionHead]:
            return self._store.list(key, after, count)

        return page(f"versions:{key.registry}/{key.name}", token, size, read, lambda version: version.number, kind=int)

    def _effective(self, key: SchemaKey) -> EffectiveSchema:
        effective = self._store.get_effective_schema(key)
        if effective is None:
            raise SchemaNotFound(*key)
        return effective

    def _schema(self, key: SchemaKey) -> Schema:
        schema = self._schemas.get(key)
        if schema is None:
            raise SchemaNotFound(*key)
        return schema


def _declared(effective: EffectiveSchema) -> tuple[Reference, ...]:
    return declared_references(effective.tags, effective.schema.key.registry) if effective.tags else ()


def _warn_if_refused(version: Version) -> None:
    if version.verdict is not None:
        key = version.key
        _log.warning("schema %s/%s: version %d refused. %s", key.registry, key.name, version.number, version.verdict)


def _as_imported(existing: Version, registration: Registration) -> Version:
    """Return ``existing``; raise if an import asks for other ids than it has."""
    if registration.schema_id not in (None, existing.schema_id):
        raise SchemaIdDiffers(existing.key.registry, registration.schema_id, existing.schema_id)
    if registration.number not in (None, existing.number):
        raise NumberTaken(existing.key, registration.number, existing.number)
    return existing
