"""What the serdes need of a registry. The clients in :mod:`penstock.client` have it; tests bring fakes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

from penstock.schema.version import SchemaText, SchemaVersion

if TYPE_CHECKING:
    from types_boto3_glue.literals import CompatibilityType, DataFormatType

__all__ = ["ConfluentRegistrar", "ConfluentSource", "Registrar", "SchemaDeriver", "SchemaSource"]


class SchemaSource(Protocol):
    """Reads schema versions. Both raise :class:`penstock.errors.NotFound` for what is not there."""

    def version(self, version_id: UUID) -> SchemaVersion:
        """The version with this id; expected to be cached."""
        ...

    def latest(self, registry: str, schema: str) -> SchemaVersion:
        """The highest AVAILABLE version of a schema."""
        ...


class ConfluentSource(Protocol):
    """Reads definitions by Confluent's ids. :class:`penstock.client.confluent.ConfluentClient` has it."""

    def text(self, schema_id: int | UUID) -> SchemaText:
        """The definition with this id or GUID, expected to be cached; :class:`penstock.errors.NotFound`."""
        ...


class ConfluentRegistrar(ConfluentSource, Protocol):
    """Also finds and registers. Both return the id and, where the registry has such, the GUID."""

    def find(self, subject: str, definition: str, data_format: str = "AVRO") -> tuple[int, UUID | None]:
        """The ids of a definition under a subject; :class:`penstock.errors.NotFound`."""
        ...

    def register(self, subject: str, definition: str, data_format: str = "AVRO") -> tuple[int, UUID | None]:
        """The ids of a definition under a subject, registered first where it is new."""
        ...


class Registrar(SchemaSource, Protocol):
    """Also registers. The first three return a version's id and status, and raise the registry's errors in its words."""

    def find_version(self, registry: str, schema: str, definition: str) -> tuple[UUID, str]:
        """GetSchemaByDefinition."""
        ...

    def register_version(self, registry: str, schema: str, definition: str) -> tuple[UUID, str]:
        """RegisterSchemaVersion."""
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
        """CreateSchema."""
        ...

    def version_status(self, version_id: UUID) -> str:
        """The status that GetSchemaVersion gives now."""
        ...

    def put_metadata(self, version_id: UUID, key: str, value: str) -> None:
        """PutSchemaVersionMetadata."""
        ...


class SchemaDeriver(Protocol):
    """Says with which definition a value is written, so that producers need none of their own. Safe for threads.

    It is called for every value, with the names of the registry and of the schema; what it answers is looked up, and
    registered where the serialiser registers. Equal texts are looked up once: one that answers a new text for every value
    makes a version for every value. Where it has an attribute ``covers_values`` that is true, what a value has beyond the
    definition that was answered for it (null in a field that is not known yet, say) is left out in silence. An attribute
    ``data_format`` says what it derives, where that is one format. One that asks a registry may have a method ``known`` of
    the same arguments, which asks nobody and answers ``None`` where it does not know: asyncio's serialiser then stays in
    its loop for what is known.
    """

    def __call__(self, value: Any, registry: str, schema: str) -> "str | Mapping[str, Any] | list[Any] | None":
        """The definition, in the serialiser's format; ``None`` for the schema's latest version."""
        ...
