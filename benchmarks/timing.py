"""Compares candidates that do the same work: rounds alternate, so that all see the same machine; the best round counts."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchmarks.sizes import SMALL

__all__ = ["Measured", "Row", "in_turn"]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the report: what, ours and the other's figure with unit, the ratio, the aim, whether it was reached."""

    what: str
    ours: str
    other: str
    ratio: float
    aim: str
    reached: bool


@dataclass(frozen=True, slots=True)
class Measured:
    """Best seconds of each candidate, by name."""

    seconds: dict[str, float]


def in_turn(
    candidates: Mapping[str, Callable[[], object]], rounds: int = 7, *, clock: Callable[[], float] = time.perf_counter
) -> Measured:
    """Run the candidates one after the other, ``rounds`` times; the first round warms up and does not count.

    For work of one thread use :func:`time.process_time` as ``clock``: it is hardly affected by other processes.
    """
    best = dict.fromkeys(candidates, float("inf"))
    for number in range(2 if SMALL else rounds + 1):
        for name, run in candidates.items():
            began = clock()
            run()
            spent = clock() - began
            if number:
                best[name] = min(best[name], spent)
    return Measured(best)
