"""Writer and reader schemas as Spark's ``from_avro`` needs them: framed by a tail mark, and always resolvable.

``from_avro`` in PERMISSIVE mode makes a struct of nulls of a record it cannot read, and reads a payload with the wrong
schema without a word as long as the bytes last. So eight known bytes are put behind each payload, and both schemas are
wrapped in a record of the body and those eight: where they come out unchanged the body took exactly its payload. The
eight are read as a double, which costs least: no length, no object, any eight bytes will do. The writer's side has AWS's
header in front, which the reader leaves out, so that the header is skipped and not cut off by a copy.
"""

import json
import struct
from collections.abc import Iterator, Sequence
from typing import Any

from penstock.errors import DataProblem

__all__ = ["HEADER", "MARK", "MARK_VALUE", "field_paths", "framed", "missing_fields", "reader_definition"]

HEADER = 18
"""Bytes of AWS's frame before the payload: byte 3, compression byte, version id."""

MARK = b"\x9dPenstk\xd6"
"""The tail: it begins as no union branch or short length does, so that a payload cut short fails rather than runs on."""

MARK_VALUE: float = struct.unpack("<d", MARK)[0]
"""The mark as Avro reads a double; a normal number, so that being equal means the same eight bytes."""

MAX_DEPTH = 64

_HEAD = {"name": "head", "type": {"type": "fixed", "name": "PenstockHead", "size": HEADER}}
_TAIL = {"name": "tail", "type": "double"}
_NAMED = {"record", "error", "enum", "fixed"}


def framed(definition: str, *, header: bool = False) -> str:
    """The schema of a payload and :data:`MARK`: a record of ``body`` and ``tail``; with ``header`` after a ``head``."""
    fields = [*([_HEAD] if header else []), {"name": "body", "type": json.loads(definition)}, _TAIL]
    return json.dumps({"type": "record", "name": "PenstockFrame", "fields": fields})


def reader_definition(definition: str, writers: Sequence[str]) -> str:
    """The reader schema with which a record of each of ``writers`` (Avro JSON) can be read.

    A field without a default that some writer lacks would fail that writer's records: it becomes optional, null by
    default. Nothing else changes.
    """
    resolved = [json.loads(writer) for writer in writers]
    return json.dumps(_relaxed(json.loads(definition), [(writer, _names(writer)) for writer in resolved], 0))


def _names(schema: Any) -> dict[str, Any]:
    """The named types of a schema by their short names."""
    return {
        str(node["name"]).rpartition(".")[2]: node for node in _walk(schema, 0) if isinstance(node, dict) and "name" in node
    }


def _walk(schema: Any, depth: int) -> Iterator[Any]:
    if depth > MAX_DEPTH:
        raise DataProblem(f"A schema is nested more than {MAX_DEPTH} levels deep.")
    if isinstance(schema, list):
        for branch in schema:
            yield from _walk(branch, depth + 1)
    elif isinstance(schema, dict):
        kind = schema.get("type")
        if kind in _NAMED:
            yield schema
        for each in schema.get("fields", ()) if kind in {"record", "error"} else ():
            yield from _walk(each["type"], depth + 1)
        inner = schema.get("items") if kind == "array" else schema.get("values") if kind == "map" else None
        if inner is not None:
            yield from _walk(inner, depth + 1)
        if isinstance(kind, dict | list):
            yield from _walk(kind, depth + 1)


_Writer = tuple[Any, dict[str, Any]]


def _branches(writers: Sequence[_Writer]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Each writer's type, unions taken apart and references followed; only those with a structure."""
    found: list[tuple[dict[str, Any], dict[str, Any]]] = []
    for schema, names in writers:
        for branch in schema if isinstance(schema, list) else [schema]:
            node = names.get(branch.rpartition(".")[2]) if isinstance(branch, str) else branch
            if isinstance(node, dict) and isinstance(node.get("type"), dict | list):
                found.extend(_branches([(node["type"], names)]))
            elif isinstance(node, dict):
                found.append((node, names))
    return found


def _relaxed(reader: Any, writers: Sequence[_Writer], depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise DataProblem(f"A schema is nested more than {MAX_DEPTH} levels deep.")
    if isinstance(reader, list):
        return [_relaxed(branch, writers, depth + 1) for branch in reader]
    if not isinstance(reader, dict):
        return reader
    kind = reader.get("type")
    if isinstance(kind, dict | list):
        return {**reader, "type": _relaxed(kind, writers, depth + 1)}
    peers = [(node, names) for node, names in _branches(writers) if node.get("type") == kind]
    if kind in {"record", "error"}:
        short = str(reader["name"]).rpartition(".")[2]
        same = [(node, names) for node, names in peers if str(node["name"]).rpartition(".")[2] == short]
        return {**reader, "fields": [_relaxed_field(each, same or peers, depth) for each in reader["fields"]]}
    for inner in ("items", "values"):
        if inner in reader:
            return {**reader, inner: _relaxed(reader[inner], [(node[inner], names) for node, names in peers], depth + 1)}
    return reader


def _relaxed_field(field: dict[str, Any], writers: Sequence[_Writer], depth: int) -> dict[str, Any]:
    names = {field["name"], *field.get("aliases", ())}
    theirs = [[each for each in node["fields"] if each["name"] in names] for node, _ in writers]
    present = [(found[0]["type"], types) for found, (_, types) in zip(theirs, writers, strict=True) if found]
    kind = _relaxed(field["type"], present, depth + 1)
    if "default" in field or all(theirs):
        return {**field, "type": kind}
    branches = kind if isinstance(kind, list) else [kind]
    return {**field, "type": ["null", *(branch for branch in branches if branch != "null")], "default": None}


def field_paths(definition: str) -> dict[str, frozenset[str]]:
    """Paths of a record's fields (``a``, ``b.c``; in arrays and maps ``b[].c``), each with its aliases' paths."""
    schema = json.loads(definition)
    return dict(_paths(schema, _names(schema), "", 0, ()))


def _paths(
    schema: Any, names: dict[str, Any], prefix: str, depth: int, seen: tuple[str, ...]
) -> Iterator[tuple[str, frozenset[str]]]:
    for node, _ in _branches([(schema, names)]):
        kind = node.get("type")
        if kind in {"record", "error"}:
            if node["name"] in seen or depth > MAX_DEPTH:
                continue
            for each in node["fields"]:
                path = f"{prefix}.{each['name']}" if prefix else each["name"]
                yield path, frozenset(f"{prefix}.{alias}" if prefix else alias for alias in each.get("aliases", ()))
                yield from _paths(each["type"], names, path, depth + 1, (*seen, node["name"]))
        elif kind == "array":
            yield from _paths(node["items"], names, f"{prefix}[]", depth + 1, seen)
        elif kind == "map":
            yield from _paths(node["values"], names, f"{prefix}[]", depth + 1, seen)


def missing_fields(writer: str, reader: str) -> list[str]:
    """Fields of ``writer`` that ``reader`` would drop, outermost only."""
    theirs, ours = field_paths(writer), field_paths(reader)
    known = set(ours).union(*ours.values()) if ours else set()
    lost = [path for path in theirs if path not in known]
    return [path for path in lost if not any(path.startswith((f"{other}.", f"{other}[")) for other in lost if other != path)]
