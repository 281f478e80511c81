"""Hostile messages in every frame, and hostile definitions behind them, through the reader that a consumer has.

All run in one child with a gigabyte of address space, because a miss would end pytest.
"""

import base64
import contextlib
import json
import subprocess
import sys
import zlib
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import NotFound
from penstock.schema.version import SchemaText, SchemaVersion
from penstock.serdes import confluent_frame as confluent
from penstock.serdes import frame
from penstock.serdes.avro.codec import AvroSchema
from penstock.serdes.codec import MessageReader
from penstock.serdes.errors import SerdeError, UnreadableSchema

ID = UUID("b7b4a7f0-9c96-4e4a-a687-fb5de9ef0c63")
NODE = {"type": "record", "name": "Node", "fields": [{"name": "next", "type": ["null", "Node"]}]}
ITEMS = {"type": "array", "items": "string"}
NULLS = {"type": "array", "items": "null"}


def claim(count: int) -> bytes:
    """A count as Avro writes it: zig-zag, then seven bits a byte."""
    number, out = (count << 1) ^ (count >> 63), bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def bomb(size: int) -> bytes:
    packer = zlib.compressobj(9)
    return b"".join([*(packer.compress(bytes(1 << 20)) for _ in range(size >> 20)), packer.flush()])


FRAMES: dict[str, Any] = {
    "glue": lambda payload: (frame.encode(ID, payload), None),
    "glue zlib": lambda payload: (frame.encode(ID, payload, frame.Compression.ZLIB), None),
    "id": lambda payload: (confluent.prefix(7) + payload, None),
    "guid": lambda payload: (confluent.prefix(ID) + payload, None),
    "header": lambda payload: (payload, confluent.prefix(7)),
}
PAYLOADS: list[tuple[Any, bytes, str]] = [
    (ITEMS, claim(2**60) + b"\x02a", "truncated-payload"),
    (ITEMS, claim(2**60) * 10_000, "truncated-payload"),
    ({"type": "map", "values": "long"}, claim(2**60) + b"\x02a\x02", "truncated-payload"),
    (NULLS, claim(2**60) + b"\x00", "payload-too-large"),
    (NULLS, claim(2**60) * 1_000 + b"\x00", "payload-too-large"),
    ("bytes", claim(2**60) + b"a", "truncated-payload"),
    (NODE, b"\x02" * 1_000_000, "payload-too-large"),
    ("string", bytes(2), "trailing-bytes"),
]

_CHILD = """
import base64, json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
from uuid import UUID
from penstock.schema.version import SchemaText, SchemaVersion
from penstock.serdes.codec import MessageReader
from penstock.serdes.errors import SerdeError

class Source:
    def __init__(self, definition):
        self.definition = definition
    def version(self, version_id):
        return SchemaVersion(id=version_id, schema_arn="a", registry_name="r", schema_name="s", number=1,
                             definition=self.definition, data_format="AVRO")
    def text(self, schema_id):
        return SchemaText(definition=self.definition, data_format="AVRO")

for line in sys.stdin:
    definition, message, header = json.loads(line)
    source = Source(definition)
    headers = [("__value_schema_id", base64.b64decode(header))] if header else None
    try:
        MessageReader(source, confluent=source).read(base64.b64decode(message), headers)
        found = "value"
    except SerdeError as error:
        found = error.reason
    print(found, flush=True)
"""


def outcomes(cases: list[tuple[str, bytes, bytes | None]]) -> list[str]:
    lines = [
        json.dumps([text, base64.b64encode(data).decode(), base64.b64encode(head).decode() if head else None])
        for text, data, head in cases
    ]
    done = subprocess.run(
        [sys.executable, "-c", _CHILD], input="\n".join(lines), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def test_payloads_in_every_frame() -> None:
    cases = [(json.dumps(kind), *build(payload)) for build in FRAMES.values() for kind, payload, _ in PAYLOADS]
    assert outcomes(cases) == [reason for _ in FRAMES for _, _, reason in PAYLOADS]


def test_zlib_bombs() -> None:
    large = frame.header(ID, frame.Compression.ZLIB) + bomb(1 << 28)
    cut = large[:-10]
    twice = frame.header(ID, frame.Compression.ZLIB) + zlib.compress(b"\x00") + bomb(1 << 22)
    nested = frame.encode(ID, bomb(1 << 25), frame.Compression.ZLIB)
    assert len(large) < 2 << 20
    cases: list[tuple[str, bytes, bytes | None]] = [('"bytes"', data, None) for data in (large, cut, twice, nested)]
    assert outcomes(cases) == ["payload-too-large", "payload-too-large", "corrupt-compression", "trailing-bytes"]


def deep(levels: int) -> str:
    return '{"type":"array","items":' * levels + '"int"' + "}" * levels


HOSTILE_DEFINITIONS = {
    "deep JSON": deep(100_000),
    "deep types": deep(400),
    "brackets": "[" * 170_000,
    "marked as parsed": json.dumps(
        {"__fastavro_parsed": True, "__named_schemas": {}, "type": "record", "name": "R", "fields": [{}]}
    ),
    "marked inside": json.dumps(["null", {"__fastavro_parsed": True, "__named_schemas": {"R": 5}, "type": "fixed"}]),
    "a record in itself": json.dumps({"type": "record", "name": "A", "fields": [{"name": "a", "type": "A"}]}),
    "huge decimal": json.dumps({"type": "fixed", "name": "F", "size": 10**400, "logicalType": "decimal", "precision": 1}),
    "size as text": json.dumps({"type": "fixed", "name": "F", "size": "many"}),
    "no symbols": json.dumps({"type": "enum", "name": "E"}),
    "not JSON": "{",
    "digits": "9" * 100_000,
    "fields of numbers": json.dumps({"type": "record", "name": "R", "fields": [1, 2]}),
    "type of a list": json.dumps({"type": ["int"]}),
}


def test_definitions_from_a_hostile_registry() -> None:
    cases = [(text, *build(b"\x02")) for text in HOSTILE_DEFINITIONS.values() for build in FRAMES.values()]
    results = dict(zip([name for name in HOSTILE_DEFINITIONS for _ in FRAMES], outcomes(cases), strict=True))
    assert set(results.values()) <= {"unreadable-schema", "truncated-payload", "malformed-payload"}, results


class Source:
    def __init__(self, definition: str) -> None:
        self.definition = definition

    def version(self, version_id: UUID) -> SchemaVersion:
        if version_id != ID:
            raise NotFound("Schema version is not found.")
        return SchemaVersion(
            id=ID,
            schema_arn="a",
            registry_name="r",
            schema_name="s",
            number=1,
            definition=self.definition,
            data_format="AVRO",
        )

    def latest(self, registry: str, schema: str) -> SchemaVersion:
        return self.version(ID)

    def text(self, schema_id: int | UUID) -> SchemaText:
        if schema_id not in (7, ID):
            raise NotFound("Schema 40403 not found.")
        return SchemaText(definition=self.definition, data_format="AVRO")


READERS = [
    MessageReader(Source(json.dumps(kind)), confluent=Source(json.dumps(kind)))
    for kind in (NODE, NULLS, ITEMS, ["null", "string", {"type": "map", "values": ["int", "bytes"]}])
]
HEADS = st.sampled_from(
    [frame.header(ID), frame.header(ID, frame.Compression.ZLIB), confluent.prefix(7), confluent.prefix(ID), b""]
)


@settings(max_examples=500, deadline=None)
@given(
    reader=st.sampled_from(READERS),
    head=HEADS,
    payload=st.binary(max_size=60),
    header=st.one_of(st.none(), st.binary(max_size=20), st.just(confluent.prefix(7)), st.text(max_size=3)),
    squeeze=st.booleans(),
)
def test_any_bytes_are_a_value_or_an_error_of_ours(
    reader: MessageReader, head: bytes, payload: bytes, header: Any, squeeze: bool
) -> None:
    message = head + (zlib.compress(payload) if squeeze else payload)
    headers = None if header is None else [(confluent.VALUE_HEADER, header)]
    with contextlib.suppress(SerdeError):
        reader.read(message, headers)


SCALARS = st.one_of(
    st.sampled_from(["record", "enum", "fixed", "array", "map", "int", "bytes", "R", "n.R", "decimal", "duration", ""]),
    st.none(),
    st.booleans(),
    st.integers(-3, 2**70),
)
KEYS = st.one_of(
    st.sampled_from(["type", "name", "namespace", "fields", "symbols", "items", "values", "size", "default", "aliases"]),
    st.sampled_from(["logicalType", "precision", "scale", "__fastavro_parsed", "__named_schemas"]),
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=6)), max_leaves=25
)


FIELDS = st.lists(st.fixed_dictionaries({"name": VALUES, "type": VALUES}), max_size=3)
NAMED = st.fixed_dictionaries(
    {"type": st.sampled_from(["fixed", "enum", "record"]), "name": st.just("R")},
    optional={"size": VALUES, "symbols": VALUES, "fields": FIELDS},
)


@settings(max_examples=300, deadline=None)
@given(definition=st.one_of(VALUES, NAMED))
def test_any_json_is_a_schema_or_refused(definition: Any) -> None:
    with contextlib.suppress(UnreadableSchema):
        AvroSchema(json.dumps(definition))


def test_a_definition_of_the_largest_size_is_parsed() -> None:
    fields = [{"name": f"field_{number:05}", "type": ["null", "string"], "default": None} for number in range(2_300)]
    text = json.dumps({"type": "record", "name": "R", "fields": fields}, separators=(",", ":"))
    assert 130_000 < len(text) < 170_000
    assert AvroSchema(text).is_record


@pytest.mark.parametrize("text", HOSTILE_DEFINITIONS.values(), ids=HOSTILE_DEFINITIONS)
def test_hostile_definitions_are_refused_by_name(text: str) -> None:
    if text == HOSTILE_DEFINITIONS["huge decimal"]:
        assert AvroSchema(text).parsed["size"] == 10**400
        return
    with pytest.raises(UnreadableSchema):
        AvroSchema(text)
