"""HyperLogLog in the bytes of Trino's sketches (airlift, stats/docs/hll.md).

A sketch of few values is *sparse*: the first 26 bits of each hash with the number of zeros behind them, 32 bits together.
One of more values is *dense*: for each of 2^p buckets the greatest number of zeros, less the least of all, in four bits,
and what is greater in a list behind them. Estimates of dense sketches are Ertl's (arXiv 1702.01284, algorithm 6), which
need no table of corrections.
"""

import math
import struct
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.sql.functions.hashes import murmur3
from penstock.sql.functions.python import invalid
from penstock.sql.functions.sketches.columns import whole

__all__ = ["EMPTY", "cardinality", "dense", "entries_of_bytes", "entries_of_longs", "merged", "sketch"]

_SPARSE, _DENSE_1, _DENSE_2 = 2, 1, 3  # the first byte
_PREFIX = 26
_VALUE_BITS = 6
_LONG = 240  # bytes of a text from which on it is hashed alone
_ENTRIES = np.dtype("<u4")
_MASK = (1 << 64) - 1
_C1, _C2 = np.uint64(0x87C37B91114253D5), np.uint64(0x4CF5AD432745937F)
_MOST = (1 << 63) - 1
_LINEAR = 0.4  # share of empty buckets above which they are counted

EMPTY = bytes([_SPARSE, 12, 0, 0])
"""The sketch of no value, with 4,096 buckets."""

Words = NDArray[np.uint64]


def entries_of_longs(column: Any) -> pa.Array:
    """Return the entry of a sparse sketch for each 64-bit integer, NULL for NULL."""
    array = whole(column)
    words = array.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64).view(np.uint64)
    first = _mixed(words, _C1, 31, _C2)
    return _entries(_finished(first, np.zeros_like(first), np.uint64(8)), array)


def entries_of_bytes(column: Any) -> pa.Array:
    """Return the entry of a sparse sketch for each text of bytes, NULL for NULL."""
    array = whole(column)
    entries = np.zeros(len(array), np.uint64)
    present = array.fill_null(b"")
    offsets = np.frombuffer(present.buffers()[1], np.int32, len(present) + 1, present.offset * 4).astype(np.int64)
    buffer = present.buffers()[2]
    data = np.frombuffer(buffer, np.uint8) if buffer is not None and buffer.size else np.zeros(1, np.uint8)
    lengths = np.diff(offsets)
    short = np.flatnonzero(lengths < _LONG)
    if len(short):
        entries[short] = _hashed(data, offsets[:-1][short], lengths[short])
    for row in np.flatnonzero(lengths >= _LONG):
        entries[row] = int.from_bytes(murmur3(present[int(row)].as_py())[:8], "little")
    return _entries(entries, array)


def _hashed(data: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> Words:
    """Return the first half of the MurmurHash3 of texts, all at once, one block of 16 bytes after the other."""
    width = (int(lengths.max()) // 16 + 1) * 16
    at = np.arange(width)
    places = np.minimum(starts[:, None] + at, len(data) - 1)
    words = np.where(at < lengths[:, None], data[places], 0).astype(np.uint8).view("<u8").astype(np.uint64)
    first, second = np.zeros(len(starts), np.uint64), np.zeros(len(starts), np.uint64)
    for block in range(width // 16):
        one, two = words[:, 2 * block], words[:, 2 * block + 1]
        inside = lengths >= 16 * (block + 1)
        next_first = (_rotated(first ^ _mixed(one, _C1, 31, _C2), 27) + second) * np.uint64(5) + np.uint64(0x52DCE729)
        mixed = _rotated(second ^ _mixed(two, _C2, 33, _C1), 31)
        next_second = (mixed + next_first) * np.uint64(5) + np.uint64(0x38495AB5)
        last = lengths // 16 == block
        first = np.where(inside, next_first, np.where(last, first ^ _mixed(one, _C1, 31, _C2), first))
        second = np.where(inside, next_second, np.where(last, second ^ _mixed(two, _C2, 33, _C1), second))
    return _finished(first, second, lengths.astype(np.uint64))


def _mixed(words: Words, before: np.uint64, by: int, after: np.uint64) -> Words:
    return _rotated(words * before, by) * after


def _rotated(words: Words, by: int) -> Words:
    return (words << np.uint64(by)) | (words >> np.uint64(64 - by))


def _finished(first: Words, second: Words, length: Words | np.uint64) -> Words:
    first, second = first ^ length, second ^ length
    first = first + second
    second = second + first
    return _avalanche(first) + _avalanche(second)


def _avalanche(words: Words) -> Words:
    words = (words ^ (words >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    words = (words ^ (words >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return words ^ (words >> np.uint64(33))


def _entries(hashes: Words, present: pa.Array) -> pa.Array:
    behind = (hashes << np.uint64(_PREFIX)) | np.uint64(1 << (_PREFIX - 1))
    high = (behind >> np.uint64(32)).astype(np.int64)
    low = (behind & np.uint64(0xFFFFFFFF)).astype(np.int64)
    zeros = np.where(high > 0, 32 - np.frexp(high)[1], 64 - np.frexp(low)[1])
    entries = ((hashes >> np.uint64(64 - _PREFIX)) << np.uint64(_VALUE_BITS)) | zeros.astype(np.uint64)
    return pa.array(entries.astype(np.uint32), mask=present.is_null().to_numpy(zero_copy_only=False))


def sketch(entries: NDArray[Any], bits: int = 12) -> bytes:
    """Return the sketch of 2^``bits`` buckets that has ``entries``."""
    ordered = np.sort(entries.astype(np.uint32))
    if len(ordered):
        buckets = ordered >> _VALUE_BITS
        ordered = ordered[np.append(buckets[1:] != buckets[:-1], True)]  # of a bucket, the greatest
    if 4 * len(ordered) <= (1 << bits) // 2 + 16:  # where Trino's has the size of a dense one
        return struct.pack("<BBH", _SPARSE, bits, len(ordered)) + ordered.astype(_ENTRIES).tobytes()
    return _packed(_registers(ordered, bits), bits)


def _registers(entries: NDArray[Any], bits: int) -> NDArray[np.uint8]:
    behind = (entries.astype(np.int64) << bits) & 0xFFFFFFFF
    zeros = 32 - np.frexp(behind)[1]
    zeros = np.where(zeros >= _PREFIX - bits, _PREFIX - bits + (entries & ((1 << _VALUE_BITS) - 1)), zeros)
    registers = np.zeros(1 << bits, np.uint8)
    np.maximum.at(registers, entries.astype(np.int64) >> (32 - bits), (zeros + 1).astype(np.uint8))
    return registers


def _packed(registers: NDArray[np.uint8], bits: int) -> bytes:
    least = int(registers.min())
    above = registers - least
    over = np.flatnonzero(above > 15)
    small = np.minimum(above, 15)
    halves = (small[0::2] << 4) | small[1::2]
    head = bytes([_DENSE_2, bits, least]) + halves.astype(np.uint8).tobytes() + struct.pack("<H", len(over))
    return head + over.astype("<u2").tobytes() + (above[over] - 15).astype(np.uint8).tobytes()


def _opened(data: bytes) -> tuple[int, NDArray[Any] | None, NDArray[np.uint8] | None]:
    """Return a sketch's bits, and its entries if it is sparse, or else its registers."""
    if len(data) < 4 or data[0] not in {_SPARSE, _DENSE_1, _DENSE_2} or not 1 <= data[1] <= 16:
        raise invalid("Cannot deserialize HyperLogLog")
    bits = data[1]
    if data[0] == _SPARSE:
        if len(data) != 4 + 4 * int.from_bytes(data[2:4], "little"):
            raise invalid("Cannot deserialize HyperLogLog")
        return bits, np.frombuffer(data, _ENTRIES, offset=4), None
    return bits, None, _unpacked(data, bits)


def _unpacked(data: bytes, bits: int) -> NDArray[np.uint8]:
    end = 3 + (1 << bits) // 2
    if len(data) < end + 2:
        raise invalid("Cannot deserialize HyperLogLog")
    halves = np.frombuffer(data, np.uint8, end - 3, 3)
    above = np.empty(1 << bits, np.int64)
    above[0::2], above[1::2] = halves >> 4, halves & 15
    count = int.from_bytes(data[end : end + 2], "little")
    if data[0] == _DENSE_1:  # one bucket that is over, or a negative number
        over = np.array([count] if count < 1 << 15 and data[end + 2 : end + 3] > b"\0" else [], np.int64)
        values = np.frombuffer(data, np.uint8, len(over), end + 2)
    elif len(data) == end + 2 + 3 * count:
        over = np.frombuffer(data, "<u2", count, end + 2).astype(np.int64)
        values = np.frombuffer(data, np.uint8, count, end + 2 + 2 * count)
    else:
        raise invalid("Cannot deserialize HyperLogLog")
    if (over >= 1 << bits).any():
        raise invalid("Cannot deserialize HyperLogLog")
    above[over] += values
    above += data[2]
    if above.max() > 65 - bits or above.min() == 65 - bits:
        raise invalid("Cannot deserialize HyperLogLog")
    return above.astype(np.uint8)


def merged(sketches: Iterable[bytes]) -> bytes:
    """Return the sketch of all values of ``sketches``, which have the same number of buckets."""
    bits: int | None = None
    entries: list[NDArray[Any]] = []
    registers: NDArray[np.uint8] | None = None
    for data in sketches:
        opened, sparse, full = _opened(data)
        if bits is not None and opened != bits:
            raise invalid(f"Cannot merge HLLs with different number of buckets: {1 << bits} vs {1 << opened}")
        bits = opened
        if sparse is not None:
            entries.append(sparse)
        elif full is not None:
            registers = full if registers is None else np.maximum(registers, full)
    if bits is None:
        return EMPTY
    every = np.concatenate(entries) if entries else np.empty(0, np.uint32)
    if registers is None:
        return sketch(every, bits)
    return _packed(np.maximum(registers, _registers(every, bits)), bits)


def dense(data: bytes) -> bytes:
    """Return a sketch in the dense form, as P4HyperLogLog has it."""
    bits, sparse, _ = _opened(data)
    return data if sparse is None else _packed(_registers(sparse, bits), bits)


def cardinality(data: bytes) -> int:
    """Return the estimated number of different values."""
    bits, sparse, registers = _opened(data)
    if sparse is not None:
        every = 1 << _PREFIX
        return round(every * math.log(every / (every - len(sparse))))
    counts = np.bincount(registers if registers is not None else [], minlength=66 - bits).tolist()
    size = 1 << bits
    if counts[0] > _LINEAR * size:
        return round(size * math.log(size / counts[0]))
    return min(round(_estimate(counts, size)), _MOST)


def _estimate(counts: Sequence[int], size: int) -> float:
    total = size * _tau(1 - counts[-1] / size)
    for count in counts[-2:0:-1]:
        total = 0.5 * (total + count)
    total += size * _sigma(counts[0] / size)
    return size * size / (2 * math.log(2) * total)


def _tau(x: float) -> float:
    if x in {0.0, 1.0}:
        return 0.0
    y, total, before = 1.0, 1 - x, -1.0
    while total != before:
        x, before, y = math.sqrt(x), total, y * 0.5
        total -= (1 - x) ** 2 * y
    return total / 3


def _sigma(x: float) -> float:
    y, total, before = 1.0, x, -1.0
    while total != before:
        x, before = x * x, total
        total += x * y
        y += y
    return total
