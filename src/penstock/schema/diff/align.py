"""The longest common subsequence of two sequences, in O(n log n)."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator

__all__ = ["kept"]


def kept(old: Iterable[Hashable], new: Iterable[Hashable]) -> list[tuple[int, int]]:
    """Return the positions of equal elements in both sequences, ascending in both: the longest such list.

    The first of several equal elements is paired with the first of the other side, the second with the second.
    """
    places = {key: position for position, key in enumerate(_counted(new))}
    pairs = [(position, places[key]) for position, key in enumerate(_counted(old)) if key in places]
    ends: list[int] = []  # for each length, the lowest position in the new sequence where a list of it ends
    chosen: list[int] = []  # the same as positions in pairs
    before: list[int] = []
    for position, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place)
        before.append(chosen[length - 1] if length else -1)
        if length == len(ends):
            ends.append(place)
            chosen.append(position)
        else:
            ends[length], chosen[length] = place, position
    row: list[tuple[int, int]] = []
    position = chosen[-1] if chosen else -1
    while position >= 0:
        row.append(pairs[position])
        position = before[position]
    return row[::-1]


def _counted(elements: Iterable[Hashable]) -> Iterator[tuple[Hashable, int]]:
    """Yield each element with its count so far."""
    counts: Counter[Hashable] = Counter()
    for element in elements:
        counts[element] += 1
        yield element, counts[element]
