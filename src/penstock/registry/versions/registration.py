"""Schema versions: register under the schema's compatibility, find, compare, delete."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from threading import Lock
from typing import NamedTuple, ParamSpec, TypeVar

from penstock.errors import InvalidInput
from penstock.paging import Page, page
from penstock.registry.audit import Actor, acting
from penstock.registry.errors import (
    IncompatibleSchema,
    NumberTaken,
    ProtectedVersion,
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
from penstock.registry.policies.scopes import compatibility_of, refuse_unwritable
from penstock.registry.store import RegistryStore
from penstock.registry.subjects.terms import NO_TERMS, Terms
from penstock.registry.versions.definitions import Definitions
from penstock.registry.versions.history import check
from penstock.registry.versions.references import declared_references
from penstock.schema.compatibility import CompatibilityMode, CompatibilityVerdict, relevant
from penstock.schema.errors import InvalidSchema
from penstock.schema.format import ParsedSchema
from penstock.schema.formats import format_of
from penstock.schema.rules import GLUE_RULES, CompatibilityRules

__all__ = ["Deletion", "Registration", "Versions"]

_log = logging.getLogger("penstock.registry")

P = ParamSpec("P")
T = TypeVar("T")

# Writers of one schema queue inside a process; between processes they meet at the schema's revision and try again.
_ATTEMPTS = 200
_LOCKS = 64
_MAX_DELETED = 25
_PAGE = 1_000
_TEXTS = 50  # versions of a long history in memory at once: 17 MB where all are as large as they may be


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """What DeleteSchemaVersions did: numbers that are gone, numbers that were never there."""

    deleted: Sequence[int]
    missing: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """A definition to be registered as a version of the schema ``key`` by Glue's rules, bound by modes, for ``actor``."""

    key: SchemaKey
    definition: str
    actor: Actor


class _Wanted(NamedTuple):
    """The arguments of one registration."""

    definition: str
    references: Sequence[Reference] | None = None
    rules: CompatibilityRules = GLUE_RULES
    keep_refused: bool = True
    schema_id: int | None = None
    number: int | None = None
    checked: bool = True
    bound: bool = False
    contract: str | None = None
    terms: Terms = NO_TERMS


class _Candidate(NamedTuple):
    """A definition with its contract, and what it is judged by."""

    parsed: ParsedSchema
    contract: str | None
    rules: CompatibilityRules
    terms: Terms


class _Decision(NamedTuple):
    """What a registration writes, where the schema's revision is still the one it was decided on."""

    version: Version
    revision: int
    replaces: str | None


class Versions:
    """Versions of schemas.

    'Earlier' versions, for a compatibility check, are the AVAILABLE ones from the checkpoint on: the last of them for
    BACKWARD, FORWARD and FULL, all of them for the _ALL modes. Refused versions (FAILURE) keep their number and count for
    nothing else. 'Latest' is the highest AVAILABLE one, so that a consumer never gets a refused schema.
    """

    def __init__(
        self,
        store: RegistryStore,
        definitions: Definitions,
        *,
        now: Callable[[], datetime],
        limits: RegistryLimits,
    ) -> None:
        self._store = store
        self._definitions = definitions
        self._now = now
        self._limits = limits
        self._locks = [Lock() for _ in range(_LOCKS)]

    def register(
        self,
        key: SchemaKey,
        definition: str,
        *,
        references: Sequence[Reference] | None = None,
        rules: CompatibilityRules = GLUE_RULES,
        keep_refused: bool = True,
        schema_id: int | None = None,
        number: int | None = None,
        checked: bool = True,
        bound: bool = False,
        contract: str | None = None,
        terms: Terms = NO_TERMS,
    ) -> Version:
        """The version of ``definition``, new or the one it has already.

        ``references`` None are those that the schema's tags declare. An incompatible definition becomes a version with
        status FAILURE, which keeps the verdict; registered again after that changed so that it fits, it gets a new id
        and number. Without ``keep_refused`` nothing is written, and :class:`IncompatibleSchema` has the verdict. A version
        that was soft-deleted comes back with its ids and a new number. Imports give ``schema_id`` and ``number``, and leave
        out the compatibility check (``checked``). Without a ``contract`` it is the latest version's, but for imports, to
        which the ``terms`` of a configuration do not apply. With ``bound`` the modes READONLY and IMPORT take nothing new.

        Raises :class:`SchemaNotFound`, :class:`~penstock.schema.errors.InvalidSchema`, :class:`VersioningDisabled`,
        :class:`RegistryFull`, :class:`~penstock.registry.errors.BadReference`, :class:`SchemaIdTaken`, :class:`NumberTaken`,
        :class:`~penstock.registry.errors.NotWritable`.
        """
        wanted = _Wanted(definition, references, rules, keep_refused, schema_id, number, checked, bound, contract, terms)
        with self._locks[hash(key) % _LOCKS]:
            for _ in range(_ATTEMPTS):
                with self._store.session():
                    version = self._try_register(key, wanted)
                if version is not None:
                    return version
        raise TooMuchContention(*key)

    def register_all(self, wanted: Sequence[Registration]) -> list[Version | Exception]:
        """As :meth:`register` for each: what it returns or raises, in order; what is new is stored in one transaction."""
        outcomes: list[Version | Exception | None] = []
        steps: dict[int, NewVersion] = {}
        taken: set[SchemaKey] = set()
        with self._store.session():
            for place, item in enumerate(wanted):
                found = _outcome(self._decide, item.key, _Wanted(item.definition, bound=True))
                if isinstance(found, _Decision):
                    # One that was refused, or comes back, is written by itself: it takes the place of another.
                    if found.replaces is None and item.key not in taken:
                        taken.add(item.key)
                        steps[place] = NewVersion(version=found.version, revision=found.revision, actor=item.actor)
                    outcomes.append(None)
                else:
                    outcomes.append(found)
            for place, added in zip(steps, self._store.add_versions(list(steps.values())), strict=True):
                outcomes[place] = added
                if added is not None:
                    _tell_refused(added)
        return [self._alone(item) if done is None else done for item, done in zip(wanted, outcomes, strict=True)]

    def _alone(self, item: Registration) -> Version | Exception:
        with acting(item.actor):
            return _outcome(self.register, item.key, item.definition, bound=True)

    def _try_register(self, key: SchemaKey, wanted: _Wanted) -> Version | None:
        decided = self._decide(key, wanted)
        if isinstance(decided, Version):
            return decided
        added = self._store.add_version(decided.version, revision=decided.revision, replaces=decided.replaces)
        if added is not None:
            _tell_refused(added)
        return added

    def _decide(self, key: SchemaKey, wanted: _Wanted) -> "Version | _Decision":
        """The version that is there already, or the one to be written."""
        effective = self._effective(key)
        schema = effective.schema
        references = _declared(effective) if wanted.references is None else tuple(wanted.references)
        legacy = wanted.schema_id is not None
        parsed = self._definitions.parse(schema.data_format, wanted.definition, references, legacy=legacy)
        known, contract = self._known(
            schema, parsed, wanted.contract, inherits=wanted.checked, terms=wanted.terms if wanted.checked else NO_TERMS
        )
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
            verdict = self._judge(schema, mode, _Candidate(parsed, contract, wanted.rules, wanted.terms))
        refused = verdict is not None and not verdict.compatible
        if verdict is not None and refused:
            # A refused text cannot take the place of one that was soft-deleted: that one stays readable by its ids.
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
        return _Decision(version, schema.revision, known.id if known else None)

    def _known(
        self,
        schema: Schema,
        parsed: ParsedSchema,
        contract: str | None,
        *,
        inherits: bool = True,
        terms: Terms = NO_TERMS,
    ) -> tuple[Version | None, str | None]:
        """The version of a definition, and the contract that it has, or would be registered with."""
        if terms.set_metadata:
            if contract is None and schema.latest is not None:
                before = self._store.get_version_numbered(schema.key, schema.latest)
                contract = before.contract if before is not None else None
            contract, inherits = terms.contract(contract), False
        known = self._store.find_version(schema.key, fingerprint_with(parsed.fingerprint, contract))
        live = known is not None and known.status == AVAILABLE and known.deleted is None
        if live or contract is not None or not inherits or schema.latest is None:
            return known, contract
        latest = self._store.get_version_numbered(schema.key, schema.latest)
        if latest is not None and self._definitions.is_standalone_of(parsed, latest):
            # Glue's callers read it as one text, and register what they read.
            return latest, latest.contract
        if latest is None or latest.contract is None:
            return known, None
        return self._store.find_version(schema.key, fingerprint_with(parsed.fingerprint, latest.contract)), latest.contract

    def _number(self, schema: Schema, known: Version | None, wanted: int | None) -> int:
        number = schema.next_number if wanted is None else wanted
        if number > self._limits.versions_per_schema:
            raise RegistryFull(f"{self._limits.versions_per_schema} versions of schema {schema.key.name}")
        if wanted is not None:
            holder = self._store.get_version_numbered(schema.key, wanted)
            if holder is not None and (known is None or holder.id != known.id):
                raise NumberTaken(schema.key, wanted)
        return number

    def judge(
        self,
        key: SchemaKey,
        definition: str,
        *,
        references: Sequence[Reference] | None = None,
        rules: CompatibilityRules = GLUE_RULES,
        mode: CompatibilityMode | None = None,
        against: Sequence[int] | None = None,
        contract: str | None = None,
        terms: Terms = NO_TERMS,
    ) -> CompatibilityVerdict:
        """What registering ``definition`` would find, without registering it.

        ``mode`` None is the schema's. ``against`` holds it against these version numbers instead of those that the mode
        picks; :class:`VersionNotFound` for one that is not there. Otherwise raises what :meth:`register` does.
        """
        effective = self._effective(key)
        references = _declared(effective) if references is None else references
        parsed = self._definitions.parse(effective.schema.data_format, definition, references)
        mode = compatibility_of(effective) if mode is None else mode
        if terms != NO_TERMS:
            _, contract = self._known(effective.schema, parsed, contract, terms=terms)
        candidate = _Candidate(parsed, contract, rules, terms)
        if against is None:
            return self._judge(effective.schema, mode, candidate)
        versions = [self.get_numbered(key, number) for number in sorted(against, reverse=True)]
        reserved = terms.conflicts(parsed, contract, versions[0] if versions else None)
        versions = [version for version in versions if terms.alike(contract, version.contract)]
        verdict = self._hold(mode, candidate, sorted(version.number for version in versions), versions)
        return replace(verdict, conflicts=(*reserved, *verdict.conflicts))

    def _judge(self, schema: Schema, mode: CompatibilityMode, new: "_Candidate") -> CompatibilityVerdict:
        verdict = self._compare(schema, mode, new)
        if not new.terms.reserves:
            return verdict
        latest = None if schema.latest is None else self._store.get_version_numbered(schema.key, schema.latest)
        return replace(verdict, conflicts=(*new.terms.conflicts(new.parsed, new.contract, latest), *verdict.conflicts))

    def _compare(self, schema: Schema, mode: CompatibilityMode, new: "_Candidate") -> CompatibilityVerdict:
        if schema.latest is None or not relevant(mode, [schema.latest]):
            return CompatibilityVerdict(mode=mode)
        if mode.checks_all or new.terms.group is not None:
            numbers = [head.number for head in self.heads(schema.key) if head.number >= schema.checkpoint]
            earlier = self._texts(schema.key, numbers)
            if new.terms.group is not None:
                earlier = (version for version in earlier if new.terms.alike(new.contract, version.contract))
                if not mode.checks_all:
                    earlier = islice(earlier, 1)
        else:
            last = self._store.get_version_numbered(schema.key, schema.latest)
            found = [last] if last is not None and last.status == AVAILABLE and last.deleted is None else []
            numbers, earlier = [version.number for version in found], iter(found)
        return self._hold(mode, new, numbers, earlier)

    def _hold(
        self, mode: CompatibilityMode, new: "_Candidate", numbers: Sequence[int], earlier: Iterable[Version]
    ) -> CompatibilityVerdict:
        return check(mode, new.parsed, numbers, earlier, read=self._definitions.of, rules=new.rules)

    def _texts(self, key: SchemaKey, numbers: Sequence[int]) -> Iterator[Version]:
        """The versions ``numbers`` (ascending), the last first, a few at a time; none that is deleted meanwhile."""
        for end in range(len(numbers), 0, -_TEXTS):
            few = numbers[max(0, end - _TEXTS) : end]
            found = self._store.scan_versions(key.registry, key.name, (key, few[0] - 1), len(few), deleted=False)
            yield from (version for version in reversed(found) if version.key == key and version.number <= few[-1])

    def parse(self, data_format: str, definition: str, references: Sequence[Reference] = ()) -> ParsedSchema:
        """A definition of no schema in particular; :class:`InvalidSchema`, :class:`BadReference` for its references."""
        return self._definitions.parse(data_format, definition, references)

    def parsed(self, version: Version) -> ParsedSchema:
        """What a stored version means."""
        return self._definitions.of(version)

    def check(self, data_format: str, definition: str) -> str | None:
        """What makes ``definition`` invalid, or None; no schema's compatibility is asked."""
        rules = format_of(data_format)
        try:
            self._definitions.parse(rules.name, definition)
        except InvalidSchema as error:
            return str(error)
        return None

    def get(self, version_id: str) -> Version:
        """By id; :class:`VersionNotFound`."""
        version = self._store.get_version(version_id)
        if version is None:
            raise VersionNotFound(f"SchemaVersionId: {version_id}")
        return version

    def get_numbered(self, key: SchemaKey, number: int | None, *, deleted: bool = False) -> Version:
        """By number, None being the latest; ``deleted`` gives one that was soft-deleted, too.

        :class:`SchemaNotFound`, :class:`VersionNotFound`.
        """
        wanted = self._schema(key).latest if number is None else number
        version = None if wanted is None else self._store.get_version_numbered(key, wanted)
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
        terms: Terms = NO_TERMS,
        legacy: bool = False,
    ) -> Version:
        """By definition, in any spelling; ``references`` None are those that the schema's tags declare.

        Without a ``contract`` one that has none, else one that has the latest version's. ``legacy`` finds what an import
        took unchecked.

        :class:`SchemaNotFound`, :class:`VersionNotFound`.
        """
        effective = self._effective(key)
        references = _declared(effective) if references is None else references
        data_format = effective.schema.data_format
        parsed = self._definitions.parse(data_format, definition, references, usable=not deleted, legacy=legacy)
        version, _ = self._known(effective.schema, parsed, contract)
        if version is None and terms.set_metadata:
            version, _ = self._known(effective.schema, parsed, contract, terms=terms)
        if version is None and deleted:
            version = self._store.find_version(key, fingerprint_with(parsed.fingerprint, contract))
        if version is None or (version.deleted is not None and not deleted):
            raise VersionNotFound(f"RegistryName: {key.registry}, SchemaName: {key.name}")
        return version

    def with_schema_id(self, registry: str, schema_id: int) -> Version:
        """An AVAILABLE version with this schema id, rather one that is not soft-deleted; :class:`VersionNotFound`."""
        version = self._store.get_version_with_schema_id(registry, schema_id)
        if version is None:
            raise VersionNotFound(f"RegistryName: {registry}, id: {schema_id}")
        return version

    def versions_with_id(self, registry: str | None, schema_id: int) -> Sequence[VersionHead]:
        """All AVAILABLE versions with this schema id in one registry or in all, those soft-deleted included, by schema."""
        heads = self._store.list_versions_with_schema_id(registry, schema_id)
        return [head for head in heads if head.status == AVAILABLE]

    def heads(self, key: SchemaKey, *, deleted: bool = False) -> Sequence[VersionHead]:
        """All AVAILABLE versions by number; none where there is no such schema."""
        found: list[VersionHead] = []
        while True:
            rows = self._store.list_versions(key, found[-1].number if found else None, _PAGE, deleted=deleted)
            found.extend(rows)
            if len(rows) < _PAGE:
                return [head for head in found if head.status == AVAILABLE]

    def scan(
        self,
        registry: str | None,
        *,
        prefix: str = "",
        deleted: bool = False,
        after: tuple[SchemaKey, int] | None = None,
        count: int = _PAGE,
    ) -> Sequence[Version]:
        """Up to ``count`` AVAILABLE versions behind ``after``, by registry, schema and number."""
        return self._store.scan_versions(registry, prefix, after, count, deleted=deleted)

    def referencing(self, version: VersionHead) -> Sequence[VersionHead]:
        """The versions whose definitions build on this one directly, by schema and number."""
        return self._store.referencing(version.id)

    def list(self, key: SchemaKey, *, token: str | None = None, size: int = 25) -> Page[VersionHead]:
        """A page of versions by number, refused ones included; :class:`SchemaNotFound`."""
        self._schema(key)

        def read(after: int | None, count: int) -> Sequence[VersionHead]:
            return self._store.list_versions(key, after, count)

        return page(f"versions:{key.registry}/{key.name}", token, size, read, lambda version: version.number, kind=int)

    def delete(self, key: SchemaKey, numbers: range) -> Deletion:
        """Delete up to 25 versions.

        :class:`ProtectedVersion`, and nothing deleted, where the checkpoint or the first version is among them; they go with
        the schema alone.
        """
        if len(numbers) > _MAX_DELETED:
            raise InvalidInput(f"{len(numbers)} versions were given; one call deletes {_MAX_DELETED}.")
        for _ in range(_ATTEMPTS):
            schema = self._schema(key)
            if schema.checkpoint in numbers:
                raise ProtectedVersion(
                    f"Version {schema.checkpoint} of schema {key.name} is the checkpoint and cannot be deleted.",
                    remedy="Move the checkpoint with UpdateSchema first.",
                )
            if 1 in numbers:
                raise ProtectedVersion(
                    f"The first version of schema {key.name} cannot be deleted.", remedy="DeleteSchema deletes all versions."
                )
            present = self._live(key, numbers)
            deleted = self._store.delete_versions(key, present, self._now(), revision=schema.revision)
            if deleted is not None:
                return Deletion(deleted=deleted, missing=[number for number in numbers if number not in deleted])
        raise TooMuchContention(*key)

    def _live(self, key: SchemaKey, numbers: range) -> Sequence[int]:
        heads = self._store.list_versions(key, numbers.start - 1, len(numbers))
        return [head.number for head in heads if head.number in numbers]

    def _effective(self, key: SchemaKey) -> EffectiveSchema:
        effective = self._store.get_effective_schema(key)
        if effective is None:
            raise SchemaNotFound(*key)
        return effective

    def _schema(self, key: SchemaKey) -> Schema:
        schema = self._store.get_schema(key)
        if schema is None:
            raise SchemaNotFound(*key)
        return schema


def _declared(effective: EffectiveSchema) -> tuple[Reference, ...]:
    return declared_references(effective.tags, effective.schema.key.registry) if effective.tags else ()


def _outcome(work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T | Exception:
    """What ``work`` returns, or what it raises: one of many asked together does not stop the others."""
    try:
        return work(*arguments, **named)
    except Exception as error:  # noqa: BLE001 -- whoever asked renders or raises it
        return error


def _tell_refused(version: Version) -> None:
    if version.verdict is not None:
        key = version.key
        _log.warning("schema %s/%s: version %d refused. %s", key.registry, key.name, version.number, version.verdict)


def _as_imported(known: Version, wanted: _Wanted) -> Version:
    """``known``, unless an import asks for other ids than it has."""
    if wanted.schema_id not in (None, known.schema_id):
        raise SchemaIdDiffers(known.key.registry, wanted.schema_id, known.schema_id)
    if wanted.number not in (None, known.number):
        raise NumberTaken(known.key, wanted.number, known.number)
    return known
