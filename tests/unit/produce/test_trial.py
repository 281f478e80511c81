"""Real records tried with a new definition: records that it breaks are separated from those broken before, and located."""

import json
from typing import Any, cast
from uuid import UUID, uuid4

import pytest
from confluent_kafka import Message
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import NotFound
from penstock.produce.tail import spread
from penstock.produce.trial import Trial, try_records
from penstock.schema.version import SchemaText, SchemaVersion
from penstock.serdes.avro.codec import AvroSchema, encoder
from penstock.serdes.codec import confluent_writer, message_writer
from penstock.serdes.errors import UnreadableSchema

STATE = {"type": "enum", "name": "State", "symbols": ["ON_TIME", "LATE"]}
OLD = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}, {"name": "s", "type": STATE}]}
ID = UUID("b7b4a7f0-9c96-4e4a-a687-fb5de9ef0c63")


class Source:
    """Knows one version; and, by Confluent's id 7, the same text."""

    def version(self, version_id: UUID) -> SchemaVersion:
        if version_id != ID:
            raise NotFound("Schema version is not found.")
        return SchemaVersion(
            id=ID,
            schema_arn="arn",
            registry_name="r",
            schema_name="s",
            number=3,
            definition=json.dumps(OLD),
            data_format="AVRO",
        )

    def latest(self, registry: str, schema: str) -> SchemaVersion:
        return self.version(ID)

    def text(self, schema_id: int | UUID) -> SchemaText:
        return SchemaText(definition=json.dumps(OLD), data_format="AVRO")


class Record:
    def __init__(self, value: bytes | None, offset: int, *, partition: int = 0, key: bytes | None = None) -> None:
        self._parts = value, key, partition, offset

    def value(self) -> bytes | None:
        return self._parts[0]

    def key(self) -> bytes | None:
        return self._parts[1]

    def partition(self) -> int:
        return self._parts[2]

    def offset(self) -> int:
        return self._parts[3]

    def headers(self) -> None:
        return None


WRITE = message_writer(ID, AvroSchema(json.dumps(OLD)))
FINE, LATE = WRITE({"a": 1, "s": "ON_TIME"}), WRITE({"a": 2, "s": "LATE"})


def tried(new: Any, *records: Record, **options: Any) -> Trial:
    definition = SchemaText(definition=json.dumps(new), data_format="AVRO")
    return try_records("t", cast("list[Message]", records), definition, Source(), **options)


def test_what_breaks_is_counted_with_its_offsets() -> None:
    narrower = json.loads(json.dumps(OLD).replace(', "LATE"', ""))
    records = [Record(FINE if offset % 3 else LATE, offset, partition=offset % 2) for offset in range(60)]
    trial = tried(narrower, *records, Record(None, 60), Record(b"\x03\x00short", 61), Record(b"\x09" * 30, 62))
    assert (trial.records, trial.readable, trial.tombstones, trial.partitions) == (63, 40, 1, 2)
    (broken,) = trial.broken
    assert (broken.reason, broken.writer, broken.count) == ("unreadable-schema", "version 3 of r/s", 20)
    assert set(broken.places) == {(offset % 2, offset) for offset in range(0, 60, 3)}
    assert "LATE" in broken.message
    assert [(item.reason, item.count, item.places) for item in trial.unreadable] == [
        ("truncated-frame", 1, ((0, 61),)),
        ("not-framed", 1, ((0, 62),)),
    ]
    assert json.loads(json.dumps(trial.to_json()))["broken"][0]["records"][0] == {"partition": 0, "offset": 0}


def test_a_field_without_default_breaks_every_record() -> None:
    wider = {**OLD, "fields": [*OLD["fields"], {"name": "b", "type": "int"}]}
    trial = tried(wider, *(Record(FINE, offset) for offset in range(100)))
    assert (trial.readable, trial.broken[0].count, len(trial.broken[0].places)) == (0, 100, 20)
    assert "b" in trial.broken[0].message


def test_unlike_failures_do_not_fill_the_memory() -> None:
    cut = [Record(FINE[:18] + bytes([2, 2]) + b"x" * size, size) for size in range(1, 300)]
    trial = tried(OLD, *cut)
    assert sum(item.count for item in trial.unreadable) == 299
    assert len(trial.unreadable) < 5


def test_keys_and_confluents_frames() -> None:
    framed = confluent_writer(7, lambda prefix: encoder(AvroSchema(json.dumps(OLD)), prefix=prefix))({"a": 1, "s": "LATE"})
    narrower = json.loads(json.dumps(OLD).replace(', "LATE"', ""))
    trial = tried(narrower, Record(None, 5, key=framed), confluent=Source(), key=True)
    assert trial.broken[0].writer == "schema 7"
    assert tried(narrower, Record(framed, 5)).unreadable[0].reason == "truncated-frame"


def test_a_definition_that_no_reader_can_use() -> None:
    with pytest.raises(UnreadableSchema):
        tried({"type": "record"}, Record(FINE, 0))


def test_an_unknown_version_does_not_count_as_broken() -> None:
    other = message_writer(uuid4(), AvroSchema(json.dumps(OLD)))({"a": 1, "s": "LATE"})
    assert tried(OLD, Record(other, 0)).unreadable[0].reason == "unknown-schema-version"


@given(st.integers(1, 500), st.dictionaries(st.integers(0, 20), st.integers(0, 300), max_size=8))
def test_shares_are_even_and_complete(count: int, sizes: dict[int, int]) -> None:
    shares = spread(count, sizes)
    assert sum(shares.values()) == min(count, sum(sizes.values()))
    assert all(0 <= shares[number] <= size for number, size in sizes.items())
    unfilled = [shares[number] for number, size in sizes.items() if shares[number] < size]
    assert not unfilled or max(shares.values()) - min(unfilled) <= 1
