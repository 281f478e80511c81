"""A schema in the form that fastavro reads and writes with.

fastavro accepts what the Java library of Avro 1.11 accepts, which AWS and Confluent run, with a few exceptions. These are
rewritten for it:

- An invalid decimal is written without its logical type (:mod:`penstock.schema.avro.logical`); fastavro would raise.
- Names are written in full, since fastavro resolves some of them differently: a null namespace, the namespace of a record
  named ``n.R``, and a bare name that only the empty namespace has. The specification ('Names') has no such look-up, but
  Avro's Java relies on it: it always writes a type of the empty namespace as a bare name.
- The default of a ``float`` or ``double`` is written as a fraction; fastavro requires one if the type is an object.

The keys with which fastavro marks its own results are dropped: an untrusted definition that has them would count as checked.
"""

from collections.abc import Mapping
from typing import Any

import fastavro
from fastavro.schema import SchemaParseException, UnknownType

from penstock.schema.avro.canonical import DefinitionFold
from penstock.schema.avro.logical import logical_type
from penstock.schema.avro.model import ArrayType, AvroField, AvroSchema, MapType, NamedType, PrimitiveType, RecordType

__all__ = ["REFUSALS", "library_refusal", "library_schema"]

_FASTAVROS_OWN = ("__fastavro_parsed", "__named_schemas")
REFUSALS = (
    SchemaParseException,
    UnknownType,
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)
"""The errors that :func:`library_schema` raises."""


def library_refusal(schema: AvroSchema) -> str | None:
    """Return fastavro's reason for refusing ``schema``, or None if it accepts it."""
    try:
        library_schema(schema)
    except UnknownType as error:
        return f"'{str(error.name)[:200]}' is not a type known at this place"
    except REFUSALS as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    return None


def library_schema(schema: AvroSchema, types: dict[str, Any] | None = None) -> Any:
    """Return ``schema`` as fastavro parses it. ``types`` is filled with its named types in that form, by full name.

    Raise fastavro's errors, which are among :data:`REFUSALS`.
    """
    names = {} if types is None else types
    fold = _LibraryFold(schema)
    document = fold.root()
    # fastavro looks up a name with a dot unchanged. No definition can have a name that begins with a dot.
    marked = {f".{name}": name for name in fold.bare}
    names.update(dict.fromkeys(marked))
    try:
        parsed = fastavro.parse_schema(document, names)
    finally:
        for mark in marked:
            del names[mark]
    return _unmarked(parsed, marked) if marked else parsed


class _LibraryFold(DefinitionFold):
    """``bare`` are names without a namespace that are used inside one, where fastavro would look in that namespace."""

    def __init__(self, schema: AvroSchema) -> None:
        super().__init__(schema)
        self.bare: set[str] = set()

    def primitive(self, avro_type: PrimitiveType) -> Any:
        return {"type": avro_type.name, **_heeded(avro_type)} if avro_type.props else avro_type.name

    def array(self, avro_type: ArrayType, items: Any) -> Any:
        return {"type": "array", "items": items, **_heeded(avro_type)}

    def map(self, avro_type: MapType, values: Any) -> Any:
        return {"type": "map", "values": values, **_heeded(avro_type)}

    def recursive(self, avro_type: RecordType) -> Any:
        return self._use(avro_type.name)

    def again(self, avro_type: NamedType, result: Any) -> Any:  # noqa: ARG002
        return self._use(avro_type.name)

    def _use(self, name: str) -> str:
        if "." in name or "." not in (self.enclosing or ""):
            return name
        self.bare.add(name)
        return f".{name}"

    def default(self, field: AvroField) -> Any:
        if isinstance(field.type, PrimitiveType) and field.type.name in ("float", "double"):
            return _fraction(field.default)
        return field.default

    def common(self, avro_type: NamedType) -> dict[str, Any]:
        node = {"name": avro_type.name, "namespace": avro_type.name.rpartition(".")[0], **_heeded(avro_type)}
        return {**node, "aliases": list(avro_type.aliases)} if avro_type.aliases else node


def _heeded(avro_type: PrimitiveType | ArrayType | MapType | NamedType) -> Mapping[str, Any]:
    """Return the properties of a type without those that fastavro refuses or misreads."""
    dropped = [key for key in _FASTAVROS_OWN if key in avro_type.props]
    if avro_type.props.get("logicalType") == "decimal" and logical_type(avro_type) is None:
        dropped.append("logicalType")
    return {key: value for key, value in avro_type.props.items() if key not in dropped} if dropped else avro_type.props


def _unmarked(parsed: Any, marked: Mapping[str, str]) -> Any:
    """Return fastavro's result with the marked names restored: it does not add namespaces to them any more."""
    if isinstance(parsed, str):
        return marked.get(parsed, parsed)
    if isinstance(parsed, list):
        return [_unmarked(branch, marked) for branch in parsed]
    # Changed in place, since fastavro's table of names holds the same objects.
    for key in ("items", "values"):
        if key in parsed:
            parsed[key] = _unmarked(parsed[key], marked)
    for field in parsed.get("fields", ()):
        field["type"] = _unmarked(field["type"], marked)
    return parsed


def _fraction(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | str):
        return value
    try:
        return float(value)
    except (ValueError, OverflowError):
        return value
