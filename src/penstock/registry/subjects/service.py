"""Subjects, Confluent's form of schemas: register, look up, list, read, delete, test."""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from penstock.registry.errors import (
    IncompatibleSchema,
    NotSoftDeleted,
    RegistryNotFound,
    SchemaExists,
    SchemaIdDiffers,
    SchemaIdTaken,
    SchemaNotFound,
    SoftDeleted,
    VersionNotFound,
    VersionReferenced,
)
from penstock.registry.identity import DEFAULT_REGISTRY
from penstock.registry.model import AVAILABLE, IMPORT, MAX_SCHEMA_ID, Reference, Schema, SchemaKey, Version, VersionHead
from penstock.registry.schemas import NewSchema
from penstock.registry.service import RegistryService
from penstock.registry.subjects.configs import SubjectConfig, SubjectConfigs, level_name
from penstock.registry.subjects.errors import (
    BadVersion,
    EmptySchema,
    IdInUse,
    Incompatible,
    NotNextVersion,
    NotPermitted,
    ReferenceExists,
    SchemaTextNotFound,
    SubjectNotFound,
    SubjectNotSoftDeleted,
    SubjectSoftDeleted,
    SubjectVersionNotFound,
    VersionNotSoftDeleted,
    VersionSoftDeleted,
)
from penstock.registry.subjects.names import (
    SubjectName,
    SubjectPrefix,
    named_subject,
    parse_subject,
    subject_of,
)
from penstock.registry.subjects.terms import NO_TERMS, Terms
from penstock.registry.versions.registration import Registration
from penstock.schema.compatibility import CompatibilityMode, CompatibilityVerdict, Conflict
from penstock.schema.errors import InvalidSchema
from penstock.schema.incompatibility import Incompatibility

__all__ = ["LATEST", "Listing", "SubjectReference", "SubjectSchema", "Subjects", "version_number"]

LATEST = "latest"
_PAGE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectReference:
    """A reference in a request: ``version`` -1 is the latest, ``subject`` belongs to the referring schema's context."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectSchema:
    """A schema in a request; ``data_format`` is AVRO, JSON or PROTOBUF, ``contract`` its metadata as one text."""

    data_format: str
    text: str
    references: tuple[SubjectReference, ...] = ()
    contract: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The part of a list to return: live entries, with or without soft-deleted ones, or only those; ``limit`` None: all."""

    deleted: bool = False
    deleted_only: bool = False
    offset: int = 0
    limit: int | None = None

    @property
    def window(self) -> slice:
        """Return this part of the whole list."""
        return slice(self.offset, None if self.limit is None else self.offset + self.limit)

    def shows(self, head: VersionHead) -> bool:
        """Return whether the version belongs to the list."""
        return head.deleted is not None if self.deleted_only else self.deleted or head.deleted is None


class Subjects:
    """Subjects by :class:`SubjectName`. Refused versions (FAILURE), which Glue's clients see, are hidden."""

    def __init__(self, service: RegistryService) -> None:
        self._service = service
        self.configs = SubjectConfigs(service)

    def list(self, prefix: SubjectPrefix, listing: Listing) -> Sequence[SubjectName]:
        """Return the subjects whose names begin with ``prefix``, by context and name."""
        names = (subject for key in self.keys(prefix, listing) if (subject := named_subject(key)) is not None)
        return list(islice(filter(prefix.matches, names), listing.window.start, listing.window.stop))

    def versions(self, subject: SubjectName, listing: Listing) -> Sequence[int]:
        """Return the version numbers, ascending; :class:`SubjectNotFound` if there are none."""
        heads = self._service.versions.heads(subject.key, deleted=listing.deleted or listing.deleted_only)
        shown = [head.number for head in heads if listing.shows(head)]
        if not shown:
            raise SubjectNotFound(subject)
        return shown[listing.window]

    def live(self, subject: SubjectName) -> frozenset[int]:
        """Return the numbers of the versions that are not soft-deleted."""
        return frozenset(head.number for head in self._service.versions.heads(subject.key))

    def version(self, subject: SubjectName, number: int | None, *, deleted: bool = False) -> Version:
        """Return a version, None being the latest; :class:`SubjectNotFound`, :class:`SubjectVersionNotFound`."""
        key = subject.key
        if number is None and deleted:
            heads = self._service.versions.heads(key, deleted=True)
            number = heads[-1].number if heads else None
        try:
            found = self._service.versions.get_numbered(key, number, deleted=deleted)
        except (SchemaNotFound, VersionNotFound):
            found = None
        if found is None or found.status != AVAILABLE:
            if number is None or not self._service.versions.heads(key, deleted=deleted):
                raise SubjectNotFound(subject)
            raise SubjectVersionNotFound(subject, number)
        return found

    def register(
        self, subject: SubjectName, wanted: SubjectSchema, *, schema_id: int | None = None, number: int | None = None
    ) -> Version:
        """Register a schema and return its version, new or existing.

        ``schema_id`` and ``number`` are for imports. Raises :class:`Incompatible`, with nothing written,
        :class:`~penstock.schema.errors.InvalidSchema`, :class:`NotPermitted` if the mode forbids it,
        :class:`IdInUse`, :class:`~penstock.registry.errors.SchemaIdDiffers`,
        :class:`~penstock.registry.errors.NumberTaken`. A schema without text has the latest version's, with other metadata.
        """
        mode, config = self.configs.prevailing(subject)
        try:
            self._check_mode(subject, mode, schema_id)
        except NotPermitted:
            known = self._known(subject, wanted, schema_id, number)
            if known is None:
                raise
            return known
        if not wanted.text:
            wanted = self._latest(subject, wanted, importing=schema_id is not None)
        try:
            return self._register(subject, wanted, config, schema_id, number)
        except SchemaIdDiffers:
            raise
        except SchemaIdTaken as error:
            raise IdInUse(error.schema_id, subject.context) from None

    def _register(
        self, subject: SubjectName, wanted: SubjectSchema, config: SubjectConfig, schema_id: int | None, number: int | None
    ) -> Version:
        key, importing = subject.key, schema_id is not None
        references = self._references(subject, wanted)
        wanted = self._as_source(wanted, references)
        schema = self._schema(key)
        if number is not None and not importing:
            self._check_next(subject, schema, number)
            number = None
        if schema is None:
            contract = wanted.contract
            if not importing:
                contract = config.terms.contract(contract)
                self._check_first(subject, wanted, references, contract, config)
            new = NewSchema(
                name=key.name,
                registry=key.registry,
                data_format=wanted.data_format,
                compatibility=None,
                definition=wanted.text,
                references=references,
                schema_id=schema_id,
                number=number,
                contract=contract,
            )
            first = self._create(new)
            if first is not None:
                return first
            schema = self._service.schemas.get(key)
        mismatch = self._mismatch(schema, wanted)
        if mismatch is not None:
            raise Incompatible(subject, mismatch, level=level_name(mismatch.mode))
        try:
            return self._service.versions.register(
                Registration(
                    key=key,
                    definition=wanted.text,
                    references=references,
                    rules=config.rules,
                    keep_refused=False,
                    schema_id=schema_id,
                    number=number,
                    checked=not importing,
                    contract=wanted.contract,
                    terms=config.terms,
                )
            )
        except IncompatibleSchema as error:
            raise Incompatible(subject, error.verdict, level=level_name(error.verdict.mode)) from None

    def lookup(self, subject: SubjectName, wanted: SubjectSchema, *, deleted: bool = False) -> Version:
        """Return the version that has this schema; :class:`SubjectNotFound`, :class:`SchemaTextNotFound`."""
        key = subject.key
        schema = self._schema(key)
        found: Version | None = None
        if wanted.text and schema is not None and schema.data_format == wanted.data_format:
            references = self._references(subject, wanted, deleted=True)
            found = self._find(key, wanted, references, deleted=deleted, terms=NO_TERMS)
            if found is None:
                terms = self.configs.prevailing(subject)[1].terms
                found = self._find(key, wanted, references, deleted=deleted, terms=terms) if terms.set_metadata else None
        if found is None or found.status != AVAILABLE:
            if not self._service.versions.heads(key, deleted=deleted):
                raise SubjectNotFound(subject)
            raise SchemaTextNotFound
        return found

    def latest_with(self, subject: SubjectName, properties: Mapping[str, str], *, deleted: bool = False) -> Version:
        """Return the latest version with these properties; :class:`SubjectNotFound`, :class:`SchemaTextNotFound`."""
        heads = self._service.versions.heads(subject.key, deleted=deleted)
        if not heads:
            raise SubjectNotFound(subject)
        for head in reversed(heads):
            version = self._service.versions.get(head.id)
            said = json.loads(version.contract or "{}").get("properties", {})
            if properties.items() <= said.items():
                return version
        raise SchemaTextNotFound

    def delete(self, subject: SubjectName, *, permanent: bool) -> Sequence[int]:
        """Delete all versions, and if permanently also the subject's configuration and mode; return the numbers.

        Raises :class:`SubjectNotFound`, :class:`SubjectSoftDeleted`, :class:`SubjectNotSoftDeleted`,
        :class:`ReferenceExists`, :class:`NotPermitted`.
        """
        self.configs.check_writable(subject)
        step = self._service.deletion.purge_all if permanent else self._service.deletion.soft_all
        try:
            numbers = step(subject.key)
        except SchemaNotFound:
            raise SubjectNotFound(subject) from None
        except SoftDeleted:
            raise SubjectSoftDeleted(subject) from None
        except NotSoftDeleted:
            raise SubjectNotSoftDeleted(subject) from None
        except VersionReferenced as error:
            raise ReferenceExists(subject, None, str(error)) from error
        if permanent:
            self.configs.forget(subject)
        return numbers

    def delete_version(self, subject: SubjectName, number: int | None, *, permanent: bool) -> int:
        """Delete a version, None being the latest; return its number.

        Raises :class:`SubjectNotFound`, :class:`SubjectVersionNotFound`, :class:`VersionSoftDeleted`,
        :class:`VersionNotSoftDeleted`, :class:`ReferenceExists`, :class:`NotPermitted`.
        """
        self.configs.check_writable(subject)
        chosen = self.version(subject, number, deleted=permanent or number is not None).number
        try:
            if not permanent:
                self._service.deletion.soft(subject.key, chosen)
                return chosen
            self._service.deletion.purge(subject.key, chosen)
            if not self._service.versions.heads(subject.key, deleted=True):
                # With its last version a subject loses its config, as if it were deleted as a whole.
                self.configs.forget(subject)
        except (SchemaNotFound, VersionNotFound):
            raise SubjectVersionNotFound(subject, chosen) from None
        except SoftDeleted:
            raise VersionSoftDeleted(subject, chosen) from None
        except NotSoftDeleted:
            raise VersionNotSoftDeleted(subject, chosen) from None
        except VersionReferenced as error:
            raise ReferenceExists(subject, chosen, str(error)) from error
        return chosen

    def referenced_by(self, subject: SubjectName, number: int | None, listing: Listing) -> Sequence[int]:
        """Return the ids of the schemas that refer to a version, ascending."""
        version = self.version(subject, number, deleted=True)
        found = {head.schema_id for head in self._service.versions.referencing(version) if listing.shows(head)}
        return sorted(found)[listing.window]

    def test(self, subject: SubjectName, wanted: SubjectSchema, against: int | str | None = None) -> CompatibilityVerdict:
        """Check a schema as its registration would: against one version, ``latest``, or (None) those that the level selects.

        A subject without versions is compatible with everything. Raises :class:`SubjectVersionNotFound`,
        :class:`~penstock.schema.errors.InvalidSchema`.
        """
        if not wanted.text:
            raise EmptySchema
        key = subject.key
        references = self._references(subject, wanted)
        schema = self._schema(key)
        _, config = self.configs.prevailing(subject)
        if schema is None or schema.latest is None:
            if isinstance(against, int):
                raise SubjectVersionNotFound(subject, against)
            parsed = self._service.versions.parse(wanted.data_format, wanted.text, references)
            conflicts = config.terms.conflicts(parsed, config.terms.contract(wanted.contract), None)
            return CompatibilityVerdict(mode=CompatibilityMode.NONE, conflicts=conflicts)
        mismatch = self._mismatch(schema, wanted)
        if mismatch is not None:
            return mismatch
        numbers: list[int] | None = None
        if against is not None:
            numbers = [schema.latest if against == LATEST else self.version(subject, int(against)).number]
        registration = Registration(
            key=key,
            definition=wanted.text,
            references=references,
            rules=config.rules,
            contract=wanted.contract,
            terms=config.terms,
        )
        return self._service.versions.check_compatibility(registration, against=numbers)

    def references_of(self, version: Version) -> Sequence[SubjectReference]:
        """The references of a version; subjects are named so that they are found from its context and the default one."""
        found: list[SubjectReference] = []
        for reference in version.references:
            subject = subject_of(reference.key)
            seen_from = version.key.registry if reference.registry == DEFAULT_REGISTRY else DEFAULT_REGISTRY
            name = subject.seen_from(seen_from)
            found.append(SubjectReference(name=reference.name, subject=name, version=reference.number))
        return found

    def keys(self, prefix: SubjectPrefix, listing: Listing) -> Iterator[SchemaKey]:
        """Schemas whose names may begin with ``prefix``, by context and name, without regard to the listing's window."""
        after: SchemaKey | None = None
        while True:
            keys = self._service.schemas.subjects(
                prefix.registry,
                prefix=prefix.glue_prefix,
                live=not listing.deleted_only,
                deleted=listing.deleted or listing.deleted_only,
                after=after,
                count=_PAGE,
            )
            yield from keys
            if len(keys) < _PAGE:
                return
            after = keys[-1]

    def _check_mode(self, subject: SubjectName, mode: str, schema_id: int | None) -> None:
        """:class:`NotPermitted` unless the mode takes a schema with, or without, an id."""
        self.configs.check_writable(subject, mode)
        what = f"Subject {subject} in context :{subject.context}: is not in"
        if schema_id is not None and mode != IMPORT:
            raise NotPermitted(f"{what} import mode", remedy="PUT /mode/SUBJECT with IMPORT first, or give no id.")
        if schema_id is None and mode == IMPORT:
            raise NotPermitted(
                f"{what} read-write mode",
                remedy="It is in import mode: give the schema's id, or PUT /mode/SUBJECT with READWRITE.",
            )
        if schema_id is not None and not 1 <= schema_id <= MAX_SCHEMA_ID:
            raise NotPermitted(f"The id {schema_id} is not from 1 to {MAX_SCHEMA_ID}.")

    def _known(
        self, subject: SubjectName, wanted: SubjectSchema, schema_id: int | None, number: int | None
    ) -> Version | None:
        """The version there is of a schema, which producers that register at each start go on with in every mode."""
        try:
            found = self.lookup(subject, wanted)
        except (SubjectNotFound, SchemaTextNotFound):
            return None
        return found if schema_id in (None, found.schema_id) and number is None else None

    def _find(
        self, key: SchemaKey, wanted: SubjectSchema, references: Sequence[Reference], *, deleted: bool, terms: Terms
    ) -> Version | None:
        with contextlib.suppress(VersionNotFound):
            return self._service.versions.find(
                key,
                wanted.text,
                references=references,
                deleted=deleted,
                contract=wanted.contract,
                terms=terms,
                legacy=True,
            )
        return None

    def _latest(self, subject: SubjectName, wanted: SubjectSchema, *, importing: bool) -> SubjectSchema:
        """The latest version's text and references with the metadata that is wanted; :class:`EmptySchema`."""
        if importing:
            raise EmptySchema
        try:
            latest = self.version(subject, None)
        except SubjectNotFound:
            raise EmptySchema from None
        references = tuple(
            SubjectReference(
                name=reference.name,
                subject=f":{subject_of(reference.key).context}:{subject_of(reference.key).name}",
                version=reference.number,
            )
            for reference in latest.references
        )
        return replace(wanted, data_format=latest.data_format, text=latest.definition, references=references)

    def _check_first(
        self,
        subject: SubjectName,
        wanted: SubjectSchema,
        references: Sequence[Reference],
        contract: str | None,
        config: SubjectConfig,
    ) -> None:
        """:class:`Incompatible` where a subject's first version breaks what its configuration asks for."""
        if not config.terms.reserves:
            return
        parsed = self._service.versions.parse(wanted.data_format, wanted.text, references)
        conflicts = config.terms.conflicts(parsed, contract, None)
        if conflicts:
            level = self.configs.config(subject, inherited=True).level or CompatibilityMode.NONE.value
            verdict = CompatibilityVerdict(mode=CompatibilityMode.NONE, conflicts=conflicts)
            raise Incompatible(subject, verdict, level=level)

    def _as_source(self, wanted: SubjectSchema, references: Sequence[Reference]) -> SubjectSchema:
        """Python's and Go's clients send Protobuf as a descriptor's bytes; kept is the source that everybody reads."""
        if wanted.data_format != "PROTOBUF" or "{" in wanted.text:
            return wanted
        return replace(wanted, text=self._service.versions.parse("PROTOBUF", wanted.text, references).text)

    def _check_next(self, subject: SubjectName, schema: Schema | None, number: int) -> None:
        expected = 1 if schema is None else schema.next_number
        if number != expected:
            raise NotNextVersion(subject, number, expected)

    def _schema(self, key: SchemaKey) -> Schema | None:
        try:
            return self._service.schemas.get(key)
        except SchemaNotFound:
            return None

    def _create(self, new: NewSchema) -> Version | None:
        """The first version; None where another caller made the schema."""
        assert new.registry is not None
        try:
            try:
                return self._service.schemas.create(new)[1]
            except RegistryNotFound:
                self._service.registries.ensure(new.registry, "Made for a context of Confluent's clients.")
                return self._service.schemas.create(new)[1]
        except SchemaExists:
            return None

    def _mismatch(self, schema: Schema, wanted: SubjectSchema) -> CompatibilityVerdict | None:
        """The verdict on a schema of another format than the subject's, which holds one format under every level."""
        if schema.data_format == wanted.data_format:
            return None
        conflict = Incompatibility(
            path="/",
            rule="SCHEMA_TYPE",
            reader=wanted.data_format,
            writer=schema.data_format,
            message=f"the subject holds {schema.data_format} schemas, this one is {wanted.data_format}; register it under "
            "another subject.",
        )
        return CompatibilityVerdict(
            mode=self._service.schemas.effective(schema),
            conflicts=(Conflict(version=schema.latest or 1, direction="BACKWARD", incompatibility=conflict),),
        )

    def _references(self, subject: SubjectName, wanted: SubjectSchema, *, deleted: bool = False) -> tuple[Reference, ...]:
        found: list[Reference] = []
        context = subject.context
        for reference in wanted.references:
            name = parse_subject(reference.subject, context=context)
            number = reference.version
            if number == -1:
                try:
                    number = self.version(name, None, deleted=deleted).number
                except SubjectNotFound as error:
                    raise InvalidSchema(
                        f"The reference '{reference.name[:200]}' names a subject without versions: {error.message}"
                    ) from None
            key = name.key
            found.append(Reference(name=reference.name, registry=key.registry, schema=key.name, number=number))
        return tuple(found)


def version_number(text: str) -> int | None:
    """A version as callers write it, None for ``latest`` and -1; :class:`BadVersion`."""
    if text in {LATEST, "-1"}:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 10) or not 1 <= int(text) <= MAX_SCHEMA_ID:
        raise BadVersion(text)
    return int(text)
