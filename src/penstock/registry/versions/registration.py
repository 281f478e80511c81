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

    def register(self, wanted: Registration) -> Version:
        """Register a definition and return its version, new or existing.

        Raises :class:`SchemaNotFound`, :class:`~penstock.schema.errors.InvalidSchema`, :class:`VersioningDisabled`,
        :class:`RegistryFull`, :class:`~penstock.registry.errors.BadReference`, :class:`SchemaIdTaken`, :class:`NumberTaken`,
        :class:`IncompatibleSchema`, :class:`~penstock.registry.errors.NotWritable`.
        """
        [outcome] = self.register_all([wanted])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def register_all(self, wanted: Sequence[Registration]) -> list[Version | Exception]:
        """Register each and return its result or error, in order; new versions are stored in one transaction."""
        # A batch of one takes its place in the queue at once.
        outcomes = self._attempt(wanted) if len(wanted) > 1 else [None] * len(wanted)
        return [self._retry(item) if done is None else done for item, done in zip(wanted, outcomes, strict=True)]

    def _retry(self, item: Registration) -> Version | Exception:
        """Register again one that another writer conflicted with."""
        # Writers of one schema queue inside a process; between processes they meet at the schema's revision.
        with self._locks[hash(item.key) % _LOCKS]:
            for _ in range(_ATTEMPTS):
                [outcome] = self._attempt([item])
                if outcome is not None:
                    return outcome
        return TooMuchContention(*item.key)

    def _attempt(self, wanted: Sequence[Registration]) -> list[Version | Exception | None]:
        """Return the result of each; None if another writer changed the schema first."""
        outcomes: list[Version | Exception | None] = []
        steps: dict[int, NewVersion] = {}
        taken: set[SchemaKey] = set()
        with self._store.session():
            for place, item in enumerate(wanted):
                decided = self._decide(item) if item.key not in taken else None
                if isinstance(decided, NewVersion):
                    taken.add(item.key)
                    steps[place] = decided
                    decided = None
                outcomes.append(decided)
            added = self._store.add(list(steps.values())) if steps else ()
            for place, outcome in zip(steps, added, strict=True):
                outcomes[place] = outcome
                if isinstance(outcome, Version):
                    _warn_if_refused(outcome)
        return outcomes

    def _decide(self, wanted: Registration) -> NewVersion | Version | Exception:
        """Return the existing version, the one to be written, or the error."""
        try:
            return self._decided(wanted)
        except Exception as error:  # noqa: BLE001 one registration of a batch does not stop the others
            return error

    def _decided(self, wanted: Registration) -> NewVersion | Version:
        key = wanted.key
        effective = self._effective(key)
        schema = effective.schema
        references = _declared(effective) if wanted.references is None else tuple(wanted.references)
        legacy = wanted.schema_id is not None
        parsed = self._definitions.parse(schema.data_format, wanted.definition, references, legacy=legacy)
        contracts = wanted.contracts if wanted.checked else NO_CONTRACT_RULES
        known, contract = self._known(schema, parsed, wanted.contract, inherits=wanted.checked, contracts=contracts)
        if known is not None and known.status == AVAILABLE and known.deleted is None:
            return _as_imported(known, wanted)
        if wanted.bound:
            refuse_unwritable(key, effective.mode, with_id=False)
        number = self._number(schema, known, wanted.number)
        verdict = None
        if wanted.checked:
            mode = compatibility_of(effective)
            if mode is CompatibilityMode.DISABLED and schema.latest is not None:
                raise VersioningDisabled(*key)
            verdict = self._history.check_compatibility(schema, mode, Candidate(parsed, contract, wanted.rules, contracts))
        refused = verdict is not None and not verdict.compatible
        if verdict is not None and refused:
            # A refused text cannot replace a soft-deleted one, which stays readable by its ids.
            if not wanted.keep_refused or (known is not None and known.status == AVAILABLE):
                raise IncompatibleSchema(verdict)
            if known is not None:
                return known
        version = Version(
            id=known.id if known is not None and known.status == AVAILABLE else new_version_id(),
            key=key,
            number=number,
            status=FAILURE if refused else AVAILABLE,
            data_format=schema.data_format,
            created=self._now(),
            schema_id=wanted.schema_id or 0,
            definition=wanted.definition,
            fingerprint=fingerprint_with(parsed.fingerprint, contract),
            verdict=verdict if refused else None,
            references=references,
            contract=contract,
        )
        replaces = None if known is None else known.id
        return NewVersion(version=version, revision=schema.revision, replaces=replaces, actor=wanted.actor)

    def _known(
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
        known = self._store.find(schema.key, fingerprint_with(parsed.fingerprint, contract))
        live = known is not None and known.status == AVAILABLE and known.deleted is None
        if live or contract is not None or not inherits or schema.latest is None:
            return known, contract
        latest = self._store.get_numbered(schema.key, schema.latest)
        if latest is not None and self._definitions.is_standalone_of(parsed, latest):
            # Glue's clients read it as one text, and register what they read.
            return latest, latest.contract
        if latest is None or latest.contract is None:
            return known, None
        return self._store.find(schema.key, fingerprint_with(parsed.fingerprint, latest.contract)), latest.contract

    def _number(self, schema: Schema, known: Version | None, wanted: int | None) -> int:
        number = schema.next_number if wanted is None else wanted
        if number > self._limits.versions_per_schema:
            raise RegistryFull(f"{self._limits.versions_per_schema} versions of schema {schema.key.name}")
        if wanted is not None:
            holder = self._store.get_numbered(schema.key, wanted)
            if holder is not None and (known is None or holder.id != known.id):
                raise NumberTaken(schema.key, wanted)
        return number

    def check_compatibility(
        self, wanted: Registration, *, mode: CompatibilityMode | None = None, against: Sequence[int] | None = None
    ) -> CompatibilityVerdict:
        """Check as :meth:`register` does, without registering.

        ``mode`` None is the schema's. ``against`` compares it with these version numbers instead of those that the mode
        picks; :class:`VersionNotFound` for one that is not there. Otherwise raises what :meth:`register` does.
        """
        effective = self._effective(wanted.key)
        schema = effective.schema
        references = _declared(effective) if wanted.references is None else wanted.references
        parsed = self._definitions.parse(schema.data_format, wanted.definition, references)
        mode = compatibility_of(effective) if mode is None else mode
        contract = wanted.contract
        if wanted.contracts != NO_CONTRACT_RULES:
            _, contract = self._known(schema, parsed, contract, contracts=wanted.contracts)
        new = Candidate(parsed, contract, wanted.rules, wanted.contracts)
        if against is None:
            return self._history.check_compatibility(schema, mode, new)
        chosen = [self.get_numbered(wanted.key, number) for number in sorted(against, reverse=True)]
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
        wanted = self._schema(key).latest if number is None else number
        version = None if wanted is None else self._store.get_numbered(key, wanted)
        if version is None or (version.deleted is not None and not deleted):
            self._schema(key)
            raise VersionNotFound(
                f"RegistryName: {key.registry}, SchemaName: {key.name}, VersionNumber: {wanted or 'latest'}"
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

        Without a ``contract`` one that has none, else one that has the latest version's. ``legacy`` finds what an import
        stored unchecked.

        :class:`SchemaNotFound`, :class:`VersionNotFound`.
        """
        effective = self._effective(key)
        references = _declared(effective) if references is None else references
        data_format = effective.schema.data_format
        parsed = self._definitions.parse(data_format, definition, references, usable=not deleted, legacy=legacy)
        version, _ = self._known(effective.schema, parsed, contract)
        if version is None and contracts.set_metadata:
            version, _ = self._known(effective.schema, parsed, contract, contracts=contracts)
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


def _as_imported(known: Version, wanted: Registration) -> Version:
    """Return ``known``; raise if an import asks for other ids than it has."""
    if wanted.schema_id not in (None, known.schema_id):
        raise SchemaIdDiffers(known.key.registry, wanted.schema_id, known.schema_id)
    if wanted.number not in (None, known.number):
        raise NumberTaken(known.key, wanted.number, known.number)
    return known
