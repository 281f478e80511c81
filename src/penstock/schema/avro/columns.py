"""Table columns from an Avro schema.

The mapping is that of Spark's Avro reader, so that catalog, decoded rows and files agree: a union of several types becomes a
struct ``member0, member1, ...`` except int with long (bigint) and float with double (double). Athena does not read
uniontype. Malformed logical types count as their plain type, as Avro requires.
"""

from collections.abc import Sequence
from typing import NoReturn

from penstock.schema.avro.fold import Fold
from penstock.schema.avro.logical import decimal_digits, logical_type
from penstock.schema.avro.model import (
    ArrayType,
    AvroSchema,
    AvroType,
    EnumType,
    FixedType,
    MapType,
    PrimitiveType,
    RecordType,
    UnionType,
    describe,
)
from penstock.schema.columns import HiveColumn, check_depth, hive_column
from penstock.schema.errors import NoColumns
from penstock.types.avro import of_branches, of_primitive
from penstock.types.model import MAX_DEPTH, MAX_PRECISION, STRING, Array, Field, LakeType, Map, Scalar, Struct, decimal

__all__ = ["columns"]


def columns(tree: AvroSchema) -> tuple[HiveColumn, ...]:
    """Return the columns of a schema whose outermost type is a record.

    Raise :class:`~penstock.schema.errors.NoColumns` for other schemas, for types that contain themselves, and for types
    that nest deeper than 64 levels or are longer than a catalog column holds.
    """
    if not isinstance(tree.root, RecordType):
        raise NoColumns(
            f"A table needs a schema whose outermost type is a record, not {describe(tree.root)}.",
            remedy="Wrap the type in a record.",
        )
    types = _LakeTypes(tree).root()
    assert isinstance(types, Struct)
    return tuple(
        hive_column(field.name, column.type, field.doc, path=f"/{field.name}")
        for field, column in zip(tree.root.fields, types, strict=True)
    )


class _LakeTypes(Fold[LakeType]):
    """The lake's types of one schema."""

    max_depth = MAX_DEPTH

    def primitive(self, avro_type: PrimitiveType) -> LakeType:
        return _decimal(avro_type) or of_primitive(avro_type.name, logical_type(avro_type))

    def fixed(self, avro_type: FixedType) -> LakeType:
        return _decimal(avro_type) or Scalar("binary")

    def enum(self, avro_type: EnumType) -> LakeType:  # noqa: ARG002
        return STRING

    def array(self, avro_type: ArrayType, items: LakeType) -> LakeType:  # noqa: ARG002
        return Array(items)

    def map(self, avro_type: MapType, values: LakeType) -> LakeType:  # noqa: ARG002
        return Map(STRING, values)

    def union(self, avro_type: UnionType, branches: Sequence[LakeType]) -> LakeType:
        pairs = zip(avro_type.branches, branches, strict=True)
        return of_branches(
            [(_primitive_name(branch), lake_type) for branch, lake_type in pairs if _primitive_name(branch) != "null"]
        )

    def record(self, avro_type: RecordType, fields: Sequence[LakeType]) -> LakeType:
        if not fields and self.path:
            raise NoColumns(
                f"{self.path}: record {avro_type.name} has no fields, and a struct needs one.", remedy="Add a field."
            )
        return Struct(tuple(Field(field.name, lake_type) for field, lake_type in zip(avro_type.fields, fields, strict=True)))

    def recursive(self, avro_type: RecordType) -> NoReturn:
        raise NoColumns(
            f"{self.path}: record {avro_type.name} contains itself, and a table's columns are finite.",
            remedy="Bound the recursion, for example by an array of ids in place of the nested record.",
        )

    def too_deep(self) -> NoReturn:
        check_depth(self.path, self.max_depth + 1)
        raise AssertionError


def _primitive_name(avro_type: AvroType) -> str:
    return avro_type.name if isinstance(avro_type, PrimitiveType) else ""


def _decimal(avro_type: PrimitiveType | FixedType) -> LakeType | None:
    precision, scale = decimal_digits(avro_type) or (0, 0)
    return decimal(precision, scale) if 0 < precision <= MAX_PRECISION else None
