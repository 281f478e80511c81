"""Bytes that would end the process or fill its memory. They are decoded in a child, because a miss would end pytest."""

import json
import subprocess
import sys
from typing import Any

import pytest

from penstock.serdes.avro.codec import AvroSchema, decoder, encoder
from penstock.serdes.avro.limits import Limits
from penstock.serdes.errors import PayloadTooLarge, UnreadableSchema

LIST = {
    "type": "record",
    "name": "Node",
    "fields": [{"name": "next", "type": ["null", "Node"]}],
}
TREE = {"type": "record", "name": "Tree", "fields": [{"name": "kids", "type": {"type": "array", "items": "Tree"}}]}
MAPS = {"type": "record", "name": "Maps", "fields": [{"name": "in", "type": {"type": "map", "values": "Maps"}}]}
EMPTY = {"type": "record", "name": "Empty", "fields": [{"name": "n", "type": "null"}]}
HUGE = b"\xfe" + b"\xff" * 4 + b"\x3f"  # 2**40 or so as a count

_CHILD = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
from penstock.serdes.avro.codec import AvroSchema, decoder
from penstock.serdes.errors import SerdeError
definition, payload = json.load(sys.stdin)
try:
    decoder(AvroSchema(json.dumps(definition)))(bytes.fromhex(payload))
    print("value")
except SerdeError as error:
    print(error.reason)
"""


def outcome(definition: Any, payload: bytes) -> str:
    done = subprocess.run(
        [sys.executable, "-c", _CHILD],
        input=json.dumps([definition, payload.hex()]),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("definition", "payload", "expected"),
    [
        pytest.param(LIST, b"\x02" * 5_000, "payload-too-large", id="list of 5,000"),
        pytest.param(LIST, b"\x02" * 2_000_000, "payload-too-large", id="list of 2,000,000"),
        pytest.param(TREE, b"\x02" * 100_000, "payload-too-large", id="tree of arrays"),
        pytest.param(MAPS, b"\x02\x00" * 100_000, "payload-too-large", id="tree of maps"),
        pytest.param({"type": "array", "items": "null"}, HUGE + b"\x00", "payload-too-large", id="array of nulls"),
        pytest.param({"type": "array", "items": EMPTY}, HUGE + b"\x00", "payload-too-large", id="array of empty records"),
        pytest.param(
            {"type": "array", "items": {"type": "fixed", "name": "F", "size": 0}},
            HUGE + b"\x00",
            "payload-too-large",
            id="array of fixed without bytes",
        ),
        pytest.param(
            {"type": "array", "items": "null"},
            b"\xfe\xff\x03" * 40 + b"\x00",
            "payload-too-large",
            id="many blocks of nulls",
        ),
        pytest.param({"type": "array", "items": "int"}, HUGE + b"\x02\x02", "truncated-payload", id="array claims 2**40"),
        pytest.param({"type": "map", "values": "int"}, HUGE + b"\x02a\x02", "truncated-payload", id="map claims 2**40"),
        pytest.param("bytes", HUGE + b"\x02\x02", "truncated-payload", id="bytes claim 2**40"),
        pytest.param("string", HUGE + b"\x02\x02", "truncated-payload", id="string claims 2**40"),
        pytest.param("string", b"\x05abc", "truncated-payload", id="negative length"),
        pytest.param({"type": "fixed", "name": "F", "size": 2**40}, b"ab", "truncated-payload", id="fixed of 2**40"),
        pytest.param("string", b"\x04\xff\xfe", "malformed-payload", id="no UTF-8"),
        pytest.param(["null", "int"], b"\x0e", "malformed-payload", id="no such branch"),
        pytest.param({"type": "int", "logicalType": "date"}, HUGE, "malformed-payload", id="date out of range"),
    ],
)
def test_hostile_payload_is_an_error_and_not_the_end(definition: Any, payload: bytes, expected: str) -> None:
    assert outcome(definition, payload) == expected


def test_what_is_allowed_still_reads() -> None:
    assert outcome(LIST, b"\x02" * 200 + b"\x00") == "value"
    assert outcome({"type": "array", "items": "null"}, b"\x80\x89\x7a\x00") == "value"


def test_a_thread_with_a_small_stack_survives_the_deepest_allowed_value() -> None:
    script = f"""
import threading
from penstock.serdes.avro.codec import AvroSchema, decoder
threading.stack_size(512 * 1024)
read = decoder(AvroSchema({json.dumps(json.dumps(LIST))}))
found = []
thread = threading.Thread(target=lambda: found.append(read(b"\\x02" * 249 + b"\\x00")))
thread.start()
thread.join()
print(len(found))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "1"), done.stderr


def test_depth_is_a_setting() -> None:
    read = decoder(AvroSchema(json.dumps(LIST)), limits=Limits(depth=20))
    with pytest.raises(PayloadTooLarge, match="deeper than 20 levels"):
        read(b"\x02" * 50 + b"\x00")


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: dict[str, Any] = {}
    loop["next"] = loop
    with pytest.raises(PayloadTooLarge, match="contains itself"):
        encoder(AvroSchema(json.dumps(LIST)))(loop)


def test_a_record_that_needs_itself_is_no_schema() -> None:
    definition = {"type": "record", "name": "A", "fields": [{"name": "a", "type": "A"}]}
    with pytest.raises(UnreadableSchema, match="contains itself"):
        AvroSchema(json.dumps(definition))


def test_only_schemas_that_need_it_are_walked() -> None:
    flat = {"type": "record", "name": "R", "fields": [{"name": "a", "type": {"type": "array", "items": "int"}}]}
    again = {"type": "record", "name": "P", "fields": [{"name": "x", "type": EMPTY}, {"name": "y", "type": "Empty"}]}
    assert not AvroSchema(json.dumps(flat)).walk_first
    assert not AvroSchema(json.dumps(again)).walk_first
    for needy in (LIST, TREE, MAPS, {"type": "array", "items": "null"}):
        assert AvroSchema(json.dumps(needy)).walk_first


def test_a_fault_behind_more_values_than_a_message_is_worth_is_not_located() -> None:
    nulls = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "n", "type": {"type": "array", "items": "null"}}, {"name": "s", "type": "string"}],
    }
    schema = AvroSchema(json.dumps(nulls))

    def located(count: int) -> Any:
        # A block of so many items, the end of the array, and a text that is longer than what is left.
        payload = bytearray()
        number = count << 1
        while number > 0x7F:
            payload.append(number & 0x7F | 0x80)
            number >>= 7
        return schema.locate(bytes([*payload, number, 0, 0x7E]), 0, "r")

    assert located(1_000) == ("r.s", "")
    assert located(900_000) is None
