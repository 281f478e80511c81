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

    def primitive(self, kind: PrimitiveType) -> Any:
        """Return a name, or an object if there are properties."""
        return {"type": kind.name, **kind.props} if kind.props else kind.name

    def union(self, kind: UnionType, branches: Sequence[Any]) -> Any:  # noqa: ARG002
        """Return a list."""
        return branches

    def array(self, kind: ArrayType, items: Any) -> Any:
        """Return an object with ``items``."""
        return {"type": "array", "items": items, **kind.props}

    def map(self, kind: MapType, values: Any) -> Any:
        """Return an object with ``values``."""
        return {"type": "map", "values": values, **kind.props}

    def record(self, kind: RecordType, fields: Sequence[Any]) -> Any:
        """Return an object with ``fields``."""
        written = [self.field(item, type_) for item, type_ in zip(kind.fields, fields, strict=True)]
        return {"type": kind.kind, "fields": written, **self.common(kind)}

    def enum(self, kind: EnumType) -> Any:
        """Return an object with ``symbols``."""
        default = {} if kind.default is None else {"default": kind.default}
        return {"type": "enum", "symbols": list(kind.symbols), **default, **self.common(kind)}

    def fixed(self, kind: FixedType) -> Any:
        """Return an object with ``size``."""
        return {"type": "fixed", "size": kind.size, **self.common(kind)}

    def recursive(self, kind: RecordType) -> Any:
        """Return the record's full name."""
        return kind.name

    def again(self, kind: NamedType, made: Any) -> Any:  # noqa: ARG002
        """Return the type's full name."""
        return kind.name

    def field(self, field: AvroField, kind: Any) -> dict[str, Any]:
        """Return a field whose type was written as ``kind``."""
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
        """Return the default of a field that has one."""
        return None if field.default is None else normal_default(field.type, field.default, self.schema.names)

    def common(self, kind: NamedType) -> dict[str, Any]:
        """Return the attributes that all named types have."""
        node: dict[str, Any] = {"name": kind.name, **kind.props}
        if "." not in kind.name:
            # Inside another namespace a bare name would take that one, so the empty namespace is written.
            node["namespace"] = ""
        if kind.doc is not None:
            node["doc"] = kind.doc
        if kind.aliases:
            node["aliases"] = list(kind.aliases)
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
