"""One canonical text for all spellings of an Avro schema.

Names are written in full, keys are sorted, and attributes that equal their default are omitted. Unlike the specification's
Parsing Canonical Form, the text keeps everything that a reader can notice: doc, defaults, aliases, order, logicalType and
custom properties. A type of another definition is written at its first use, so that the text is self-contained.
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
    """Return the canonical text, itself a valid definition of the same schema.

    Raise :class:`~penstock.schema.errors.InvalidSchema` if types of other definitions nest it too deep.
    """
    return write_json(CanonicalFold(schema).root())


class DefinitionFold(Fold[Any]):
    """A schema as the JSON values that define it: all names in full, each named type at its first use."""

    def primitive(self, avro_type: PrimitiveType) -> Any:
        """Return a name, or an object if there are properties."""
        return {"type": avro_type.name, **avro_type.props} if avro_type.props else avro_type.name

    def union(self, avro_type: UnionType, branches: Sequence[Any]) -> Any:  # noqa: ARG002
        """Return a list."""
        return branches

    def array(self, avro_type: ArrayType, items: Any) -> Any:
        """Return an object with ``items``."""
        return {"type": "array", "items": items, **avro_type.props}

    def map(self, avro_type: MapType, values: Any) -> Any:
        """Return an object with ``values``."""
        return {"type": "map", "values": values, **avro_type.props}

    def record(self, avro_type: RecordType, fields: Sequence[Any]) -> Any:
        """Return an object with ``fields``."""
        written = [self.field(field, definition) for field, definition in zip(avro_type.fields, fields, strict=True)]
        return {"type": avro_type.kind, "fields": written, **self.common(avro_type)}

    def enum(self, avro_type: EnumType) -> Any:
        """Return an object with ``symbols``."""
        default = {} if avro_type.default is None else {"default": avro_type.default}
        return {"type": "enum", "symbols": list(avro_type.symbols), **default, **self.common(avro_type)}

    def fixed(self, avro_type: FixedType) -> Any:
        """Return an object with ``size``."""
        return {"type": "fixed", "size": avro_type.size, **self.common(avro_type)}

    def recursive(self, avro_type: RecordType) -> Any:
        """Return the record's full name."""
        return avro_type.name

    def again(self, avro_type: NamedType, result: Any) -> Any:  # noqa: ARG002
        """Return the type's full name."""
        return avro_type.name

    def field(self, field: AvroField, definition: Any) -> dict[str, Any]:
        """Return a field whose type was written as ``definition``."""
        node: dict[str, Any] = {"name": field.name, "type": definition, **field.props}
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
        """Return the default of a field that has one."""
        return None if field.default is None else normal_default(field.type, field.default, self.schema.names)

    def common(self, avro_type: NamedType) -> dict[str, Any]:
        """Return the attributes that all named types have."""
        node: dict[str, Any] = {"name": avro_type.name, **avro_type.props}
        if "." not in avro_type.name:
            # Inside another namespace a bare name would take that one, so the empty namespace is written.
            node["namespace"] = ""
        if avro_type.doc is not None:
            node["doc"] = avro_type.doc
        if avro_type.aliases:
            node["aliases"] = list(avro_type.aliases)
        return node


class CanonicalFold(DefinitionFold):
    """A schema as the JSON values of its canonical text, except the order of their keys."""

    max_depth = 64  # the same as for a definition without references, so that the joined text can be read too

    def too_deep(self) -> NoReturn:
        """Refuse a type below ``max_depth``."""
        raise InvalidSchema(
            f"Types nest more than {self.max_depth} levels, including those of referenced schemas.",
            remedy="Flatten the schemas, or use the deep type first at a shallower place.",
        )
