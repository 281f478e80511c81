"""One text for all spellings of an Avro schema.

Names are written in full, keys in one order, what equals its absence is left out. Unlike the specification's Parsing
Canonical Form, everything that a reader can notice stays: doc, defaults, aliases, order, logicalType and custom properties.
A type of another definition is written where it is first used, so that the text stands on its own.
"""

from collections.abc import Sequence
from typing import Any, NoReturn

from penstock.schema.avro.defaults import normal_default
from penstock.schema.avro.fold import Fold
from penstock.schema.avro.model import (
    ArrayType,
    AvroField,
    AvroSchema,
    EnumType,
    FixedType,
    MapType,
    NamedType,
    PrimitiveType,
    RecordType,
    UnionType,
)
from penstock.schema.errors import InvalidSchema
from penstock.schema.json_text import write_json

__all__ = ["CanonicalFold", "DefinitionFold", "canonical_text"]


def canonical_text(schema: AvroSchema) -> str:
    """The canonical text, itself a valid definition of the same schema.

    Raises :class:`~penstock.schema.errors.InvalidSchema` where types of other definitions nest it too deep.
    """
    return write_json(CanonicalFold(schema).root())


class DefinitionFold(Fold[Any]):
    """A schema as JSON values that define it: all names in full, each named type where it is first used."""

    def primitive(self, kind: PrimitiveType) -> Any:
        """A name, or an object where there are properties."""
        return {"type": kind.name, **kind.props} if kind.props else kind.name

    def union(self, kind: UnionType, branches: Sequence[Any]) -> Any:  # noqa: ARG002
        """A list."""
        return branches

    def array(self, kind: ArrayType, items: Any) -> Any:
        """An object with ``items``."""
        return {"type": "array", "items": items, **kind.props}

    def map(self, kind: MapType, values: Any) -> Any:
        """An object with ``values``."""
        return {"type": "map", "values": values, **kind.props}

    def record(self, kind: RecordType, fields: Sequence[Any]) -> Any:
        """An object with ``fields``."""
        written = [self.field(item, type_) for item, type_ in zip(kind.fields, fields, strict=True)]
        return {"type": kind.kind, "fields": written, **self.common(kind)}

    def enum(self, kind: EnumType) -> Any:
        """An object with ``symbols``."""
        default = {} if kind.default is None else {"default": kind.default}
        return {"type": "enum", "symbols": list(kind.symbols), **default, **self.common(kind)}

    def fixed(self, kind: FixedType) -> Any:
        """An object with ``size``."""
        return {"type": "fixed", "size": kind.size, **self.common(kind)}

    def recursive(self, kind: RecordType) -> Any:
        """The record's full name."""
        return kind.name

    def again(self, kind: NamedType, made: Any) -> Any:  # noqa: ARG002
        """The type's full name."""
        return kind.name

    def field(self, field: AvroField, kind: Any) -> dict[str, Any]:
        """A field whose type was written as ``kind``."""
        node: dict[str, Any] = {"name": field.name, "type": kind, **field.props}
        if field.has_default:
            node["default"] = self.default(field)
        if field.doc is not None:
            node["doc"] = field.doc
        if field.aliases:
            node["aliases"] = list(field.aliases)
        if field.order != "ascending":
            node["order"] = field.order
        return node

    def default(self, field: AvroField) -> Any:
        """The default of a field that has one."""
        return None if field.default is None else normal_default(field.type, field.default, self.schema.names)

    def common(self, kind: NamedType) -> dict[str, Any]:
        """What all named types have."""
        node: dict[str, Any] = {"name": kind.name, **kind.props}
        if "." not in kind.name:
            # Inside another namespace a bare name would take that one; the empty one has to be said.
            node["namespace"] = ""
        if kind.doc is not None:
            node["doc"] = kind.doc
        if kind.aliases:
            node["aliases"] = list(kind.aliases)
        return node


class CanonicalFold(DefinitionFold):
    """A schema as the JSON values of its canonical text, but for the order of their keys."""

    max_depth = 64  # as of a definition without references: what they nest together has to be readable too

    def too_deep(self) -> NoReturn:
        """Refuse a type below ``max_depth``."""
        raise InvalidSchema(
            f"Types nest more than {self.max_depth} levels, those of referenced schemas included.",
            remedy="Flatten the schemas, or use a deep type earlier, at a shallower place.",
        )
