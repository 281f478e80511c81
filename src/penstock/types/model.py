"""The types of the lake's columns, as values. They are read with ``match``, or by :func:`fold`.

The names of scalars are Hive's, and for what Hive lacks Iceberg's. A system's adapter may lack some of them, and says so
with :class:`TypeMissing`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias, TypeVar

from penstock.errors import DataProblem

__all__ = [
    "INTEGERS",
    "MAX_DEPTH",
    "MAX_PRECISION",
    "SCALARS",
    "STRING",
    "VOID",
    "Array",
    "Field",
    "LakeType",
    "Map",
    "Scalar",
    "Struct",
    "TypeMissing",
    "decimal",
    "fold",
    "replace_fields",
    "replace_scalars",
    "scalar_of",
]

MAX_PRECISION = 38
"""The most digits of a decimal, in Hive, Spark, Iceberg, Trino and DuckDB."""
MAX_DEPTH = 64
"""The most levels of types within types: what a schema, a file or a statement may have."""
INTEGERS: Mapping[str, int] = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
"""The integers from the smallest to the largest, with the digits of the decimal that holds them."""
SCALARS = frozenset(
    {
        *("boolean", *INTEGERS, "float", "double", "decimal"),
        *("string", "varchar", "char", "binary", "uuid"),
        *("date", "time", "timestamp", "timestamptz", "timestamp_ntz"),
        *("void", "variant", "geometry", "geography"),
    }
)
"""Names of scalars.

``timestamp`` is the catalog's: SQL reads it as a time without a zone, Spark as a moment. ``timestamp_ntz`` never has a zone,
``timestamptz`` always is a moment. ``void`` has no value but NULL.
"""

T = TypeVar("T")


class TypeMissing(DataProblem):
    """A system has no such type."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A type without types inside it.

    ``numbers`` are a decimal's precision and scale, the most characters of a text, or the digits of a second's fraction.
    """

    name: str
    numbers: tuple[int, ...] = ()

    inner: ClassVar[tuple["LakeType", ...]] = ()


@dataclass(frozen=True, slots=True)
class Array:
    """A list of values of one type."""

    element: "LakeType"

    name: ClassVar[str] = "array"
    numbers: ClassVar[tuple[int, ...]] = ()

    @property
    def inner(self) -> tuple["LakeType", ...]:
        """The element's type."""
        return (self.element,)


@dataclass(frozen=True, slots=True)
class Map:
    """Keys with a value each."""

    key: "LakeType"
    value: "LakeType"

    name: ClassVar[str] = "map"
    numbers: ClassVar[tuple[int, ...]] = ()

    @property
    def inner(self) -> tuple["LakeType", ...]:
        """The types of key and value."""
        return (self.key, self.value)


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a struct. Whether it is ``nullable``, and its ``comment``, are lost in the catalog's texts."""

    name: str
    type: "LakeType"
    nullable: bool = True
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Struct:
    """Named fields in an order."""

    fields: tuple[Field, ...]

    name: ClassVar[str] = "struct"
    numbers: ClassVar[tuple[int, ...]] = ()

    @property
    def inner(self) -> tuple["LakeType", ...]:
        """The fields' types."""
        return tuple(field.type for field in self.fields)

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)


LakeType: TypeAlias = Scalar | Array | Map | Struct
"""A type of a column. Equality and hash visit each type in it, also one that is there many times."""

STRING, VOID = Scalar("string"), Scalar("void")


def decimal(precision: int, scale: int = 0) -> Scalar:
    """Return the decimal. Raises :class:`TypeMissing` for more than 38 digits."""
    if not (1 <= precision <= MAX_PRECISION and 0 <= scale <= precision):
        raise TypeMissing(f"decimal({precision},{scale}) is not a type: it has 1 to {MAX_PRECISION} digits.")
    return Scalar("decimal", (precision, scale))


def fold(
    type_: LakeType,
    *,
    scalar: Callable[[Scalar], T],
    array: Callable[[T], T],
    mapping: Callable[[T, T], T],
    struct: Callable[[Struct, tuple[T, ...]], T],
) -> T:
    """Return what the functions make of a type, from the innermost types outwards; ``struct`` has its fields' results."""

    def visit(inner: LakeType) -> T:
        match inner:
            case Array():
                return array(visit(inner.element))
            case Map():
                return mapping(visit(inner.key), visit(inner.value))
            case Struct():
                return struct(inner, tuple(visit(field.type) for field in inner.fields))
            case _:
                return scalar(inner)

    return visit(type_)


def replace_fields(struct: Struct, types: tuple[LakeType, ...]) -> LakeType:
    """Return ``struct`` with other types of its fields, in their order."""
    pairs = zip(struct.fields, types, strict=True)
    return Struct(tuple(replace(field, type=type_) for field, type_ in pairs))


def replace_scalars(type_: LakeType, replacement: Callable[[Scalar], LakeType]) -> LakeType:
    """Return the type with each scalar in it replaced."""

    return fold(type_, scalar=replacement, array=Array, mapping=Map, struct=replace_fields)


def scalar_of(names: Mapping[str, Any], type_: Scalar, system: str) -> Any:
    """Return what an adapter's table has for a scalar. Raises :class:`TypeMissing` if ``system`` has no such type."""
    if type_.name not in names:
        raise TypeMissing(f"{system} has no type for {type_.name}.", remedy="Convert the column, or leave it out.")
    return names[type_.name]
