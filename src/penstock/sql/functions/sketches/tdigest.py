"""T-digests in the bytes of Trino's (airlift, io.airlift.stats.TDigest): means and weights of clusters, small at both ends.

The size of clusters is bounded by Dunning's scale function k2 with compression 100.
Source of the method: Dunning and Ertl, "Computing extremely accurate quantiles using t-digests" (arXiv 1902.04023).
"""

import math
import struct
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.sql.functions.python import invalid

__all__ = [
    "Digest",
    "digest",
    "merged",
    "opened",
    "packed",
    "quantile_at",
    "scaled",
    "trimmed_mean",
    "value_at",
    "values_at",
]

_COMPRESSION = 100.0
_HEAD = struct.Struct("<bddddi")


@dataclass(frozen=True, slots=True)
class Digest:
    """The clusters in the order of their means, and the least and the greatest value."""

    least: float
    greatest: float
    compression: float
    means: NDArray[np.float64]
    weights: NDArray[np.float64]

    @property
    def total(self) -> float:
        """The weight of all values."""
        return float(self.weights.sum())


def digest(values: NDArray[Any], weights: NDArray[Any]) -> Digest:
    """Return the digest of ``values``. Raises an error of the statement for what Trino refuses."""
    for value in values[~np.isfinite(values)][:1].tolist():
        raise invalid(f"value must be finite; was {_java(value)}")
    for weight in weights[~np.isfinite(weights)][:1].tolist():
        raise invalid(f"weight must be finite, was {_java(weight)}")
    for weight in weights[weights < 1][:1].tolist():
        raise invalid(f"weight must be >= 1, was {weight}")
    return _compressed(float(values.min()), float(values.max()), _COMPRESSION, values, weights)


def _java(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _compressed(
    least: float, greatest: float, compression: float, means: NDArray[np.float64], weights: NDArray[np.float64]
) -> Digest:
    """Join neighbours, from the least on, into clusters as great as the scale function allows."""
    order = np.argsort(means, kind="stable")
    means, weights = means[order], weights[order]
    sums = np.cumsum(weights)
    starts = _starts(sums, compression)
    if len(starts) == len(means):
        return Digest(least, greatest, compression, means.astype(np.float64), weights.astype(np.float64))
    first = np.repeat(means[starts], np.diff([*starts, len(means)]))
    together = np.add.reduceat(weights, starts)
    joined = means[starts] + np.add.reduceat((means - first) * weights, starts) / together
    return Digest(least, greatest, compression, np.clip(joined, least, greatest), together)


def _starts(sums: NDArray[np.float64], compression: float) -> list[int]:
    """Return where clusters begin, by the running sums of the weights."""
    total = float(sums[-1])
    scale = compression / (4 * math.log(total / compression) + 24)
    starts, start, before = [0], 0, 0.0

    def too_great(at: int) -> bool:
        """Return whether the cluster from ``start`` to ``at`` is too great; from one on, all are."""
        below, above = before / total, min(float(sums[at]) / total, 1)
        return float(sums[at]) - before > total * min(below * (1 - below), above * (1 - above)) / scale

    while True:
        end = start + 1
        if end < len(sums) and not too_great(end):
            end = bisect_right(range(len(sums)), False, lo=end + 1, key=too_great)
        if end >= len(sums):
            return starts
        before, start = float(sums[end - 1]), end
        starts.append(start)


def packed(digest: Digest) -> bytes:
    """Return the bytes that are stored."""
    head = _HEAD.pack(0, digest.least, digest.greatest, digest.compression, digest.total, len(digest.means))
    return head + digest.means.astype("<f8").tobytes() + digest.weights.astype("<f8").tobytes()


def opened(data: bytes) -> Digest:
    """Return the digest in stored bytes. Raises an error of the statement for other bytes."""
    if len(data) < _HEAD.size:
        raise invalid("Cannot deserialize tdigest")
    form, least, greatest, compression, _, count = _HEAD.unpack_from(data)
    if form != 0 or count < 0 or len(data) != _HEAD.size + 16 * count or not 10 <= compression < math.inf:
        raise invalid("Cannot deserialize tdigest")
    means, weights = np.frombuffer(data, "<f8", offset=_HEAD.size).reshape(2, count)
    if not (np.isfinite(means).all() and np.isfinite(weights).all() and (weights > 0).all()):
        raise invalid("Cannot deserialize tdigest")
    return Digest(least, greatest, compression, means, weights)


def merged(digests: Iterable[bytes]) -> Digest | None:
    """Return the digest of all values of ``digests``, None if there is none."""
    every = [opened(data) for data in digests]
    if not every:
        return None
    means, weights = np.concatenate([item.means for item in every]), np.concatenate([item.weights for item in every])
    least, greatest = min(item.least for item in every), max(item.greatest for item in every)
    if not len(means):
        return every[0]
    return _compressed(least, greatest, every[0].compression, means, weights)


def scaled(digest: Digest, factor: float) -> Digest:
    """Return the digest with each weight times ``factor``."""
    if not 0 < factor < math.inf:
        raise invalid("Scale factor should be positive.")
    return replace(digest, weights=digest.weights * factor)


def value_at(digest: Digest, quantile: float) -> float:
    """Return the value at ``quantile`` of the sequence of all values, between clusters by a straight line."""
    if not 0 <= quantile <= 1:
        raise invalid("quantiles should be in [0, 1] range")
    means, weights = digest.means, digest.weights
    if len(means) < 2:
        return float(means[0]) if len(means) else math.nan
    total = digest.total
    rank = quantile * total
    first, last = float(weights[0]) / 2, float(weights[-1]) / 2
    if rank < 1:
        return digest.least
    if rank < first:
        return digest.least + (rank - 1) / (first - 1) * (float(means[0]) - digest.least)
    middles = np.cumsum(weights) - weights / 2
    at = int(np.searchsorted(middles, rank, "right")) - 1
    if (total - rank <= last or at == len(means) - 1) and rank <= total - 1 and last > 1:
        return digest.greatest + (total - rank - 1) / (last - 1) * (float(means[-1]) - digest.greatest)
    if rank >= total - 1 or at == len(means) - 1:
        return digest.greatest
    return _between(digest, at, rank - float(middles[at]))


def _between(digest: Digest, at: int, offset: float) -> float:
    """Return the value ``offset`` behind the middle of the cluster ``at``; a cluster of one value is not smeared."""
    left, right = (float(item) for item in digest.means[at : at + 2])
    own, other = (float(weight) for weight in digest.weights[at : at + 2])
    if own == 1 and offset < own / 2:
        return left
    if other == 1 and offset >= own / 2:
        return right
    length = (own + other) / 2
    if own == 1:
        offset, length = offset - own / 2, other / 2
    elif other == 1:
        length = own / 2
    return left + offset / length * (right - left)


def quantile_at(digest: Digest, value: float) -> float | None:
    """Return the share of the values below ``value``, and half of those that equal it; None of no values.

    Source: Dunning and Ertl, section 2.9, as in Presto's quantile_at_value.
    """
    means, weights, total = digest.means, digest.weights, digest.total
    if not len(means):
        return None
    if value < digest.least or value > digest.greatest:
        return float(value > digest.greatest)
    if value < means[0]:
        return _at_end(value - digest.least, float(means[0]) - digest.least, float(weights[0])) / total
    if value > means[-1]:
        return 1 - _at_end(digest.greatest - value, digest.greatest - float(means[-1]), float(weights[-1])) / total
    first, behind = (int(np.searchsorted(means, value, side)) for side in ("left", "right"))
    below = float(weights[:first].sum())
    if first < behind:
        return (below + float(weights[first:behind].sum()) / 2) / total
    return _below_between(digest, first - 1, below, value) / total


def _below_between(digest: Digest, at: int, below: float, value: float) -> float:
    """Return the weight below a value that is between the means of two clusters; ``below`` is that of all before it."""
    means, weights = digest.means, digest.weights
    own, other = (0.0 if weight == 1 else float(weight) / 2 for weight in weights[at : at + 2])
    start = below if weights[at] == 1 else below - own
    return start + (own + other) * (value - float(means[at])) / float(means[at + 1] - means[at])


def _at_end(distance: float, width: float, weight: float) -> float:
    """Return the weight between an end and a place before the first cluster's mean."""
    return 0.5 if distance == 0 else 1 + distance / width * max(weight / 2 - 1, 0)


def trimmed_mean(digest: Digest, lower: float, upper: float) -> float | None:
    """Return the mean of the values between two quantiles, None if there is none."""
    if not 0 <= lower <= upper <= 1:
        raise invalid("quantiles should be in [0, 1] range, the lower one first")
    ends = np.clip(np.cumsum(digest.weights), lower * digest.total, upper * digest.total)
    inside = np.diff(ends, prepend=lower * digest.total)
    weight = float(inside.sum())
    return float((digest.means * inside).sum()) / weight if weight > 0 else None


def values_at(digest: Digest, quantiles: Sequence[float]) -> list[float]:
    """Return the values at ``quantiles``, which are in order."""
    if list(quantiles) != sorted(quantiles):
        raise invalid("percentiles must be sorted in increasing order")
    return [value_at(digest, quantile) for quantile in quantiles]
