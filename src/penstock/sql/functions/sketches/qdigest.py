"""q-digests in the bytes of Trino's (airlift, io.airlift.stats.QuantileDigest): counts of ranges of 64-bit integers.

A node is a range of integers with the same leading bits: its level is the number of bits that are free, its value one of
the integers with the sign turned, so that they are ordered as unsigned ones. Nodes stand in post-order, a range behind
the ranges in it. Doubles and reals are ordered by their bits.
Source of the method: Shrivastava et al., "Medians and Beyond: New Aggregation Techniques for Sensor Networks" (2004).
"""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.sql.functions.python import invalid

__all__ = ["Digest", "as_values", "digest", "merged", "of_values", "opened", "packed", "quantile_at", "value_at"]

_HEAD = struct.Struct("<bddqqqi")
_NODE = np.dtype([("structure", "u1"), ("count", "<f8"), ("value", "<i8")])
_LEFT, _RIGHT = 1, 2
_SIGN = 1 << 63
_LEAST_COUNT = 1e-5
_LEAST_ERROR = 1e-12

Bits = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Digest:
    """The nodes in post-order, the least and the greatest value, and the greatest error of a rank."""

    error: float
    least: int
    greatest: int
    values: Bits
    levels: NDArray[np.uint8]
    counts: NDArray[np.float64]


def of_values(values: NDArray[Any], type_: str) -> NDArray[np.int64]:
    """Return ``bigint``, ``double`` or ``real`` values as integers in the same order."""
    if type_ == "double":
        return _ordered(values.astype(np.float64).view(np.int64), 63)
    if type_ == "real":
        return _ordered(values.astype(np.float32).view(np.int32).astype(np.int64), 31)
    return values.astype(np.int64)


def as_values(encoded: NDArray[np.int64], type_: str) -> NDArray[Any]:
    """Return the values that :func:`of_values` made integers of."""
    if type_ == "double":
        return _ordered(encoded, 63).view(np.float64)
    if type_ == "real":
        return _ordered(encoded, 31).astype(np.int32).view(np.float32)
    return encoded


def _ordered(encoded: NDArray[np.int64], bits: int) -> NDArray[np.int64]:
    """Return the bits of floating point numbers with those of negative ones turned but for the sign, and back."""
    return encoded ^ ((encoded >> np.int64(bits)) & np.int64((1 << bits) - 1))


def digest(values: NDArray[np.int64], weights: NDArray[Any], error: float) -> Digest:
    """Return the digest of ``values``. Raises an error of the statement for what Trino refuses."""
    for weight in weights[weights <= 0][:1].tolist():
        raise invalid(f"Percentile weight must be > 0, was {weight}")
    if not _LEAST_ERROR < error < 1:
        raise invalid(f"Percentile accuracy must be exclusively between 0 and 1, was {error}")
    every, places = np.unique(values, return_inverse=True)
    counts = np.bincount(places, weights.astype(np.float64)).astype(np.float64)
    levels = np.zeros(len(every), np.uint8)
    return _compressed(Digest(error, int(every[0]), int(every[-1]), _turned(every), levels, counts))


def _turned(values: NDArray[np.int64]) -> Bits:
    return values.view(np.uint64) ^ np.uint64(_SIGN)


def _ends(values: Bits, levels: NDArray[np.uint8]) -> Bits:
    """Return the last integer of each range."""
    free = np.full(len(levels), np.iinfo(np.uint64).max, np.uint64) >> (
        np.uint64(64) - np.maximum(levels, 1).astype(np.uint64)
    )
    return np.where(levels > 0, values | free, values)


def merged(digests: Iterable[bytes]) -> Digest | None:
    """Return the digest of all values of ``digests``, None if there is none."""
    every = [opened(data) for data in digests]
    if not every:
        return None
    values, levels, counts = (
        np.concatenate([getattr(item, name) for item in every]) for name in ("values", "levels", "counts")
    )
    ends = _ends(values, levels)
    order = np.lexsort((levels, ends))
    values, levels, counts, ends = values[order], levels[order], counts[order], ends[order]
    new = np.ones(len(values), bool)
    new[1:] = (ends[1:] != ends[:-1]) | (levels[1:] != levels[:-1])
    sums = np.add.reduceat(counts, np.flatnonzero(new)) if len(counts) else counts
    least, greatest = min(item.least for item in every), max(item.greatest for item in every)
    return _compressed(Digest(every[0].error, least, greatest, values[new], levels[new], sums))


def _compressed(digest: Digest) -> Digest:
    """Move the counts of sibling ranges up to the range around them while the three together are few."""
    if not len(digest.values):
        return digest
    first, last = (int(end) for end in _ends(digest.values[[0, -1]], digest.levels[[0, -1]]))
    root = max((first ^ last).bit_length(), int(digest.levels.max()))
    bound = digest.counts.sum() // max(int((root + 1) / digest.error), 1)
    if bound < 1:
        return digest
    finished: list[tuple[Bits, NDArray[Any], NDArray[Any]]] = []
    here = digest.levels == 0
    values, levels, counts = digest.values[here], digest.levels[here].astype(np.uint8), digest.counts[here]
    for level in range(1, root + 1):
        own = digest.levels == level
        values, levels, counts = _level(
            level, bound, (values, levels, counts), (digest.values[own], digest.counts[own]), finished
        )
    finished.append((values, levels, counts))
    values, levels, counts = (np.concatenate([pair[at] for pair in finished]) for at in range(3))
    heavy = counts >= _LEAST_COUNT
    values, levels, counts = values[heavy], levels[heavy], counts[heavy]
    order = np.lexsort((levels, _ends(values, levels)))
    return Digest(digest.error, digest.least, digest.greatest, values[order], levels[order], counts[order])


def _level(
    level: int,
    bound: float,
    tops: tuple[Bits, NDArray[Any], NDArray[Any]],
    own: tuple[Bits, NDArray[Any]],
    finished: list[tuple[Bits, NDArray[Any], NDArray[Any]]],
) -> tuple[Bits, NDArray[Any], NDArray[Any]]:
    """Return the topmost nodes after those of ``level`` have their siblings' counts; ``finished`` gets what stays below."""
    values, levels, counts = tops
    shared = _shifted(values, level)
    pairs = np.flatnonzero(shared[1:] == shared[:-1])
    if not len(pairs) and not len(own[0]):
        return tops
    parents = np.union1d(shared[pairs], _shifted(own[0], level))
    inside = np.isin(shared, parents)
    place = np.searchsorted(parents, shared[inside])
    above = np.zeros(len(parents))
    np.add.at(above, np.searchsorted(parents, _shifted(own[0], level)), own[1])
    below = np.bincount(place, counts[inside], len(parents))
    few = above + below < bound
    moved = few[place]
    children = np.flatnonzero(inside)[~moved]
    finished.append((values[children], levels[children], counts[children]))
    starts = parents << np.uint64(level) if level < 64 else np.zeros(len(parents), np.uint64)
    new = np.concatenate([values[~inside], starts])
    order = np.argsort(new, kind="stable")
    new_levels = np.concatenate([levels[~inside], np.full(len(parents), level, np.uint8)])
    new_counts = np.concatenate([counts[~inside], np.where(few, above + below, above)])
    return new[order], new_levels[order], new_counts[order]


def _shifted(values: Bits, level: int) -> Bits:
    return values >> np.uint64(level) if level < 64 else np.zeros(len(values), np.uint64)


def packed(digest: Digest) -> bytes:
    """Return the bytes that are stored: Trino's tree, with a node for each branch."""
    nodes = np.array(list(_tree(digest)), _NODE)
    return _HEAD.pack(0, digest.error, 0.0, 0, digest.least, digest.greatest, len(nodes)) + nodes.tobytes()


def _tree(digest: Digest) -> Iterator[tuple[int, float, int]]:
    """Yield the structure, count and value of each node in post-order, and of the branches that hold them together."""
    tops: list[tuple[int, int]] = []  # of the trees so far, the value and the level
    for value, level, count in zip(digest.values.tolist(), digest.levels.tolist(), digest.counts.tolist(), strict=True):
        while len(tops) > 1 and _apart(tops[-2], tops[-1]) < _apart(tops[-1], (value, level)):
            yield _branch(tops)
        structure = 0
        while tops and level and _apart(tops[-1], (value, level)) <= level:
            under, _ = tops.pop()
            structure |= _RIGHT if under >> (level - 1) & 1 else _LEFT
        tops.append((value, level))
        yield (level - bool(structure)) << 2 & 0xFF | structure, count, _signed(value)
    while len(tops) > 1:
        yield _branch(tops)


def _apart(one: tuple[int, int], other: tuple[int, int]) -> int:
    """Return the level of the least range that has both nodes."""
    return max((one[0] ^ other[0]).bit_length(), one[1], other[1])


def _branch(tops: list[tuple[int, int]]) -> tuple[int, float, int]:
    right, left = tops.pop(), tops.pop()
    level = _apart(left, right)
    tops.append((left[0], level))
    return (level - 1) << 2 | _LEFT | _RIGHT, 0.0, _signed(left[0])


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= _SIGN else value


def opened(data: bytes) -> Digest:
    """Return the digest in stored bytes. Raises an error of the statement for other bytes."""
    if len(data) < _HEAD.size:
        raise invalid("Cannot deserialize qdigest")
    form, error, _, _, least, greatest, count = _HEAD.unpack_from(data)
    if form != 0 or count < 0 or len(data) != _HEAD.size + _NODE.itemsize * count or not _LEAST_ERROR < error < 1:
        raise invalid("Cannot deserialize qdigest")
    nodes = np.frombuffer(data, _NODE, offset=_HEAD.size)
    structure = nodes["structure"]
    levels = ((structure >> 2) + ((structure & 3) > 0)).astype(np.uint8)  # that of a branch is one less
    heavy = nodes["count"] >= _LEAST_COUNT
    if not np.isfinite(nodes["count"]).all():
        raise invalid("Cannot deserialize qdigest")
    return Digest(error, least, greatest, nodes["value"][heavy].view(np.uint64), levels[heavy], nodes["count"][heavy])


def value_at(digest: Digest, quantile: float) -> int | None:
    """Return an upper bound of the value at ``quantile``, None of no values."""
    if not 0 <= quantile <= 1:
        raise invalid("quantile must be between [0,1]")
    if not len(digest.counts):
        return None
    sums = np.cumsum(digest.counts)
    at = int(np.searchsorted(sums, quantile * sums[-1], "right"))
    if at == len(sums):
        return digest.greatest
    return min(_last(digest, at), digest.greatest)


def _last(digest: Digest, at: int) -> int:
    end = int(_ends(digest.values[at : at + 1], digest.levels[at : at + 1])[0])
    return end - _SIGN


def quantile_at(digest: Digest, value: int) -> float | None:
    """Return the share of the values below ``value``, None of one outside of the values' range.

    Source: Presto's quantile_at_value.
    """
    if not len(digest.counts) or not digest.least <= value <= digest.greatest:
        return None
    below = _ends(digest.values, digest.levels) < np.uint64(value + _SIGN)
    first = int(np.argmin(below)) if not below.all() else len(below)
    return float(digest.counts[:first].sum() / digest.counts.sum())
