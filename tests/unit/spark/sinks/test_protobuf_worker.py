"""JSON to Protobuf messages, as Spark's Python workers make them."""

import pyarrow as pa
import pytest

from penstock.schema.formats.protobuf import ProtobufFormat
from penstock.spark.sinks.protobuf_worker import message_writer

PROTO = 'syntax = "proto3"; package shop; message Out { int64 id = 1; optional string name = 2; }'


def test_messages_have_the_head_and_null_stays_null() -> None:
    files = [file.SerializeToString() for file in ProtobufFormat().parse(PROTO).tree.files]
    write = message_writer(files, "shop.Out", b"head")
    assert write(pa.array(['{"id": 1}', None, '{"id": 2, "name": ""}', "{}"])).to_pylist() == [
        b"head\x08\x01",
        None,
        b"head\x08\x02\x12\x00",
        b"head",
    ]
    with pytest.raises(ValueError, match=r'PROTOBUF_MISFIT: .*no field named "surplus"'):
        write(pa.array(['{"surplus": 1}']))
