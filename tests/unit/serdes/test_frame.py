"""The 18 bytes in front, and what is refused about them."""

import tracemalloc
import zlib
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.serdes import frame
from penstock.serdes.errors import CorruptCompression, NotFramed, PayloadTooLarge, TruncatedFrame

ID = UUID("b7b4a7f0-9c96-4e4a-a687-fb5de9ef0c63")


def test_bytes_are_those_of_the_specification() -> None:
    assert frame.encode(ID, b"\x02\x04").hex() == "0300b7b4a7f09c964e4aa687fb5de9ef0c630204"
    zipped = frame.encode(ID, b"\x02\x04", frame.Compression.ZLIB)
    assert zipped[:2] == b"\x03\x05"
    assert zipped[18:] == zlib.compress(b"\x02\x04")


@given(st.uuids(), st.binary(max_size=200), st.sampled_from(frame.Compression))
def test_round_trip(version_id: UUID, payload: bytes, compression: frame.Compression) -> None:
    result = frame.decode(frame.encode(version_id, payload, compression))
    assert (result.version_id, result.payload, result.compression) == (version_id, payload, compression)


@pytest.mark.parametrize("size", range(18))
def test_too_short_says_the_size_in_awss_words(size: int) -> None:
    with pytest.raises(TruncatedFrame, match=rf"^Data is not compatible with schema registry size: {size}\. "):
        frame.decode(frame.encode(ID, b"")[:size])


def test_wrong_header_and_compression_bytes() -> None:
    message = frame.encode(ID, b"x")
    with pytest.raises(NotFramed, match="Invalid schema registry header version byte in data: 0"):
        frame.decode(b"\0" + message[1:])
    with pytest.raises(NotFramed, match="Invalid schema registry compression byte in data: 7"):
        frame.decode(message[:1] + b"\7" + message[2:])


def test_bomb_is_stopped_at_the_limit() -> None:
    bomb = zlib.compress(bytes(50_000_000))
    tracemalloc.start()
    try:
        with pytest.raises(PayloadTooLarge, match="more than 1000000 bytes"):
            frame.inflate(bomb, max_payload=1_000_000)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
    assert frame.inflate(zlib.compress(bytes(1000)), max_payload=1000) == bytes(1000)


def test_damaged_streams() -> None:
    body = zlib.compress(b"some payload")
    for cut in range(len(body)):
        with pytest.raises(CorruptCompression):
            frame.inflate(body[:cut])
    with pytest.raises(CorruptCompression, match="3 bytes after"):
        frame.inflate(body + b"abc")
    with pytest.raises(CorruptCompression, match="not a zlib stream"):
        frame.inflate(b"plain text")
