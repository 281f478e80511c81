"""Schema versions and definitions as clients and serdes exchange them."""

from dataclasses import dataclass
from uuid import UUID

from penstock.schema.format import ReferencedText

__all__ = ["SchemaText", "SchemaVersion"]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaText:
    """A definition with all definitions that it refers to, each after those it refers to itself, as in Confluent's API."""

    definition: str
    data_format: str
    references: tuple[ReferencedText, ...] = ()
