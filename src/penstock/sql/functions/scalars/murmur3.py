"""MurmurHash3 of 128 bits with seed 0, by its reference code in the public domain (github.com/aappleby/smhasher)."""

import struct

__all__ = ["murmur3"]

_MASK = (1 << 64) - 1
_C1, _C2 = 0x87C37B91114253D5, 0x4CF5AD432745937F


def murmur3(data: bytes) -> bytes:
    """Return the hash's 16 bytes, both halves with their lowest byte first, as Trino does."""
    first = second = 0
    whole = len(data) // 16 * 16
    for at in range(0, whole, 16):
        one, two = struct.unpack_from("<2Q", data, at)
        first = (_rotated(first ^ _mixed(one, _C1, 31, _C2), 27) + second) * 5 + 0x52DCE729 & _MASK
        second = (_rotated(second ^ _mixed(two, _C2, 33, _C1), 31) + first) * 5 + 0x38495AB5 & _MASK
    one, two = struct.unpack("<2Q", data[whole:].ljust(16, b"\0"))
    second ^= _mixed(two, _C2, 33, _C1)
    first ^= _mixed(one, _C1, 31, _C2)
    first, second = first ^ len(data), second ^ len(data)
    first = (first + second) & _MASK
    second = (second + first) & _MASK
    first, second = _finished(first), _finished(second)
    first = (first + second) & _MASK
    return struct.pack("<2Q", first, (second + first) & _MASK)


def _mixed(word: int, before: int, by: int, after: int) -> int:
    return _rotated(word * before & _MASK, by) * after & _MASK


def _finished(value: int) -> int:
    value = (value ^ (value >> 33)) * 0xFF51AFD7ED558CCD & _MASK
    value = (value ^ (value >> 33)) * 0xC4CEB9FE1A85EC53 & _MASK
    return value ^ (value >> 33)


def _rotated(value: int, by: int) -> int:
    return ((value << by) | (value >> (64 - by))) & _MASK
