"""The metastore's Thrift server: on loopback, for processes of the same user alone.

Hive's protocol has no signatures, and the server acts with its process's AWS credentials. So a connection is served only if
the system says that its other end belongs to this user.
"""

import logging
import os
import socket
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from hive_metastore import ThriftHiveMetastore
from thrift.protocol import TBinaryProtocol, TProtocol
from thrift.transport import TSocket, TTransport

from penstock.errors import EnvironmentProblem
from penstock.metastore.handler import MetastoreHandler

__all__ = ["MetastoreServer", "serving"]

_log = logging.getLogger("penstock.metastore")

_LOOPBACK = "127.0.0.1"
_MAX_MESSAGE = 64 << 20  # bytes
_MAX_ITEMS = 1_000_000
_MAX_CONNECTIONS = 64


class MetastoreServer:
    """Serves ``handler`` on a port of loopback until it is closed; ``port`` 0 takes a free one."""

    def __init__(self, handler: MetastoreHandler, *, port: int = 0) -> None:
        self._processor = ThriftHiveMetastore.Processor(handler)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((_LOOPBACK, port))
        except OSError as error:
            self._socket.close()
            raise EnvironmentProblem(
                f"The metastore cannot listen on port {port}: {error.strerror}.", remedy="Give another port with --port."
            ) from error
        self._socket.listen(_MAX_CONNECTIONS)
        self._places = threading.BoundedSemaphore(_MAX_CONNECTIONS)
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._closed = False

    @property
    def uri(self) -> str:
        """``thrift://127.0.0.1:PORT``: the value of ``hive.metastore.uris``."""
        return f"thrift://{_LOOPBACK}:{self._socket.getsockname()[1]}"

    def serve(self) -> None:
        """Serve until :meth:`close`."""
        while True:
            try:
                connection, peer = self._socket.accept()
            except OSError:
                return  # closed
            if not _is_of_this_user(peer[1], self._socket.getsockname()[1]):
                _log.warning("a connection of another user was refused")
                connection.close()
                continue
            with self._lock:
                if self._closed:
                    connection.close()
                    return
                self._connections.add(connection)
            self._places.acquire()
            threading.Thread(target=self._answer, args=(connection,), name="penstock-metastore", daemon=True).start()

    def close(self) -> None:
        """End all connections, and the server."""
        with self._lock:
            self._closed = True
            connections = list(self._connections)
        # Closing alone does not wake up a thread that waits for a connection.
        _shut(self._socket)
        for connection in connections:
            _shut(connection)

    def _answer(self, connection: socket.socket) -> None:
        try:
            bounded = _Bounded(connection)
            protocol = _Protocol(
                TTransport.TBufferedTransport(bounded),
                bounded,
                string_length_limit=_MAX_MESSAGE,
                container_length_limit=_MAX_ITEMS,
            )
            while True:
                self._processor.process(protocol, protocol)
        except TTransport.TTransportException:
            pass  # the client went away
        except (TProtocol.TProtocolException, RecursionError, MemoryError, UnicodeDecodeError, struct.error) as error:
            _log.warning("a connection to the metastore was closed, because it sent no message of Hive's: %r", error)
        except Exception:  # noqa: BLE001 a client may send anything; the other connections go on
            _log.exception("a connection to the metastore failed")
        finally:
            with self._lock:
                self._connections.discard(connection)
            connection.close()
            self._places.release()


class _Bounded(TSocket.TSocket):  # type: ignore[misc] # the library has no types
    """A transport over an accepted connection, of at most 64 MB for each message."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__()
        self.setHandle(connection)
        self._left = _MAX_MESSAGE

    def begin(self) -> None:
        """Take what comes as the next message's."""
        self._left = _MAX_MESSAGE

    def read(self, sz: int) -> bytes:
        data: bytes = super().read(sz)
        self._left -= len(data)
        if self._left < 0:
            raise _too_large(f"a message of more than {_MAX_MESSAGE >> 20} MB")
        return data


class _Protocol(TBinaryProtocol.TBinaryProtocol):  # type: ignore[misc] # as above
    """Hive's protocol; all lists and maps of one message have at most a million items: an empty struct takes one byte."""

    def __init__(self, transport: Any, bounded: _Bounded, **limits: int) -> None:
        super().__init__(transport, strictRead=True, **limits)
        self._bounded = bounded
        self._items = 0

    def readMessageBegin(self) -> Any:  # noqa: N802 the library's name
        self._items = 0
        self._bounded.begin()
        return super().readMessageBegin()

    def _check_container_length(self, length: int) -> None:
        super()._check_container_length(length)
        self._items += length
        if self._items > _MAX_ITEMS:
            raise _too_large(f"a message of more than {_MAX_ITEMS:,} items")


def _too_large(what: str) -> Exception:
    refused: Exception = TProtocol.TProtocolException(TProtocol.TProtocolException.SIZE_LIMIT, what)
    return refused


@contextmanager
def serving(handler: MetastoreHandler, *, port: int = 0) -> Iterator[MetastoreServer]:
    """Serve ``handler`` on a thread during the block."""
    server = MetastoreServer(handler, port=port)
    thread = threading.Thread(target=server.serve, name="penstock-metastore", daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join()


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


def _is_of_this_user(theirs: int, ours: int) -> bool:
    """Return whether the loopback connection from port ``theirs`` to ``ours`` is of this user. Source: proc(5), net/tcp."""
    if sys.platform != "linux":
        return True
    for name, address in (("tcp", _hex(_LOOPBACK)), ("tcp6", f"0000000000000000FFFF0000{_hex(_LOOPBACK)}")):
        try:
            lines = Path("/proc/net", name).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[1] == f"{address}:{theirs:04X}" and fields[2] == f"{address}:{ours:04X}":
                return int(fields[7]) == os.getuid()
    return False


def _hex(address: str) -> str:
    return f"{struct.unpack('=I', socket.inet_aton(address))[0]:08X}"
