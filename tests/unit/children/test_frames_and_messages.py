"""What goes over a child's socket: frames of bounded size, and messages of declared types."""

import pickle
import socket
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from penstock.children.frames import Bounds, Channel, FrameReader, FrameTooLarge, pack
from penstock.children.messages import MalformedMessage, Message, MessageReader, encode, printable


@dataclass(frozen=True, slots=True)
class Place:
    name: str
    since: datetime
    folder: Path = Path()
    names: frozenset[str] = frozenset()
    extra: Mapping[str, object] = field(default_factory=dict)


class Ask(Message, frozen=True):
    name: str
    arguments: Sequence[Any] = ()


class Answer(Message, frozen=True):
    place: Place | None


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, Channel]]:
    theirs, ours = socket.socketpair()
    channel = Channel(ours, Bounds(head=100, body=1_000))
    yield theirs, channel
    theirs.close()
    channel.close()


def test_frames_arrive_whole_however_their_bytes_do() -> None:
    reader = FrameReader(Bounds(head=10, body=10))
    frames = [(b"one", b""), (b"", b"two"), (b"x" * 10, b"y" * 10)]
    read = []
    for byte in b"".join(pack(*frame) for frame in frames):
        reader.feed(bytes([byte]))
        if (frame := reader.next()) is not None:
            read.append(frame)
    assert read == frames
    reader.feed(pack(b"one") + pack(b"two"))
    assert [reader.next(), reader.next(), reader.next()] == [(b"one", b""), (b"two", b""), None]


@pytest.mark.parametrize("sizes", [(101, 0), (0, 1_001), (2**32 - 1, 2**32 - 1)])
def test_a_frame_beyond_the_bounds_is_refused_before_it_is_received(
    ends: tuple[socket.socket, Channel], sizes: tuple[int, int]
) -> None:
    theirs, channel = ends
    theirs.sendall(struct.pack(">II", *sizes))
    with pytest.raises(FrameTooLarge):
        channel.receive(10)


def test_a_channel_tells_a_closed_end_from_one_that_is_silent(ends: tuple[socket.socket, Channel]) -> None:
    theirs, channel = ends
    with pytest.raises(TimeoutError):
        channel.receive(0.01)
    theirs.sendall(pack(b"head", b"body")[:-1])
    with pytest.raises(TimeoutError):
        channel.receive(0.01)
    theirs.sendall(b"y")
    assert channel.receive(0) == (b"head", b"body")
    theirs.close()
    with pytest.raises(EOFError):
        channel.receive(10)
    with pytest.raises(OSError, match="Broken pipe"):
        channel.send(b"head")


def test_messages_are_read_as_what_they_were() -> None:
    reader: MessageReader[Ask | Answer] = MessageReader(Ask | Answer)
    place = Place("here", datetime(2026, 1, 2, tzinfo=UTC), Path("/a b"), frozenset({"x"}), {"a": [1, {"b": None}]})
    for message in (Ask(name="place", arguments=["x", 1, None]), Answer(place=place), Answer(place=None)):
        assert reader.read(encode(message)) == message
    assert reader.read(b'{"$type":"Ask","name":"written by hand"}') == Ask(name="written by hand")


class Harmful:
    """Its pickle makes a file where it is read."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.file,)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b'{"$type":"Unknown"}',
        b'{"$type":"Ask"}',
        b'{"$type":"Ask","name":1}',
        b'{"$type":"Ask","name":"x","more":1}',
        b'{"$type":"Ask","name":"x","arguments":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"$type":"Ask","name":"x","arguments":[' + b"[]," * 1_000 + b"1]}",
        b'{"$type":"Answer","place":{"name":"x","since":"yesterday"}}',
        b'{"$type":"Ask","name":"\xff"}',
    ],
)
def test_what_is_no_message_is_refused(data: bytes) -> None:
    with pytest.raises(MalformedMessage):
        MessageReader[Ask | Answer](Ask | Answer, most=900).read(data)


def test_a_pickle_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "made"
    with pytest.raises(MalformedMessage):
        MessageReader[Ask](Ask).read(pickle.dumps(Harmful(file)))
    assert not file.exists()


def test_names_of_files_that_are_not_utf_8_can_be_told() -> None:
    name = b"caf\xe9".decode(errors="surrogateescape")
    assert MessageReader[Ask](Ask).read(encode(Ask(name=printable(name)))).name == "caf?"
