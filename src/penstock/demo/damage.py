"""Records damaged on purpose: the four ways in which a frame goes wrong on its way to a topic."""

from collections.abc import Callable, Mapping
from uuid import UUID

__all__ = ["DAMAGES", "damage"]

_HEADER = 18  # version byte, compression byte, 16 bytes of schema version id
_NOBODYS_ID = UUID("deadbeef-dead-4ead-8ead-deadbeefdead")


def _truncated(frame: bytes) -> bytes:
    # Half of the payload is kept, so that the frame is valid and only decoding fails.
    return frame[: _HEADER + (len(frame) - _HEADER) // 2]


def _unknown_version(frame: bytes) -> bytes:
    return frame[:2] + _NOBODYS_ID.bytes + frame[_HEADER:]


def _wrong_first_byte(frame: bytes) -> bytes:
    return b"\x7b" + frame[1:]


def _shorter_than_a_frame(frame: bytes) -> bytes:
    return frame[:9]


DAMAGES: Mapping[str, Callable[[bytes], bytes]] = {
    "truncated": _truncated,
    "unknown version id": _unknown_version,
    "wrong first byte": _wrong_first_byte,
    "shorter than a frame": _shorter_than_a_frame,
}


def damage(frame: bytes, damage_type: str) -> bytes:
    """Return ``frame`` (a record in AWS's frame) with the damage ``damage_type``, a key of :data:`DAMAGES`."""
    return DAMAGES[damage_type](frame)
