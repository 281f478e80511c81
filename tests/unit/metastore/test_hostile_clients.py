"""Whatever a process of the same user sends, the metastore closes that connection and serves the others."""

import logging
import socket
import struct
from collections.abc import Iterator
from typing import Any

import pytest
from hive_metastore import ThriftHiveMetastore
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from penstock.metastore import server as metastore
from penstock.metastore.server import MetastoreServer, serving

STRUCT, LIST, MAP, STRING, I32 = 12, 15, 13, 11, 8


class Handler:
    """Knows one answer."""

    def get_all_databases(self) -> list[str]:
        return ["db"]


def call(name: str, body: bytes) -> bytes:
    """A call of Thrift's binary protocol, with the bytes of its arguments."""
    return struct.pack(">II", 0x80010001, len(name)) + name.encode() + struct.pack(">I", 0) + body


def field(kind: int, number: int, body: bytes) -> bytes:
    return struct.pack(">BH", kind, number) + body


def items(kind: int, count: int, body: bytes = b"") -> bytes:
    return struct.pack(">BI", kind, count) + body


HOSTILE = {
    "http": b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "zeros": bytes(1_000),
    "ones": b"\xff" * 1_000,
    "another version": struct.pack(">II", 0x80020001, 3) + b"abc" + bytes(4),
    "a long name": struct.pack(">II", 0x80010001, 0x7FFFFFFF),
    "a negative name": struct.pack(">Ii", 0x80010001, -5),
    "a name that is no text": call("x", b"").replace(b"x", b"\xff"),
    "a list of two thousand million": call("add_partitions", field(LIST, 1, items(STRUCT, 2**31 - 1))),
    "a negative list": call("add_partitions", field(LIST, 1, items(STRUCT, 2**32 - 5))),
    "lists that are many together": call(
        "get_partitions_by_names", field(LIST, 3, items(LIST, 40, items(STRUCT, 30_000, bytes(30_000)) * 40))
    ),
    "an unknown map": call("get_all_databases", field(MAP, 9, struct.pack(">BBI", STRING, STRING, 2**31 - 1))),
    "an unknown value too deep": call("get_all_databases", field(LIST, 9, items(LIST, 1) * 100_000)),
    "a text of two thousand million": call("get_table", field(STRING, 1, struct.pack(">I", 2**31 - 1))),
    "a text that is none": call("get_table", field(STRING, 1, struct.pack(">I", 2) + b"\xff\xff" + b"\0")),
}


@pytest.fixture(scope="module")
def server() -> Iterator[MetastoreServer]:
    handler: Any = Handler()
    with serving(handler) as made:
        yield made


def port(server: MetastoreServer) -> int:
    return int(server.uri.rpartition(":")[2])


def answer(server: MetastoreServer) -> Any:
    """What a client of Hive's gets."""
    transport = TBufferedTransport(TSocket("127.0.0.1", port(server)))
    transport.open()
    try:
        return ThriftHiveMetastore.Client(TBinaryProtocol(transport)).get_all_databases()
    finally:
        transport.close()


def closed(server: MetastoreServer, sent: bytes) -> bool:
    """Send, and read to the end that the server makes."""
    with socket.create_connection(("127.0.0.1", port(server)), timeout=60) as connection:
        try:
            connection.sendall(sent)
            while connection.recv(65_536):
                pass
        except ConnectionError:
            pass
    return True


@pytest.mark.parametrize("what", HOSTILE)
def test_a_message_that_is_none_of_hives_ends_its_connection_alone(
    server: MetastoreServer, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "penstock.metastore"):
        assert closed(server, HOSTILE[what])
        assert answer(server) == ["db"]
    assert [record for record in caplog.records if record.exc_info] == []


def test_a_message_ends_at_its_most_bytes_however_small_its_parts(
    server: MetastoreServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metastore, "_MAX_MESSAGE", 200_000)
    small = field(STRING, 9, struct.pack(">I", 900) + bytes(900))
    assert closed(server, call("get_all_databases", small * 1_000))
    # Each message has its own bytes.
    transport = TBufferedTransport(TSocket("127.0.0.1", port(server)))
    transport.open()
    client = ThriftHiveMetastore.Client(TBinaryProtocol(transport))
    assert {tuple(client.get_all_databases()) for _ in range(5_000)} == {("db",)}
    transport.close()
