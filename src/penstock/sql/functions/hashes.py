"""Hashes of Trino's that Python has not: xxHash64 and MurmurHash3, both with seed 0.

Sources: the specification of xxHash (github.com/Cyan4973/xxHash, doc/xxhash_spec.md); MurmurHash3's reference code in the
public domain (github.com/aappleby/smhasher).
"""

import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["murmur3", "xxhash64", "xxhash64_of_longs"]

_MASK = (1 << 64) - 1
_P1, _P2, _P3, _P4, _P5 = (
    11400714785074694791,
    14029467366897019727,
    1609587929392839161,
    9650029242287828579,
    2870177450012600261,
)


def xxhash64(data: bytes) -> int:
    """Return xxHash64 as an unsigned integer."""
    at = 0
    if len(data) >= 32:
        lanes = [(_P1 + _P2) & _MASK, _P2, 0, -_P1 & _MASK]
        while at + 32 <= len(data):
            words = struct.unpack_from("<4Q", data, at)
            lanes = [_round(lane, word) for lane, word in zip(lanes, words, strict=True)]
            at += 32
        result = sum(_rotated(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
        for lane in lanes:
            result = ((result ^ _round(0, lane)) * _P1 + _P4) & _MASK
    else:
        result = _P5
    return _finished((result + len(data)) & _MASK, data, at)


def _finished(result: int, data: bytes, at: int) -> int:
    while at + 8 <= len(data):
        result ^= _round(0, struct.unpack_from("<Q", data, at)[0])
        result = (_rotated(result, 27) * _P1 + _P4) & _MASK
        at += 8
    if at + 4 <= len(data):
        result ^= (struct.unpack_from("<I", data, at)[0] * _P1) & _MASK
        result = (_rotated(result, 23) * _P2 + _P3) & _MASK
        at += 4
    for byte in data[at:]:
        result ^= (byte * _P5) & _MASK
        result = (_rotated(result, 11) * _P1) & _MASK
    result = ((result ^ (result >> 33)) * _P2) & _MASK
    result = ((result ^ (result >> 29)) * _P3) & _MASK
    return result ^ (result >> 32)


def _round(lane: int, word: int) -> int:
    return (_rotated((lane + word * _P2) & _MASK, 31) * _P1) & _MASK


def _rotated(value: int, by: int) -> int:
    return ((value << by) | (value >> (64 - by))) & _MASK


def xxhash64_of_longs(values: "NDArray[Any]") -> "NDArray[Any]":
    """Return xxHash64 of the eight bytes of each 64-bit integer, as unsigned integers."""
    from numpy import uint64  # noqa: PLC0415 - only for columns

    def rotated(item: Any, by: int) -> Any:
        return (item << uint64(by)) | (item >> uint64(64 - by))

    words = values.view(uint64)
    result = (rotated(words * uint64(_P2), 31) * uint64(_P1)) ^ uint64((_P5 + 8) & _MASK)
    result = rotated(result, 27) * uint64(_P1) + uint64(_P4)
    result = (result ^ (result >> uint64(33))) * uint64(_P2)
    result = (result ^ (result >> uint64(29))) * uint64(_P3)
    hashed: NDArray[Any] = result ^ (result >> uint64(32))
    return hashed


_C1, _C2 = 0x87C37B91114253D5, 0x4CF5AD432745937F


def murmur3(data: bytes) -> bytes:
    """Return the 16 bytes of MurmurHash3 with seed 0, both halves with their lowest byte first, as Trino does."""
    first = second = 0
    whole = len(data) // 16 * 16
    for at in range(0, whole, 16):
        one, two = struct.unpack_from("<2Q", data, at)
        first = (_rotated(first ^ _scrambled(one, _C1, 31, _C2), 27) + second) * 5 + 0x52DCE729 & _MASK
        second = (_rotated(second ^ _scrambled(two, _C2, 33, _C1), 31) + first) * 5 + 0x38495AB5 & _MASK
    one, two = struct.unpack("<2Q", data[whole:].ljust(16, b"\0"))
    second ^= _scrambled(two, _C2, 33, _C1)
    first ^= _scrambled(one, _C1, 31, _C2)
    first, second = first ^ len(data), second ^ len(data)
    first = (first + second) & _MASK
    second = (second + first) & _MASK
    first, second = _avalanche(first), _avalanche(second)
    first = (first + second) & _MASK
    return struct.pack("<2Q", first, (second + first) & _MASK)


def _scrambled(word: int, before: int, by: int, after: int) -> int:
    return _rotated(word * before & _MASK, by) * after & _MASK


def _avalanche(value: int) -> int:
    value = (value ^ (value >> 33)) * 0xFF51AFD7ED558CCD & _MASK
    value = (value ^ (value >> 33)) * 0xC4CEB9FE1A85EC53 & _MASK
    return value ^ (value >> 33)
