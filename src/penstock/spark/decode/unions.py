"""One writer schema for payloads of many versions: a union of them, of which an index in front of each payload chooses one.

Spark's ``from_avro`` takes one writer schema, and a CASE over calls of it slows down with each. Avro writes a value of a
union as the branch's index and the value (https://avro.apache.org/docs/1.12.0/specification/#schema-record, "Unions"), so a
payload with an index in front is a value of the union of all versions, and one call reads them all.

A schema cannot define a name twice, so the named types of each version move to a namespace of its own, and the reader's
types get these names as aliases, by which Avro finds them again.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from penstock.errors import DataProblem
from penstock.schema.avro.canonical import canonical_text
from penstock.schema.avro.model import (
    ArrayType,
    AvroSchema,
    AvroType,
    MapType,
    NamedType,
    PrimitiveType,
    RecordType,
    Reference,
    UnionType,
    by_reference,
)
from penstock.schema.avro.parse import parse_registered
from penstock.schema.errors import InvalidSchema
from penstock.spark.decode.readers import HEADER

__all__ = ["index", "never_null", "reader_of_union", "union_of_writers"]

_HEAD = {"type": "fixed", "name": "PenstockHead", "size": HEADER}


def index(number: int) -> bytes:
    """Return the bytes of branch ``number`` of a union: a zigzag integer of variable length."""
    value, varint = number << 1, bytearray()
    while value > 0x7F:
        varint.append(value & 0x7F | 0x80)
        value >>= 7
    varint.append(value)
    return bytes(varint)


def union_of_writers(definitions: Sequence[str]) -> str:
    """Return the union of the frames of ``definitions`` (Avro JSON): header, body, and the tail mark, each at its number."""
    return json.dumps([_frame(number, _moved(_parsed(text), number)) for number, text in enumerate(definitions)])


def reader_of_union(reader: str, definitions: Sequence[str]) -> str:
    """Return the frame of ``reader``, without the header, whose types are found in the union of ``definitions``."""
    schema = by_reference(_parsed(reader))
    writers = [set(_parsed(text).names) for text in definitions]
    names = {
        name: replace(named, aliases=(*named.aliases, *_moved_names((name, *named.aliases), writers)))
        for name, named in schema.names.items()
    }
    body = canonical_text(AvroSchema(root=schema.root, names=names))
    return json.dumps(_record("PenstockFrame", [{"name": "body", "type": json.loads(body)}]))


def never_null(reader: str) -> frozenset[str]:
    """Return the fields of a reader's record that no payload makes null."""
    schema = _parsed(reader)
    if not isinstance(schema.root, RecordType):
        return frozenset()
    return frozenset(field.name for field in schema.root.fields if not _may_be_null(schema.resolve(field.type)))


def _may_be_null(avro_type: AvroType) -> bool:
    branches = avro_type.branches if isinstance(avro_type, UnionType) else (avro_type,)
    return any(isinstance(branch, PrimitiveType) and branch.name == "null" for branch in branches)


def _frame(number: int, body: AvroSchema) -> dict[str, Any]:
    head = {"name": "head", "type": "PenstockHead" if number else _HEAD}
    return _record(f"PenstockFrame{number}", [head, {"name": "body", "type": json.loads(canonical_text(body))}])


def _record(name: str, fields: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [*fields, {"name": "tail", "type": "double"}]}


def _parsed(definition: str) -> AvroSchema:
    try:
        return parse_registered(json.loads(definition))
    except (InvalidSchema, ValueError, RecursionError) as error:
        raise DataProblem(f"A schema version cannot be used for decoding. {error}") from error


def _moved_name(name: str, number: int) -> str:
    return f"penstock{number}.{name}"


def _moved_names(names: Sequence[str], writers: Sequence[set[str]]) -> list[str]:
    return [_moved_name(name, number) for number, defined in enumerate(writers) for name in names if name in defined]


def _moved(schema: AvroSchema, number: int) -> AvroSchema:
    """Return the schema with its named types in the namespace of ``number``."""
    apart = by_reference(schema)
    names = {_moved_name(name, number): _renamed(named, number) for name, named in apart.names.items()}
    return AvroSchema(root=_referring(apart.root, number), names=names)


def _renamed(named: NamedType, number: int) -> NamedType:
    moved = replace(named, name=_moved_name(named.name, number), aliases=())
    if isinstance(moved, RecordType):
        # A default is of use to readers only.
        fields = (
            replace(field, type=_referring(field.type, number), has_default=False, default=None) for field in moved.fields
        )
        return replace(moved, fields=tuple(fields))
    return moved


def _referring(avro_type: AvroType, number: int) -> AvroType:
    match avro_type:
        case Reference():
            return Reference(name=_moved_name(avro_type.name, number))
        case ArrayType():
            return replace(avro_type, items=_referring(avro_type.items, number))
        case MapType():
            return replace(avro_type, values=_referring(avro_type.values, number))
        case UnionType():
            return replace(avro_type, branches=tuple(_referring(branch, number) for branch in avro_type.branches))
        case _:
            return avro_type
