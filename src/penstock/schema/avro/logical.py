"""Logical types as readers and writers apply them.

Specification, 'Logical Types': "If a logical type is invalid, for example a decimal with scale greater than its precision,
then implementations should ignore the logical type and use the underlying Avro type."
"""

import math
from typing import Any, TypeGuard

from penstock.schema.avro.model import AvroType, FixedType, PrimitiveType, Reference, UnionType

__all__ = ["decimal_digits", "logical_type"]

_MAX_FIXED = 2**31 - 1


def logical_type(avro_type: AvroType) -> str | None:
    """Return the name of the logical type of ``avro_type``, or None for a reference, an invalid decimal or a plain type."""
    if isinstance(avro_type, UnionType | Reference):
        return None
    name = avro_type.props.get("logicalType")
    if not isinstance(name, str) or (name == "decimal" and decimal_digits(avro_type) is None):
        return None
    return name


def decimal_digits(avro_type: AvroType) -> tuple[int, int] | None:
    """Precision and scale of a decimal over ``bytes`` or a ``fixed`` that is large enough; None for any other type."""
    if not isinstance(avro_type, PrimitiveType | FixedType) or avro_type.props.get("logicalType") != "decimal":
        return None
    precision, scale = avro_type.props.get("precision"), avro_type.props.get("scale", 0)
    if not _whole(precision) or not _whole(scale) or not 0 <= scale <= precision or precision == 0:
        return None
    if isinstance(avro_type, PrimitiveType):
        return (precision, scale) if avro_type.name == "bytes" else None
    fits = 0 < avro_type.size <= _MAX_FIXED and precision <= math.floor(math.log10(2) * (8 * avro_type.size - 1))
    return (precision, scale) if fits else None


def _whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
