"""Masks of fields by the tags that the reader schema gives them, or by their paths; they run before any step.

Tags are an array of texts under ``tags`` or ``confluent:tags`` (Confluent's stream catalogue) of an Avro field or a JSON
Schema property, and the comma-separated option ``(tags) = "pii"``, or ``// tags: pii``, at a field of a Protobuf definition.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StringType, StructType

from penstock.errors import InvalidInput
from penstock.pipelines.transforms import Mask, MaskAction
from penstock.schema.version import SchemaVersion

__all__ = ["field_tags", "masked", "masked_paths"]

_TAGS = ("tags", "confluent:tags")
_BLOCK = 64  # bytes of SHA-256's block, RFC 2104
_REDACTED = "[redacted]"
_FIELD = re.compile(
    r"^\s*(?:(?:optional|required|repeated)\s+)?[\w.]+(?:\s*<[^>]*>)?\s+(?P<name>\w+)\s*=\s*\d+\s*(?P<options>\[[^\]]*\])?\s*;"
    r"[ \t]*(?://\s*tags:\s*(?P<comment>[^\n]*))?",
    re.MULTILINE,
)
_OPTION = re.compile(r"tags\)?\s*=\s*\"([^\"]*)\"")
_MESSAGE = re.compile(r"\bmessage\s+\w+\s*\{")


def field_tags(version: SchemaVersion) -> dict[str, frozenset[str]]:
    """Return the tags of each tagged field, by its path (``address.street``); arrays and maps are not part of a path."""
    if version.data_format == "PROTOBUF":
        return dict(_protobuf(version.definition))
    document = json.loads(version.definition)
    if version.data_format == "JSON":
        return dict(_json(document, document, ""))
    return dict(_avro(document, "", {}, 0))


def _own(node: Mapping[str, Any]) -> frozenset[str]:
    tags = [tag for name in _TAGS if isinstance(node.get(name), list) for tag in node[name]]
    return frozenset(tag for tag in tags if isinstance(tag, str))


def _avro(node: Any, path: str, named: dict[str, Any], depth: int) -> Iterator[tuple[str, frozenset[str]]]:
    if isinstance(node, str) and node in named:
        node, depth = named[node], depth + 10
    if isinstance(node, list):
        for branch in node:
            yield from _avro(branch, path, named, depth + 1)
    if not isinstance(node, dict) or depth > 50:  # recursive types end here
        return
    if node.get("type") == "record":
        yield from _record(node, path, named, depth)
    else:
        yield from _avro(node.get("items", node.get("values", node.get("type"))), path, named, depth + 1)


def _record(node: Mapping[str, Any], path: str, named: dict[str, Any], depth: int) -> Iterator[tuple[str, frozenset[str]]]:
    named.update({str(node.get("name")): node, f"{node.get('namespace', '')}.{node.get('name')}": node})
    for field in node.get("fields", ()):
        inner = f"{path}.{field['name']}" if path else str(field["name"])
        if _own(field):
            yield inner, _own(field)
        yield from _avro(field["type"], inner, named, depth + 1)


def _json(node: Any, top: Mapping[str, Any], path: str, depth: int = 0) -> Iterator[tuple[str, frozenset[str]]]:
    if not isinstance(node, dict) or depth > 20:
        return
    reference = node.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/"):
        value: Any = top
        for part in reference[2:].split("/"):
            value = value.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(value, dict) else None
        yield from _json(value, top, path, depth + 1)
    for name, inner in (node.get("properties") or {}).items():
        where = f"{path}.{name}" if path else name
        if isinstance(inner, dict) and _own(inner):
            yield where, _own(inner)
        yield from _json(inner, top, where, depth + 1)
    for part in ("items", "additionalProperties"):
        yield from _json(node.get(part), top, path, depth + 1)
    for several in ("allOf", "anyOf", "oneOf"):
        for item in node.get(several) or ():
            yield from _json(item, top, path, depth + 1)


def _protobuf(text: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Fields of the first message only: nested ones are masked by their paths in ``fields``."""
    start = _MESSAGE.search(text)
    if start is None:
        return
    depth, end = 1, start.end()
    while depth and end < len(text):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    body = re.sub(r"\b(?:message|enum)\s+\w+\s*\{[^{}]*\}", "", text[start.end() : end])
    for field in _FIELD.finditer(body):
        option = _OPTION.search(field["options"] or "")
        documentation = (option.group(1) if option else field["comment"]) or ""
        tags = frozenset(tag.strip() for tag in documentation.split(",") if tag.strip())
        if tags:
            yield field["name"], tags


def masked_paths(mask: Mask, tags: Mapping[str, frozenset[str]]) -> dict[str, MaskAction]:
    """Return the action of each field's path. A path under ``fields`` counts more than tags, an earlier tag than a later."""
    actions = {
        path: next(action for tag, action in mask.tags.items() if tag in own)
        for path, own in tags.items()
        if own & set(mask.tags)
    }
    return {**actions, **mask.fields}


@dataclass(frozen=True, slots=True)
class _Masking:
    """One field's action; ``path`` is for messages."""

    action: MaskAction
    key: bytes | None
    path: str


def masked(rows: DataFrame, actions: Mapping[str, MaskAction], key: bytes | None) -> DataFrame:
    """Return ``rows`` with the fields of ``actions`` masked; fields that they lack are ignored.

    ``key`` is that of ``hash``. Raises :class:`InvalidInput` for a field whose type an action cannot mask.
    """
    columns = {field.name: field.dataType for field in rows.schema.fields}
    for path, action in sorted(actions.items()):
        name, *rest = path.split(".")
        if name in columns:
            rows = rows.withColumn(name, _inside(F.col(f"`{name}`"), columns[name], rest, _Masking(action, key, path)))
    return rows


def _inside(column: Column, data_type: DataType, path: list[str], masking: _Masking) -> Column:
    if isinstance(data_type, ArrayType):
        element = data_type.elementType
        return F.transform(column, lambda item: _inside(item, element, path, masking))
    if isinstance(data_type, MapType):
        value = data_type.valueType
        return F.transform_values(column, lambda _, entry: _inside(entry, value, path, masking))
    if not path:
        return _value(column, data_type, masking)
    if not isinstance(data_type, StructType) or path[0] not in data_type.names:
        return column
    changed = _inside(column.getField(path[0]), data_type[path[0]].dataType, path[1:], masking)
    return F.when(column.isNotNull(), column.withField(f"`{path[0]}`", changed))


def _value(column: Column, data_type: DataType, masking: _Masking) -> Column:
    if masking.action == "null":
        return F.lit(None).cast(data_type)
    if masking.action == "hash" and masking.key is not None and not isinstance(data_type, StructType):
        message = column if isinstance(data_type, BinaryType) else F.encode(column.cast("string"), "UTF-8")
        return _hmac(message, masking.key)
    if not isinstance(data_type, StringType):
        raise InvalidInput(
            f"Field {masking.path} cannot be masked with '{masking.action}': it is {data_type.simpleString()}, not a text.",
            remedy="Use null for it, or hash, which makes a text of any plain value.",
        )
    if masking.action == "redact":
        return F.when(column.isNotNull(), F.lit(_REDACTED))
    shown = F.when(F.length(column) > 4, F.right(column, F.lit(4))).otherwise(F.lit(""))
    return F.when(column.isNotNull(), F.concat(F.lit("****"), shown))


def _hmac(message: Column, key: bytes) -> Column:
    """RFC 2104 with SHA-256, in Spark's own functions."""
    block = (hashlib.sha256(key).digest() if len(key) > _BLOCK else key).ljust(_BLOCK, b"\0")
    inner, outer = (bytearray(byte ^ pad for byte in block) for pad in (0x36, 0x5C))
    digest = F.unhex(F.sha2(F.concat(F.lit(inner), message), 256))
    return F.sha2(F.concat(F.lit(outer), digest), 256)
