"""The Avro type for a shape of scalars, and whether a registered type has room for it."""

from penstock.schema.avro.logical import decimal_digits, logical_type
from penstock.schema.avro.model import AvroType, EnumType, FixedType, PrimitiveType, describe
from penstock.schema.infer.rules import InferenceRules
from penstock.schema.infer.shape import Shape

__all__ = ["contradiction", "describe_type", "holds", "simple", "takes"]

_PRECISION = 38  # the largest of Spark, Hive and Athena


def simple(shape: Shape, rules: InferenceRules) -> AvroType | None:
    """Return the single type that holds all scalars unchanged, or None if there is none."""
    scalars = shape.scalars
    if shape.decimal is not None:
        integer_digits, scale = shape.decimal
        if scalars or integer_digits + scale > _PRECISION:
            return None
        return PrimitiveType(name="bytes", props={"logicalType": "decimal", "precision": _PRECISION, "scale": scale})
    if scalars and scalars <= {"int", "long", "wide"}:
        fractions = rules.whole_numbers == "double"
        return None if fractions and "wide" in scalars else PrimitiveType(name="double" if fractions else "long")
    if scalars and scalars <= {"int", "long", "double"}:
        return PrimitiveType(name="double")
    if scalars and scalars <= {"string", "uuid-text"}:
        return PrimitiveType(name="string")
    return _TYPES.get(next(iter(scalars))) if len(scalars) == 1 else None


def _logical(name: str, logical: str) -> PrimitiveType:
    return PrimitiveType(name=name, props={"logicalType": logical})


_TYPES: dict[str, AvroType] = {
    "boolean": PrimitiveType(name="boolean"),
    "double": PrimitiveType(name="double"),
    "bytes": PrimitiveType(name="bytes"),
    "date": _logical("int", "date"),
    "time": _logical("long", "time-micros"),
    "timestamp": _logical("long", "timestamp-micros"),
    "local-timestamp": _logical("long", "local-timestamp-micros"),
    "uuid": _logical("string", "uuid"),
}

_WHOLE = frozenset({"int", "long", "wide"})
_ACCEPTED: dict[str, frozenset[str]] = {
    "boolean": frozenset({"boolean"}),
    "int": frozenset({"int"}),
    "long": _WHOLE,
    "float": _WHOLE | {"double"},
    "double": frozenset({"int", "long", "double"}),
    "string": frozenset({"string", "uuid-text"}),
    "bytes": frozenset({"bytes"}),
}
# A serialiser also accepts the number or text that represents the value.
_LOGICAL: dict[tuple[str, str], frozenset[str]] = {
    ("int", "date"): frozenset({"date", "int"}),
    ("int", "time-millis"): frozenset({"time", "int"}),
    ("long", "time-micros"): _WHOLE | {"time"},
    ("string", "uuid"): frozenset({"uuid", "uuid-text"}),
    **{("long", f"timestamp-{unit}"): _WHOLE | {"timestamp"} for unit in ("millis", "micros", "nanos")},
    **{("long", f"local-timestamp-{unit}"): _WHOLE | {"local-timestamp"} for unit in ("millis", "micros", "nanos")},
}


def takes(avro_type: AvroType, scalar: str) -> bool:
    """Return whether a value of the kind ``scalar`` can be written as ``avro_type``."""
    match avro_type:
        case PrimitiveType():
            accepted = _LOGICAL.get((avro_type.name, logical_type(avro_type) or ""))
            return scalar in (accepted or _ACCEPTED.get(avro_type.name, frozenset()))
        case EnumType():
            return scalar == "string"  # the symbols are checked when the value is written
        case FixedType():
            return scalar == "bytes"
        case _:
            return False


def holds(avro_type: AvroType, digits: tuple[int, int]) -> bool:
    """Return whether ``avro_type`` is a decimal with at least ``digits`` before and after the point."""
    precision, scale = decimal_digits(avro_type) or (-1, -1)
    return digits[0] <= precision - scale and digits[1] <= scale


def contradiction(shape: Shape, shape_kinds: list[str]) -> str:
    """Return why no single type holds ``shape``, whose types are ``shape_kinds``."""
    if shape.decimal is not None and not shape.scalars and len(shape_kinds) == 1:
        return f"the data needs {shape_kinds[0]}, and a decimal has at most {_PRECISION} digits."
    if "wide" in shape.scalars and len(shape_kinds) <= 2 and set(shape_kinds) <= {"long", "double"}:
        return "the data has fractions (double) and whole numbers (long) that a double does not hold exactly."
    return f"the data has {' and '.join(shape_kinds)}, and no single type holds them unchanged."


def describe_type(avro_type: AvroType) -> str:
    """Return a short description of a type for a message; a decimal with its digits."""
    if isinstance(avro_type, PrimitiveType) and avro_type.props.get("logicalType") == "decimal":
        return f"decimal({avro_type.props.get('precision')},{avro_type.props.get('scale', 0)})"
    return describe(avro_type)
