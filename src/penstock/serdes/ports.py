"""The interfaces that the serdes need from a registry. The clients in :mod:`penstock.client` implement them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable
from uuid import UUID

from penstock.schema.version import SchemaText, SchemaVersion

if TYPE_CHECKING:
    from types_boto3_glue.literals import CompatibilityType, DataFormatType

__all__ = ["ConfluentRegistrar", "ConfluentSource", "Definition", "Registrar", "SchemaDeriver", "SchemaSource"]

Definition = str | Mapping[str, Any] | list[Any]
"""A schema as text, or as parsed JSON."""


class SchemaSource(Protocol):
    """Reads schema versions. Both methods raise :class:`penstock.errors.NotFound` for an unknown version or schema."""

    def version(self, version_id: UUID) -> SchemaVersion:
        """Return the version with this id. Implementations should cache it."""
        ...

    def latest(self, registry: str, schema: str) -> SchemaVersion:
        """Return the highest AVAILABLE version of a schema."""
        ...


class ConfluentSource(Protocol):
    """Reads definitions by Confluent's ids. :class:`penstock.client.confluent.ConfluentClient` implements it."""

    def text(self, schema_id: int | UUID) -> SchemaText:
        """Return the definition with this id or GUID. Raise :class:`penstock.errors.NotFound`. Should be cached."""
        ...


class ConfluentRegistrar(ConfluentSource, Protocol):
    """Also finds and registers definitions. Both methods return the id and, if the registry has GUIDs, the GUID."""

    def find(self, subject: str, definition: str, data_format: str = "AVRO") -> tuple[int, UUID | None]:
        """Return the ids of a definition under a subject. Raise :class:`penstock.errors.NotFound`."""
        ...

    def register(self, subject: str, definition: str, data_format: str = "AVRO") -> tuple[int, UUID | None]:
        """Register a definition under a subject if it is new, and return its ids."""
        ...


class Registrar(SchemaSource, Protocol):
    """Also registers. The first three methods return a version's id and status; errors have the registry's own messages."""

    def find_version(self, registry: str, schema: str, definition: str) -> tuple[UUID, str]:
        """Call GetSchemaByDefinition."""
        ...

    def register_version(self, registry: str, schema: str, definition: str) -> tuple[UUID, str]:
        """Call RegisterSchemaVersion."""
        ...

    def create_schema(
        self,
        registry: str,
        schema: str,
        definition: str,
        *,
        data_format: "DataFormatType" = "AVRO",
        compatibility: "CompatibilityType" = "BACKWARD",
        description: str | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> tuple[UUID, str]:
        """Call CreateSchema."""
        ...

    def version_status(self, version_id: UUID) -> str:
        """Return the status that GetSchemaVersion gives now."""
        ...

    def put_metadata(self, version_id: UUID, key: str, value: str) -> None:
        """Call PutSchemaVersionMetadata."""
        ...


@runtime_checkable
class SchemaDeriver(Protocol):
    """Derives the definition to write a value with, so that producers need no definition of their own. Thread-safe.

    The serialiser calls it for every value, with the names of the registry and of the schema. It looks up the definition,
    and registers it if it is set to register. Equal texts are looked up once; a new text for every value makes a version
    for every value. A plain function of the same arguments is accepted too: then ``data_format`` is None, ``covers_values``
    is false and ``known`` returns None.
    """

    @property
    def data_format(self) -> str | None:
        """The format of its definitions; ``None`` for the serialiser's format."""
        ...

    @property
    def covers_values(self) -> bool:
        """Whether values without a field in the definition may be dropped, because they have no type yet, such as null."""
        ...

    def known(self, value: Any, registry: str, schema: str) -> Definition | None:
        """Return the same as a call without asking a registry, or ``None`` if it has to ask one.

        The asyncio serialiser uses it to write without a thread.
        """
        ...

    def __call__(self, value: Any, registry: str, schema: str) -> Definition | None:
        """Return the definition, in the serialiser's format, or ``None`` for the schema's latest version."""
        ...
