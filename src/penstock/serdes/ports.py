"""What the serdes need of a registry. The clients in :mod:`penstock.client` have it; tests bring fakes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable
from uuid import UUID

from penstock.schema.version import SchemaText, SchemaVersion

if TYPE_CHECKING:
    from types_boto3_glue.literals import CompatibilityType, DataFormatType

__all__ = ["ConfluentRegistrar", "ConfluentSource", "Definition", "Registrar", "SchemaDeriver", "SchemaSource"]

Definition = str | Mapping[str, Any] | list[Any]
"""A schema's text, or the JSON that it is the text of."""


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


@runtime_checkable
class SchemaDeriver(Protocol):
    """Gives the definition that a value is written with, so that producers need none of their own. Safe for threads.

    It is called for every value, with the names of the registry and of the schema. The definition is looked up, and
    registered where the serialiser registers. Equal texts are looked up once: a new text for every value makes a version
    for every value. A plain function of the same arguments serves as well: it has any format, covers no values, and knows
    nothing without being called.
    """

    @property
    def data_format(self) -> str | None:
        """The format of its definitions; ``None`` for that of the serialiser."""
        ...

    @property
    def covers_values(self) -> bool:
        """Whether the part of a value without a field in its definition may be left out: it has no type yet, as null."""
        ...

    def known(self, value: Any, registry: str, schema: str) -> Definition | None:
        """As a call, without asking a registry; ``None`` where it would have to.

        Asyncio's serialiser needs no thread for what is known.
        """
        ...

    def __call__(self, value: Any, registry: str, schema: str) -> Definition | None:
        """The definition, in the serialiser's format; ``None`` for the schema's latest version."""
        ...
