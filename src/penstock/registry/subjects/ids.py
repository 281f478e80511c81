"""Schemas by the ids in records: Confluent's number, which belongs to a context, and Glue's UUID."""

from collections.abc import Iterator, Sequence
from itertools import islice
from uuid import UUID

from penstock.registry.errors import RegistryNotFound, VersionNotFound
from penstock.registry.identity import DEFAULT_REGISTRY
from penstock.registry.model import AVAILABLE, MAX_SCHEMA_ID, SchemaKey, Version, VersionHead
from penstock.registry.service import RegistryService
from penstock.registry.subjects.configs import SubjectConfigs
from penstock.registry.subjects.errors import ContextNotEmpty, InvalidSubject, SchemaTextNotFound
from penstock.registry.subjects.model import Listing
from penstock.registry.subjects.names import SubjectName, SubjectPrefix, context_of, subject_of

__all__ = ["SubjectIds"]

_PAGE = 1_000


class SubjectIds:
    """Look up schemas by id and by UUID; list all schemas and contexts.

    A :class:`SubjectName` gives the context of an id; its name, unless empty, is the subject that must have it. Consumers
    name the subject of their topic, which producers may have registered elsewhere: if a subject of the default context
    lacks the id, the other contexts are searched, and if none of them has it, it is the id in the default context.
    Source: KafkaSchemaRegistry.getSchemaKeyUsingContexts of Confluent's server.
    """

    def __init__(self, service: RegistryService) -> None:
        self._service = service
        self._configs = SubjectConfigs(service)

    def resolve_alias(self, within: SubjectName) -> SubjectName:
        """Return the subject that ``within`` is an alias of, or itself."""
        return self._configs.resolve_alias(within)

    def schema(self, schema_id: int, within: SubjectName) -> Version:
        """Return a version with this id, also a soft-deleted one; :class:`SchemaTextNotFound`."""
        if within.name:
            heads = self._versions_with_id(schema_id, within)
            holding = next((head for head in heads if head.key.name == within.key.name), heads[0])
            return self._service.versions.get(holding.id)
        try:
            return self._service.versions.with_schema_id(_registry(within), _valid(schema_id))
        except VersionNotFound:
            raise SchemaTextNotFound(schema_id) from None

    def highest(self, version: Version) -> int:
        """Return the highest id that was ever assigned in the context of ``version``."""
        return self._service.versions.highest_schema_id(version.key.registry)

    def versions(self, schema_id: int, within: SubjectName, listing: Listing) -> Sequence[VersionHead]:
        """Return all versions with this id that ``listing`` includes, by subject and number; :class:`SchemaTextNotFound`."""
        shown = [head for head in self._versions_with_id(schema_id, within) if listing.shows(head)]
        return shown[listing.window]

    def subjects(self, schema_id: int, within: SubjectName, listing: Listing) -> Sequence[SubjectName]:
        """Return the subjects with this id; :class:`SchemaTextNotFound`."""
        keys = dict.fromkeys(head.key for head in self._versions_with_id(schema_id, within) if listing.shows(head))
        return [subject_of(key) for key in keys][listing.window]

    def by_uuid(self, text: str) -> Version:
        """Return the version with this UUID, in any context; :class:`SchemaTextNotFound`."""
        try:
            version = self._service.versions.get(str(UUID(text)))
        except (ValueError, VersionNotFound):
            raise SchemaTextNotFound(text) from None
        if version.status != AVAILABLE:
            raise SchemaTextNotFound(text)
        return version

    def scan(self, prefix: SubjectPrefix, listing: Listing, *, latest_only: bool) -> Sequence[Version]:
        """Return versions by context, subject and number."""
        versions = self._scan(prefix, deleted=listing.deleted)
        chosen = _latest(versions) if latest_only else versions
        return list(islice(chosen, listing.window.start, listing.window.stop))

    def contexts(self) -> Sequence[str]:
        """Return the names of all contexts; the default one, ``.``, is first."""
        names: list[str] = []
        token: str | None = None
        while True:
            page = self._service.registries.list(token=token, size=_PAGE)
            names.extend(context_of(registry.name) for registry in page.items if registry.name != DEFAULT_REGISTRY)
            token = page.next_token
            if token is None:
                return [".", *names]

    def delete_context(self, context: SubjectName) -> None:
        """Delete an empty context; :class:`ContextNotEmpty`, :class:`SchemaTextNotFound` if it does not exist."""
        registry = _registry(context)
        try:
            if self._service.schemas.list(registry, size=1).items:
                raise ContextNotEmpty(
                    f"The specified context '{context.context}' is not empty.",
                    remedy="Delete its subjects first, with permanent=true.",
                )
            self._service.registries.delete(registry)
        except RegistryNotFound:
            raise InvalidSubject(context.context, "there is no such context") from None

    def _versions_with_id(self, schema_id: int, within: SubjectName) -> Sequence[VersionHead]:
        """Return all versions with the id in its context."""
        registry = _registry(within)
        heads = self._service.versions.versions_with_id(registry, _valid(schema_id))
        if within.name and not _holds(heads, within.key):
            if registry != DEFAULT_REGISTRY:
                raise SchemaTextNotFound(schema_id)
            everywhere = self._service.versions.versions_with_id(None, schema_id)
            other = next((head.key.registry for head in everywhere if head.key.name == within.key.name), None)
            if other is not None:
                return [head for head in everywhere if head.key.registry == other]
        if not heads:
            raise SchemaTextNotFound(schema_id)
        return heads

    def _scan(self, prefix: SubjectPrefix, *, deleted: bool) -> Iterator[Version]:
        after: tuple[SchemaKey, int] | None = None
        while True:
            page = self._service.versions.scan(
                prefix.registry, prefix=prefix.glue_prefix, deleted=deleted, after=after, count=_PAGE
            )
            yield from (version for version in page if prefix.matches(subject_of(version.key)))
            if len(page) < _PAGE:
                return
            after = (page[-1].key, page[-1].number)


def _holds(heads: Sequence[VersionHead], key: SchemaKey) -> bool:
    return any(head.key == key for head in heads)


def _latest(versions: Iterator[Version]) -> Iterator[Version]:
    last: Version | None = None
    for version in versions:
        if last is not None and last.key != version.key:
            yield last
        last = version
    if last is not None:
        yield last


def _registry(within: SubjectName) -> str:
    if within.registry is None:
        raise InvalidSubject(str(within), "it holds no schemas")
    return within.registry


def _valid(schema_id: int) -> int:
    if not 1 <= schema_id <= MAX_SCHEMA_ID:
        raise SchemaTextNotFound(schema_id)
    return schema_id
