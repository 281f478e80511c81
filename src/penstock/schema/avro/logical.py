"""Logical types as readers and writers apply them.

Specification, 'Logical Types': "If a logical type is invalid, for example a decimal with scale greater than its precision,
then implementations should ignore the logical type and use the underlying Avro type."
"""

import math
from typing import Any, TypeGuard

from penstock.schema.avro.model import AvroType, FixedType, PrimitiveType, Reference, UnionType

__all__ = ["decimal_digits", "logical_type"]

_MAX_FIXED = 2**31 - 1


def logical_type(kind: AvroType) -> str | None:
    """Return the name of the logical type of ``kind``, or None for a reference, an invalid decimal or a plain type."""
    if isinstance(kind, UnionType | Reference):
        return None
    name = kind.props.get("logicalType")
    if not isinstance(name, str) or (name == "decimal" and decimal_digits(kind) is None):
        return None
    return name


def decimal_digits(kind: AvroType) -> tuple[int, int] | None:
    """Precision and scale of a decimal over ``bytes`` or a ``fixed`` that is large enough; None for any other type."""
    if not isinstance(kind, PrimitiveType | FixedType) or kind.props.get("logicalType") != "decimal":
        return None
    precision, scale = kind.props.get("precision"), kind.props.get("scale", 0)
    if not _whole(precision) or not _whole(scale) or not 0 <= scale <= precision or precision == 0:
        return None
    if isinstance(kind, PrimitiveType):
        return (precision, scale) if kind.name == "bytes" else None
    fits = 0 < kind.size <= _MAX_FIXED and precision <= math.floor(math.log10(2) * (8 * kind.size - 1))
    return (precision, scale) if fits else None


def _whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
