"""xxHash64 with seed 0, by its specification (github.com/Cyan4973/xxHash, doc/xxhash_spec.md)."""

import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["xxhash64", "xxhash64_of_longs"]

_MASK = (1 << 64) - 1
_P1, _P2, _P3, _P4, _P5 = (
    11400714785074694791,
    14029467366897019727,
    1609587929392839161,
    9650029242287828579,
    2870177450012600261,
)


def xxhash64(data: bytes) -> int:
    """Return the hash as an unsigned integer of 64 bits."""
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
    """Return the hash of the eight bytes of each 64-bit integer, as unsigned integers."""
    from numpy import uint64  # noqa: PLC0415 - only for columns

    def rotated(each: Any, by: int) -> Any:
        return (each << uint64(by)) | (each >> uint64(64 - by))

    words = values.view(uint64)
    result = (rotated(words * uint64(_P2), 31) * uint64(_P1)) ^ uint64((_P5 + 8) & _MASK)
    result = rotated(result, 27) * uint64(_P1) + uint64(_P4)
    result = (result ^ (result >> uint64(33))) * uint64(_P2)
    result = (result ^ (result >> uint64(29))) * uint64(_P3)
    hashed: NDArray[Any] = result ^ (result >> uint64(32))
    return hashed
