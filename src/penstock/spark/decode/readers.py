"""Writer and reader schemas as Spark's ``from_avro`` needs them: framed by a tail mark, and always resolvable.

``from_avro`` in PERMISSIVE mode returns a struct of nulls for a record that it cannot read, and reads a payload with the
wrong schema without an error as long as the bytes last. So eight known bytes are appended to each payload, and both
schemas are wrapped in a record of the body and those eight: if they are read unchanged, the body was exactly the payload.
The eight are read as a double, which costs least: no length, no object, and any eight bytes are valid. The writer's side
has AWS's header in front, which the reader lacks, so that the header is skipped and not cut off by a copy.
"""

import json
import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace

from penstock.errors import DataProblem
from penstock.schema.avro.canonical import canonical_text
from penstock.schema.avro.model import (
    ArrayType,
    AvroField,
    AvroSchema,
    AvroType,
    MapType,
    NamedType,
    PrimitiveType,
    RecordType,
    UnionType,
    by_reference,
)
from penstock.schema.avro.parse import MAX_TYPE_DEPTH, parse_registered
from penstock.schema.avro.resolve import same_name, source_field
from penstock.schema.errors import InvalidSchema

__all__ = ["HEADER", "MARK", "MARK_VALUE", "field_paths", "framed", "missing_fields", "reader_definition"]

HEADER = 18
"""Bytes of AWS's frame before the payload: byte 3, compression byte, version id."""

MARK = b"\x9dPenstk\xd6"
"""The tail: no union branch or short length begins so, so that decoding a truncated payload fails and does not run on."""

MARK_VALUE: float = struct.unpack("<d", MARK)[0]
"""The mark read as an Avro double; it is a normal number, so that equality means the same eight bytes."""

_HEAD = {"name": "head", "type": {"type": "fixed", "name": "PenstockHead", "size": HEADER}}
_TAIL = {"name": "tail", "type": "double"}


def framed(definition: str, *, header: bool = False) -> str:
    """Return the schema of a payload and :data:`MARK`: a record of ``body`` and ``tail``; with ``header``, also ``head``."""
    fields = [*([_HEAD] if header else []), {"name": "body", "type": json.loads(definition)}, _TAIL]
    return json.dumps({"type": "record", "name": "PenstockFrame", "fields": fields})


def reader_definition(definition: str, writers: Sequence[str]) -> str:
    """Return the reader schema with which records of all ``writers`` (Avro JSON) can be read.

    If a writer lacks a field without a default, its records could not be read, so the field becomes optional with the
    default null. Nothing else changes. Raises :class:`DataProblem` for a definition that cannot be read.
    """
    reader = by_reference(_parsed(definition))
    read_from = _writers_of_records(reader, [_parsed(writer) for writer in writers])
    relaxed = {name: _relaxed(named, read_from.get(name, ())) for name, named in reader.names.items()}
    if relaxed == reader.names:
        return definition
    return canonical_text(AvroSchema(root=reader.root, names=relaxed))


def _parsed(definition: str) -> AvroSchema:
    try:
        return parse_registered(json.loads(definition))
    except (InvalidSchema, ValueError, RecursionError) as error:
        raise DataProblem(f"A schema version cannot be used for decoding. {error}") from error


def _writers_of_records(reader: AvroSchema, writers: Sequence[AvroSchema]) -> dict[str, list[RecordType]]:
    """Return for each record of ``reader`` (by full name) the writers' records that it is read from, at all its uses."""
    by_name: dict[str, list[RecordType]] = {}
    written: set[tuple[str, int, str]] = set()
    todo: list[tuple[AvroType, int, AvroType]] = [(reader.root, index, writer.root) for index, writer in enumerate(writers)]
    while todo:
        ours, index, theirs = todo.pop()
        choices = _branches(theirs, writers[index])
        for branch in _branches(ours, reader):
            match branch:
                case RecordType():
                    for peer in _peers(branch, choices):
                        if (branch.name, index, peer.name) not in written:
                            written.add((branch.name, index, peer.name))
                            by_name.setdefault(branch.name, []).append(peer)
                            todo.extend((field.type, index, source.type) for field, source in _read_fields(branch, peer))
                case ArrayType():
                    todo.extend((branch.items, index, choice.items) for choice in choices if isinstance(choice, ArrayType))
                case MapType():
                    todo.extend((branch.values, index, choice.values) for choice in choices if isinstance(choice, MapType))
                case _:
                    pass
    return by_name


def _branches(avro_type: AvroType, schema: AvroSchema) -> list[AvroType]:
    """Return the branches of a union, or the type itself, with references resolved."""
    target = schema.resolve(avro_type)
    return [schema.resolve(branch) for branch in target.branches] if isinstance(target, UnionType) else [target]


def _peers(reader: RecordType, choices: Sequence[AvroType]) -> list[RecordType]:
    """Return the writer's records for a reader's record: the one of its full name, else of its short name, else any."""
    records = [choice for choice in choices if isinstance(choice, RecordType)]
    return (
        [record for record in records if record.name == reader.name]
        or [record for record in records if same_name(reader, record)]
        or records
    )


def _read_fields(reader: RecordType, writer: RecordType) -> Iterator[tuple[AvroField, AvroField]]:
    written = {field.name: field for field in writer.fields}
    for field in reader.fields:
        source = source_field(field, written)
        if source is not None:
            yield field, source


def _relaxed(named: NamedType, writers: Sequence[RecordType]) -> NamedType:
    if not isinstance(named, RecordType):
        return named
    read = [{item.name for item, _ in _read_fields(named, writer)} for writer in writers]
    return replace(
        named,
        fields=tuple(
            item if item.has_default or all(item.name in names for names in read) else _optional(item)
            for item in named.fields
        ),
    )


def _optional(field: AvroField) -> AvroField:
    branches = field.type.branches if isinstance(field.type, UnionType) else (field.type,)
    solid = (branch for branch in branches if not (isinstance(branch, PrimitiveType) and branch.name == "null"))
    return replace(field, type=UnionType(branches=(PrimitiveType(name="null"), *solid)), has_default=True, default=None)


def field_paths(definition: str) -> dict[str, frozenset[str]]:
    """Return the paths of a record's fields (``a``, ``b.c``; in arrays and maps ``b[].c``), with their aliases' paths."""
    schema = _parsed(definition)
    return dict(_paths(schema, schema.root, "", ()))


def _paths(
    schema: AvroSchema, avro_type: AvroType, prefix: str, inside: tuple[str, ...]
) -> Iterator[tuple[str, frozenset[str]]]:
    for branch in _branches(avro_type, schema):
        match branch:
            case RecordType() if branch.name not in inside and len(inside) < MAX_TYPE_DEPTH:
                for field in branch.fields:
                    path = f"{prefix}.{field.name}" if prefix else field.name
                    yield path, frozenset(f"{prefix}.{alias}" if prefix else alias for alias in field.aliases)
                    yield from _paths(schema, field.type, path, (*inside, branch.name))
            case ArrayType():
                yield from _paths(schema, branch.items, f"{prefix}[]", inside)
            case MapType():
                yield from _paths(schema, branch.values, f"{prefix}[]", inside)
            case _:
                pass


def missing_fields(writer: str, reader: str) -> list[str]:
    """Return the fields of ``writer`` that ``reader`` would drop, only the outermost."""
    theirs, ours = field_paths(writer), field_paths(reader)
    names = set(ours).union(*ours.values()) if ours else set()
    lost = [path for path in theirs if path not in names]
    return [path for path in lost if not any(path.startswith((f"{other}.", f"{other}[")) for other in lost if other != path)]
