"""Register and test schemas under Confluent's subjects, by their modes and configurations."""

from collections.abc import Sequence
from dataclasses import replace

from penstock.registry.errors import IncompatibleSchema, RegistryNotFound, SchemaExists, SchemaIdDiffers, SchemaIdTaken
from penstock.registry.model import IMPORT, MAX_SCHEMA_ID, Reference, Schema, Version
from penstock.registry.schemas import NewSchema
from penstock.registry.service import RegistryService
from penstock.registry.subjects.configs import SubjectConfig, level_name
from penstock.registry.subjects.errors import (
    EmptySchema,
    IdInUse,
    Incompatible,
    NotNextVersion,
    NotPermitted,
    SchemaTextNotFound,
    SubjectNotFound,
    SubjectVersionNotFound,
)
from penstock.registry.subjects.model import LATEST, SubjectReference, SubjectSchema
from penstock.registry.subjects.names import SubjectName, subject_of
from penstock.registry.subjects.service import Subjects
from penstock.registry.versions.registration import Registration
from penstock.schema.compatibility import CompatibilityMode, CompatibilityVerdict, Conflict
from penstock.schema.incompatibility import Incompatibility

__all__ = ["SubjectRegistration"]


class SubjectRegistration:
    """Registers schemas under subjects, and tests whether it could."""

    def __init__(self, service: RegistryService, subjects: Subjects) -> None:
        self._service = service
        self._subjects = subjects
        self._configs = subjects.configs

    def register(
        self, subject: SubjectName, new: SubjectSchema, *, schema_id: int | None = None, number: int | None = None
    ) -> Version:
        """Register a schema and return its version, new or existing.

        ``schema_id`` and ``number`` are for imports. Raises :class:`Incompatible`, with nothing written,
        :class:`~penstock.schema.errors.InvalidSchema`, :class:`NotPermitted` if the mode forbids it,
        :class:`IdInUse`, :class:`~penstock.registry.errors.SchemaIdDiffers`,
        :class:`~penstock.registry.errors.NumberTaken`. A schema without text has the latest version's, with other metadata.
        """
        mode, config = self._configs.prevailing(subject)
        try:
            self._check_mode(subject, mode, schema_id)
        except NotPermitted:
            existing = self._existing(subject, new, schema_id, number)
            if existing is None:
                raise
            return existing
        if not new.text:
            new = self._latest(subject, new, importing=schema_id is not None)
        try:
            return self._register(subject, new, config, schema_id, number)
        except SchemaIdDiffers:
            raise
        except SchemaIdTaken as error:
            raise IdInUse(error.schema_id, subject.context) from None

    def test(self, subject: SubjectName, new: SubjectSchema, against: int | str | None = None) -> CompatibilityVerdict:
        """Check a schema as its registration would: against one version, ``latest``, or (None) those that the level selects.

        A subject without versions is compatible with everything. Raises :class:`SubjectVersionNotFound`,
        :class:`~penstock.schema.errors.InvalidSchema`.
        """
        if not new.text:
            raise EmptySchema
        key = subject.key
        references = self._subjects.resolve_references(subject, new)
        schema = self._service.schemas.find(key)
        _, config = self._configs.prevailing(subject)
        if schema is None or schema.latest is None:
            if isinstance(against, int):
                raise SubjectVersionNotFound(subject, against)
            parsed = self._service.versions.parse(new.data_format, new.text, references)
            conflicts = config.contracts.conflicts(parsed, config.contracts.contract(new.contract), None)
            return CompatibilityVerdict(mode=CompatibilityMode.NONE, conflicts=conflicts)
        mismatch = self._mismatch(schema, new)
        if mismatch is not None:
            return mismatch
        numbers: list[int] | None = None
        if against is not None:
            numbers = [schema.latest if against == LATEST else self._subjects.version(subject, int(against)).number]
        registration = Registration(
            key=key,
            definition=new.text,
            references=references,
            rules=config.rules,
            contract=new.contract,
            contracts=config.contracts,
        )
        return self._service.versions.check_compatibility(registration, against=numbers)

    def _register(
        self, subject: SubjectName, new: SubjectSchema, config: SubjectConfig, schema_id: int | None, number: int | None
    ) -> Version:
        key, importing = subject.key, schema_id is not None
        references = self._subjects.resolve_references(subject, new)
        new = self._as_source(new, references)
        schema = self._service.schemas.find(key)
        if number is not None and not importing:
            self._check_next(subject, schema, number)
            number = None
        if schema is None:
            contract = new.contract
            if not importing:
                contract = config.contracts.contract(contract)
                self._check_first(subject, new, references, contract, config)
            new_schema = NewSchema(
                name=key.name,
                registry=key.registry,
                data_format=new.data_format,
                compatibility=None,
                definition=new.text,
                references=references,
                schema_id=schema_id,
                number=number,
                contract=contract,
            )
            first = self._create(new_schema)
            if first is not None:
                return first
            schema = self._service.schemas.get(key)
        mismatch = self._mismatch(schema, new)
        if mismatch is not None:
            raise Incompatible(subject, mismatch, level=level_name(mismatch.mode))
        try:
            return self._service.versions.register(
                Registration(
                    key=key,
                    definition=new.text,
                    references=references,
                    rules=config.rules,
                    keep_refused=False,
                    schema_id=schema_id,
                    number=number,
                    checked=not importing,
                    contract=new.contract,
                    contracts=config.contracts,
                )
            )
        except IncompatibleSchema as error:
            raise Incompatible(subject, error.verdict, level=level_name(error.verdict.mode)) from None

    def _check_mode(self, subject: SubjectName, mode: str, schema_id: int | None) -> None:
        """:class:`NotPermitted` unless the mode allows a schema with, or without, an id."""
        self._configs.check_writable(subject, mode)
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

    def _existing(
        self, subject: SubjectName, new: SubjectSchema, schema_id: int | None, number: int | None
    ) -> Version | None:
        """Return the schema's version if it exists, in every mode: many producers register at each start."""
        try:
            version = self._subjects.lookup(subject, new)
        except (SubjectNotFound, SchemaTextNotFound):
            return None
        return version if schema_id in (None, version.schema_id) and number is None else None

    def _latest(self, subject: SubjectName, new: SubjectSchema, *, importing: bool) -> SubjectSchema:
        """Return the latest version's text and references with the new metadata; :class:`EmptySchema`."""
        if importing:
            raise EmptySchema
        try:
            latest = self._subjects.version(subject, None)
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
        return replace(new, data_format=latest.data_format, text=latest.definition, references=references)

    def _check_first(
        self,
        subject: SubjectName,
        new: SubjectSchema,
        references: Sequence[Reference],
        contract: str | None,
        config: SubjectConfig,
    ) -> None:
        """:class:`Incompatible` if a subject's first version breaks the rules of its configuration."""
        if not config.contracts.reserves:
            return
        parsed = self._service.versions.parse(new.data_format, new.text, references)
        conflicts = config.contracts.conflicts(parsed, contract, None)
        if conflicts:
            level = self._configs.config(subject, inherited=True).level or CompatibilityMode.NONE.value
            verdict = CompatibilityVerdict(mode=CompatibilityMode.NONE, conflicts=conflicts)
            raise Incompatible(subject, verdict, level=level)

    def _as_source(self, new: SubjectSchema, references: Sequence[Reference]) -> SubjectSchema:
        """Return the schema as .proto source, which every client reads; Python's and Go's send a descriptor's bytes."""
        if new.data_format != "PROTOBUF" or "{" in new.text:
            return new
        return replace(new, text=self._service.versions.parse("PROTOBUF", new.text, references).text)

    def _check_next(self, subject: SubjectName, schema: Schema | None, number: int) -> None:
        expected = 1 if schema is None else schema.next_number
        if number != expected:
            raise NotNextVersion(subject, number, expected)

    def _create(self, new: NewSchema) -> Version | None:
        """Create the schema and return its first version; None if another caller was first."""
        assert new.registry is not None
        try:
            try:
                return self._service.schemas.create(new)[1]
            except RegistryNotFound:
                self._service.registries.ensure(new.registry, "Made for a context of Confluent's clients.")
                return self._service.schemas.create(new)[1]
        except SchemaExists:
            return None

    def _mismatch(self, schema: Schema, new: SubjectSchema) -> CompatibilityVerdict | None:
        """Return the verdict on a schema of another format than the subject's: a subject has one format at every level."""
        if schema.data_format == new.data_format:
            return None
        conflict = Incompatibility(
            path="/",
            rule="SCHEMA_TYPE",
            reader=new.data_format,
            writer=schema.data_format,
            message=f"the subject holds {schema.data_format} schemas, this one is {new.data_format}; register it under "
            "another subject.",
        )
        return CompatibilityVerdict(
            mode=self._service.schemas.effective(schema),
            conflicts=(Conflict(version=schema.latest or 1, direction="BACKWARD", incompatibility=conflict),),
        )
