"""A schema version as clients and serdes pass it around."""

from dataclasses import dataclass
from uuid import UUID

__all__ = ["SchemaVersion"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaVersion:
    """One immutable version of a registered schema.

    ``data_format`` is AVRO, JSON or PROTOBUF; ``number`` counts from 1; ``status`` is Glue's AVAILABLE, PENDING, FAILURE
    or DELETING. ``schema_name`` is the last segment of the schema's ARN.
    """

    id: UUID
    schema_arn: str
    registry_name: str
    schema_name: str
    number: int
    definition: str
    data_format: str
    status: str = "AVAILABLE"
