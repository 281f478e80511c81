"""How many schemas a reader keeps prepared."""

from penstock.serdes.avro.codec import AvroSchemas
from penstock.serdes.codec import MessageReader, message_writer
from tests.unit.serdes.fake_registry import FakeRegistry


def test_a_reader_keeps_as_many_versions_as_it_is_told_and_asks_for_the_others_again() -> None:
    registry = FakeRegistry()
    schemas = AvroSchemas()
    versions = [registry.add(definition) for definition in ('"int"', '"long"', '"double"')]
    messages = [message_writer(version.id, schemas.parse(version.definition))(1) for version in versions]
    reader = MessageReader(registry, cache_size=2)
    assert [reader.read(message) for message in messages] == [1, 1, 1]
    assert [reader.knows(message) for message in messages] == [False, True, True]
    assert len(registry.calls) == 3
    assert [reader.read(message) for message in messages[1:]] == [1, 1]
    assert len(registry.calls) == 3
    assert reader.read(messages[0]) == 1
    assert len(registry.calls) == 4
    assert [reader.knows(message) for message in messages] == [True, False, True]
