"""What the serdes need of a registry. :class:`penstock.client.registry.RegistryClient` has it; tests bring a fake."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

from penstock.schema.version import SchemaVersion

if TYPE_CHECKING:
    from types_boto3_glue.literals import CompatibilityType, DataFormatType

__all__ = ["Registrar", "SchemaSource"]


class SchemaSource(Protocol):
    """Reads schema versions. Both raise :class:`penstock.errors.NotFound` for what is not there."""

    def version(self, version_id: UUID) -> SchemaVersion:
        """The version with this id; expected to be cached."""
        ...

    def latest(self, registry: str, schema: str) -> SchemaVersion:
        """The highest AVAILABLE version of a schema."""
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
