"""Frames over a socket between a process and its child, of bounded size. It needs the standard library alone.

A frame is the lengths in bytes of its head and its body (two unsigned 32-bit numbers, big-endian), then both. The head is a
message in JSON (:mod:`penstock.children.messages`), the body bytes that it speaks of. A child may have been taken over by
what it read, so that no length it sends is believed.
"""

import os
import select
import socket
import struct
import threading
import time
from dataclasses import dataclass

__all__ = ["Bounds", "Channel", "Frame", "FrameReader", "FrameTooLarge", "pack", "wait_for"]

_LENGTHS = struct.Struct(">II")
_CHUNK = 1 << 18
Frame = tuple[bytes, bytes]
"""Head and body."""


class FrameTooLarge(ValueError):
    """A frame announces more bytes than its receiver takes. What follows on the socket cannot be read any more."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The most bytes of a frame's head and body that a receiver takes."""

    head: int
    body: int = 0


def pack(head: bytes, body: bytes = b"") -> bytes:
    """Return the bytes of a frame."""
    return b"".join((_LENGTHS.pack(len(head), len(body)), head, body))


class FrameReader:
    """Makes frames of bytes, however these arrive."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._data = bytearray()

    def feed(self, data: bytes) -> None:
        """Add bytes that arrived."""
        self._data += data

    def next(self) -> Frame | None:
        """Return the next frame, None while it is incomplete. Raises :class:`FrameTooLarge`."""
        data = self._data
        if len(data) < _LENGTHS.size:
            return None
        head_size, body_size = _LENGTHS.unpack_from(data)
        if head_size > self._bounds.head or body_size > self._bounds.body:
            raise FrameTooLarge(f"a frame of {head_size:,} and {body_size:,} bytes")
        middle, end = _LENGTHS.size + head_size, _LENGTHS.size + head_size + body_size
        if len(data) < end:
            return None
        with memoryview(data) as view:
            frame = bytes(view[_LENGTHS.size : middle]), bytes(view[middle:end])
        del data[:end]
        return frame


class Channel:
    """One end of a socket. Any thread may send; one thread receives."""

    def __init__(self, connection: socket.socket, bounds: Bounds) -> None:
        self._connection = connection
        self._reader = FrameReader(bounds)
        self._sending = threading.Lock()

    @classmethod
    def inherited(cls, descriptor: int, bounds: Bounds) -> "Channel":
        """Return the end that this process was started with; its own children do not get it."""
        os.set_inheritable(descriptor, False)
        return cls(socket.socket(fileno=descriptor), bounds)

    def fileno(self) -> int:
        """Return the socket's descriptor."""
        return self._connection.fileno()

    def send(self, head: bytes, body: bytes = b"") -> None:
        """Send a frame, all of it. Raises :class:`OSError` if the other end is closed."""
        with self._sending:
            self._connection.sendall(pack(head, body))

    def receive(self, timeout: float | None = None) -> Frame:
        """Return the next frame.

        Raises :class:`EOFError` if the other end is closed, :class:`TimeoutError` after ``timeout`` seconds,
        :class:`FrameTooLarge`, and :class:`OSError`.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while (frame := self._reader.next()) is None:
            if deadline is not None and not wait_for(self._connection, deadline - time.monotonic()):
                raise TimeoutError
            data = self._connection.recv(_CHUNK)
            if not data:
                raise EOFError
            self._reader.feed(data)
        return frame

    def close(self) -> None:
        """Close this end."""
        self._connection.close()


def wait_for(connection: socket.socket, seconds: float, *, write: bool = False) -> int:
    """Wait until ``connection`` can be read (or, with ``write``, written); return poll(2)'s bits, 0 after ``seconds``.

    select(2), unlike poll(2), knows descriptors up to 1,023 only.
    """
    poller = select.poll()
    poller.register(connection, select.POLLIN | (select.POLLOUT if write else 0))
    events = poller.poll(max(0.0, seconds) * 1000)
    return events[0][1] if events else 0
