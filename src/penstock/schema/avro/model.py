"""Avro's types as values. A named type appears once, where it is defined; a :class:`Reference` names it elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

__all__ = [
    "PRIMITIVES",
    "ArrayType",
    "AvroField",
    "AvroSchema",
    "AvroType",
    "EnumType",
    "FixedType",
    "MapType",
    "NamedType",
    "PrimitiveType",
    "RecordType",
    "Reference",
    "UnionType",
    "branch_name",
    "by_reference",
    "describe",
    "unqualified",
]

PRIMITIVES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PrimitiveType:
    """One of Avro's eight primitives; ``props`` holds logicalType and custom properties."""

    name: str
    props: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayType:
    """An array of ``items``."""

    items: "AvroType"
    props: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MapType:
    """A map from strings to ``values``."""

    values: "AvroType"
    props: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnionType:
    """A union; no branch is a union itself."""

    branches: tuple["AvroType", ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A use of the named type ``name`` (a full name) that is defined earlier in the text."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AvroField:
    """A record's field. ``default`` counts only if ``has_default`` is true."""

    name: str
    type: "AvroType"
    doc: str | None = None
    has_default: bool = False
    default: Any = None
    aliases: tuple[str, ...] = ()
    order: str = "ascending"
    props: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordType:
    """A record, or an ``error``, as Avro's protocols call it. ``name`` and ``aliases`` are full names."""

    name: str
    fields: tuple[AvroField, ...]
    doc: str | None = None
    aliases: tuple[str, ...] = ()
    kind: str = "record"
    props: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnumType:
    """An enum; ``default`` is the symbol that a reader uses for symbols it does not know."""

    name: str
    symbols: tuple[str, ...]
    default: str | None = None
    doc: str | None = None
    aliases: tuple[str, ...] = ()
    props: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedType:
    """A type of ``size`` bytes."""

    name: str
    size: int
    doc: str | None = None
    aliases: tuple[str, ...] = ()
    props: Mapping[str, Any] = field(default_factory=dict)


NamedType = RecordType | EnumType | FixedType
AvroType = PrimitiveType | ArrayType | MapType | UnionType | Reference | NamedType


@dataclass(frozen=True, slots=True, kw_only=True)
class AvroSchema:
    """A definition: its outermost type and every named type in it by full name."""

    root: AvroType
    names: Mapping[str, NamedType] = field(repr=False)

    def resolve(self, avro_type: AvroType) -> "PrimitiveType | ArrayType | MapType | UnionType | NamedType":
        """Return the type that ``avro_type`` refers to, or ``avro_type`` itself if it is not a reference."""
        return self.names[avro_type.name] if isinstance(avro_type, Reference) else avro_type


def by_reference(schema: AvroSchema) -> AvroSchema:
    """Return the same schema with every use of a named type as a :class:`Reference`, including the first.

    Then a named type can be replaced in ``names`` only.
    """
    names: dict[str, NamedType] = {}
    for name, avro_type in schema.names.items():
        if isinstance(avro_type, RecordType):
            names[name] = replace(
                avro_type, fields=tuple(replace(item, type=_apart(item.type)) for item in avro_type.fields)
            )
        else:
            names[name] = avro_type
    return AvroSchema(root=_apart(schema.root), names=names)


def _apart(avro_type: AvroType) -> AvroType:
    match avro_type:
        case RecordType() | EnumType() | FixedType():
            return Reference(name=avro_type.name)
        case ArrayType():
            return replace(avro_type, items=_apart(avro_type.items))
        case MapType():
            return replace(avro_type, values=_apart(avro_type.values))
        case UnionType():
            return replace(avro_type, branches=tuple(_apart(branch) for branch in avro_type.branches))
        case PrimitiveType() | Reference():
            return avro_type


def unqualified(name: str) -> str:
    """Return the last part of a full name."""
    return name.rpartition(".")[2]


def branch_name(avro_type: AvroType) -> str:
    """Return the name of a union's branch in Avro's JSON encoding: the full name of a named type, or the kind of type."""
    match avro_type:
        case PrimitiveType() | RecordType() | EnumType() | FixedType() | Reference():
            return avro_type.name
        case ArrayType():
            return "array"
        case MapType():
            return "map"
        case UnionType():
            return "union"


def describe(avro_type: AvroType) -> str:  # noqa: PLR0911
    """Return a short description of a type: ``int``, ``record Flight``, ``array of string``, ``union of null, long``."""
    match avro_type:
        case PrimitiveType():
            logical = avro_type.props.get("logicalType")
            return f"{avro_type.name} ({logical})" if isinstance(logical, str) else avro_type.name
        case ArrayType():
            return f"array of {_short(avro_type.items)}"
        case MapType():
            return f"map of {_short(avro_type.values)}"
        case UnionType():
            shown = ", ".join(_short(branch) for branch in avro_type.branches[:8])
            return f"union of {shown}" + (", ..." if len(avro_type.branches) > 8 else "")
        case RecordType():
            return f"record {avro_type.name}"
        case EnumType():
            return f"enum {avro_type.name}"
        case FixedType():
            return f"fixed {avro_type.name} of {avro_type.size} bytes"
        case Reference():
            return avro_type.name


def _short(avro_type: AvroType) -> str:
    match avro_type:
        case ArrayType() | MapType() | UnionType():
            return type(avro_type).__name__.removesuffix("Type").lower()
        case _:
            return describe(avro_type)
