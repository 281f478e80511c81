"""The verdicts against Google's own runtime: what is called compatible decodes to what was written, what is not does not."""

import itertools
from typing import Any

import pytest
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from penstock.schema.format import ParsedSchema
from penstock.schema.rules import GLUE_RULES
from tests.unit.schema.protobuf.protobuf_schemas import PROTOBUF, proto

INTEGERS = ["int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32", "sfixed64"]
TYPES = [*INTEGERS, "float", "double", "bool", "E", "string", "bytes", "M"]
DECLARED = "enum E { ZERO = 0; ONE = 1; TWO = 2; } message M { int32 x = 1; }"
BY_LUCK = {("sint32", "bool"), ("sint64", "bool")}  # any number but 0 is true
ONES: dict[str, Any] = {**dict.fromkeys(TYPES, 1), "string": "1", "bytes": b"1", "bool": True}


def message(schema: ParsedSchema) -> Any:
    pool = DescriptorPool()
    for file in schema.tree.files:
        pool.AddSerializedFile(file.SerializeToString())
    return GetMessageClass(pool.FindMessageTypeByName("R"))


def written(kind: str, label: str, schema: ParsedSchema) -> bytes:
    value = message(schema)()
    if kind == "M":
        (value.f.add() if label == "repeated" else value.f).x = 1
    elif label == "repeated":
        value.f.extend([ONES[kind]] * 2)
    else:
        value.f = ONES[kind]
    return bytes(value.SerializeToString())


def read(kind: str, label: str, schema: ParsedSchema, data: bytes) -> Any:
    """The first value, as text and numbers compare: the string, the number, or the message's field."""
    try:
        value = message(schema).FromString(data)
    except DecodeError:
        return None
    if label == "repeated":
        if not value.f:
            return None
        result = value.f[0]
    else:
        if not value.HasField("f"):
            return None
        result = value.f
    if kind == "M":
        return ("message", result.x)
    return result.decode(errors="replace") if isinstance(result, bytes) else result


@pytest.mark.parametrize(("writer", "reader"), list(itertools.product(TYPES, TYPES)))
def test_types(writer: str, reader: str) -> None:
    old, new = (proto(f"message R {{ optional {kind} f = 1; }} {DECLARED}") for kind in (writer, reader))
    compatible = not PROTOBUF.readable(new, old, GLUE_RULES)
    expected = ("message", 1) if writer == "M" else ONES[writer].decode() if writer == "bytes" else ONES[writer]
    same = read(reader, "optional", new, written(writer, "optional", old)) == expected
    assert same == (compatible or (writer, reader) in BY_LUCK)


@pytest.mark.parametrize("kind", TYPES)
def test_repeated_to_one(kind: str) -> None:
    old, new = (proto(f"message R {{ {label} {kind} f = 1; }} {DECLARED}") for label in ("repeated", "optional"))
    compatible = not PROTOBUF.readable(new, old, GLUE_RULES)
    assert compatible == (kind in {"string", "bytes", "M"})
    # Single fields are read by repeated ones whatever the type; it is the way back that breaks.
    result = read(kind, "optional", new, written(kind, "repeated", old))
    expected = ("message", 1) if kind == "M" else "1" if kind in {"string", "bytes"} else None
    if compatible:
        assert result == expected
