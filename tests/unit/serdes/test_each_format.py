"""Each data format has an encoder, a decoder and checks, whose payloads go there and back."""

from typing import Any

import pytest

from penstock.schema.format import DATA_FORMATS
from penstock.schema.version import SchemaText
from penstock.serdes.avro.codec import AvroSchemas
from penstock.serdes.avro.limits import Limits
from penstock.serdes.checking import DataChecks
from penstock.serdes.decoders import PayloadDecoders
from penstock.serdes.encoders import payload_encoder
from penstock.serdes.errors import UnreadableSchema

SAMPLES: dict[str, tuple[str, Any]] = {
    "AVRO": ('{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}', {"a": 1}),
    "JSON": ('{"type": "object", "properties": {"a": {"type": "integer"}}}', {"a": 1}),
    "PROTOBUF": ('syntax = "proto3"; message R { int32 a = 1; }', {"a": 1}),
}


def test_every_format_has_a_sample() -> None:
    assert tuple(SAMPLES) == DATA_FORMATS


@pytest.mark.parametrize("data_format", SAMPLES)
def test_a_value_goes_there_and_back(data_format: str) -> None:
    definition, value = SAMPLES[data_format]
    schema = SchemaText(definition=definition, data_format=data_format)
    payload = payload_encoder(schema)(b"")(value)
    decoders = PayloadDecoders(None, formats=DATA_FORMATS, schemas=AvroSchemas(1), limits=Limits())
    assert decoders.decoder(schema, "It", start=0)(payload) == value
    assert DataChecks().misfit(data_format, definition, '{"a": 1}') is None


def test_another_format_is_refused() -> None:
    other = SchemaText(definition="text", data_format="OTHER")
    with pytest.raises(UnreadableSchema, match="OTHER"):
        payload_encoder(other)
    with pytest.raises(UnreadableSchema, match="It is OTHER"):
        PayloadDecoders(None, formats=["OTHER"], schemas=AvroSchemas(1), limits=Limits()).decoder(other, "It", start=0)
