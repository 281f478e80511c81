"""Table columns from a schema, with Hive's types as the Glue catalog spells them; the common part of all formats."""

from dataclasses import dataclass

__all__ = ["MAX_HIVE_DEPTH", "MAX_HIVE_TYPE", "HiveColumn"]

MAX_HIVE_TYPE = 131_072  # ColumnTypeString in the Glue API model
MAX_HIVE_DEPTH = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class HiveColumn:
    """A column: ``name``, Hive ``type`` such as ``array<struct<a:int>>``, ``comment`` from the field's doc."""

    name: str
    type: str
    comment: str | None = None
