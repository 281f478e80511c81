"""Subjects, Confluent's form of schemas: look up, list, read, delete."""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from penstock.registry.errors import (
    NotSoftDeleted,
    SchemaNotFound,
    SoftDeleted,
    VersionNotFound,
    VersionReferenced,
)
from penstock.registry.identity import DEFAULT_REGISTRY
from penstock.registry.model import AVAILABLE, Reference, SchemaKey, Version
from penstock.registry.policies.contracts import NO_CONTRACT_RULES, ContractRules
from penstock.registry.service import RegistryService
from penstock.registry.subjects.configs import SubjectConfigs
from penstock.registry.subjects.errors import (
    ReferenceExists,
    SchemaTextNotFound,
    SubjectNotFound,
    SubjectNotSoftDeleted,
    SubjectSoftDeleted,
    SubjectVersionNotFound,
    VersionNotSoftDeleted,
    VersionSoftDeleted,
)
from penstock.registry.subjects.model import Listing, SubjectReference, SubjectSchema
from penstock.registry.subjects.names import (
    SubjectName,
    SubjectPrefix,
    named_subject,
    parse_subject,
    subject_of,
)
from penstock.schema.errors import InvalidSchema

__all__ = ["Subjects"]

_PAGE = 1_000


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
            version = self._service.versions.get_numbered(key, number, deleted=deleted)
        except (SchemaNotFound, VersionNotFound):
            version = None
        if version is None or version.status != AVAILABLE:
            if number is None or not self._service.versions.heads(key, deleted=deleted):
                raise SubjectNotFound(subject)
            raise SubjectVersionNotFound(subject, number)
        return version

    def lookup(self, subject: SubjectName, subject_schema: SubjectSchema, *, deleted: bool = False) -> Version:
        """Return the version that has this schema; :class:`SubjectNotFound`, :class:`SchemaTextNotFound`."""
        key = subject.key
        schema = self._service.schemas.find(key)
        version: Version | None = None
        if subject_schema.text and schema is not None and schema.data_format == subject_schema.data_format:
            references = self.resolve_references(subject, subject_schema, deleted=True)
            version = self._find(key, subject_schema, references, deleted=deleted, contracts=NO_CONTRACT_RULES)
            if version is None:
                contracts = self.configs.prevailing(subject)[1].contracts
                version = (
                    self._find(key, subject_schema, references, deleted=deleted, contracts=contracts)
                    if contracts.set_metadata
                    else None
                )
        if version is None or version.status != AVAILABLE:
            if not self._service.versions.heads(key, deleted=deleted):
                raise SubjectNotFound(subject)
            raise SchemaTextNotFound
        return version

    def latest_with(self, subject: SubjectName, properties: Mapping[str, str], *, deleted: bool = False) -> Version:
        """Return the latest version with these properties; :class:`SubjectNotFound`, :class:`SchemaTextNotFound`."""
        heads = self._service.versions.heads(subject.key, deleted=deleted)
        if not heads:
            raise SubjectNotFound(subject)
        for head in reversed(heads):
            version = self._service.versions.get(head.id)
            in_version = json.loads(version.contract or "{}").get("properties", {})
            if properties.items() <= in_version.items():
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
        ids = {head.schema_id for head in self._service.versions.referencing(version) if listing.shows(head)}
        return sorted(ids)[listing.window]

    def references_of(self, version: Version) -> Sequence[SubjectReference]:
        """The references of a version; subjects are named so that they are found from its context and the default one."""
        references: list[SubjectReference] = []
        for reference in version.references:
            subject = subject_of(reference.key)
            seen_from = version.key.registry if reference.registry == DEFAULT_REGISTRY else DEFAULT_REGISTRY
            name = subject.seen_from(seen_from)
            references.append(SubjectReference(name=reference.name, subject=name, version=reference.number))
        return references

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

    def _find(
        self,
        key: SchemaKey,
        subject_schema: SubjectSchema,
        references: Sequence[Reference],
        *,
        deleted: bool,
        contracts: ContractRules,
    ) -> Version | None:
        with contextlib.suppress(VersionNotFound):
            return self._service.versions.find(
                key,
                subject_schema.text,
                references=references,
                deleted=deleted,
                contract=subject_schema.contract,
                contracts=contracts,
                legacy=True,
            )
        return None

    def resolve_references(
        self, subject: SubjectName, referring: SubjectSchema, *, deleted: bool = False
    ) -> tuple[Reference, ...]:
        references: list[Reference] = []
        context = subject.context
        for reference in referring.references:
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
            references.append(Reference(name=reference.name, registry=key.registry, schema=key.name, number=number))
        return tuple(references)
