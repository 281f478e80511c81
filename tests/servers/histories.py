"""Checks of recorded histories.

A schema's versions are a log to which definitions are appended, each once. Such a history is linearizable (Herlihy and Wing,
1990) if each version has a moment, in the order of the numbers, that is within its registration, not after the end of a read
that saw it, and not before the begin of a read that did not. The moments are chosen greedily, each as early as it can be,
so that the check is exact and takes one pass.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Read", "Registration", "violations"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """A request to register ``definition``. Without an answer nobody knows whether, or when, it was done."""

    definition: str
    began: float
    ended: float = math.inf
    number: int | None = None
    version_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A request for the number of the latest version, and its answer."""

    began: float
    ended: float
    number: int


def violations(
    registrations: Sequence[Registration], reads: Sequence[Read], final: Mapping[int, tuple[str, str]]
) -> Iterator[str]:
    """Yield what is wrong with the history of one schema; ``final`` has id and definition of each version at the end."""
    if sorted(final) != list(range(1, len(final) + 1)):
        yield f"the numbers of the versions have gaps: {sorted(final)}"
        return
    for what, values in enumerate(zip(*final.values(), strict=True)):
        if len(set(values)) != len(values):
            yield f"two versions have one {('id', 'definition')[what]}"
    for registration in registrations:
        if registration.number is None:
            continue
        stored = final.get(registration.number)
        if stored != (registration.version_id, registration.definition):
            yield f"an acknowledged version is lost: {registration}, stored is {stored}"
    yield from _order(registrations, reads, final)


def _order(
    registrations: Sequence[Registration], reads: Sequence[Read], final: Mapping[int, tuple[str, str]]
) -> Iterator[str]:
    moment = -math.inf
    for number in range(1, len(final) + 1):
        definition = final[number][1]
        own = [item for item in registrations if item.definition == definition]
        if not own:
            yield f"nobody registered version {number}: {definition}"
            continue
        earliest = min(item.began for item in own)
        latest = min(item.ended for item in own if item.number is not None or item.ended == math.inf)
        unseen = max((read.began for read in reads if read.number < number), default=-math.inf)
        seen = min((read.ended for read in reads if read.number >= number), default=math.inf)
        moment = max(moment, earliest, unseen)
        if moment > min(latest, seen):
            yield (
                f"version {number} has no moment: it was made at {moment} or later (began {earliest}, not seen {unseen}), "
                f"and at {min(latest, seen)} or earlier (acknowledged {latest}, seen {seen})"
            )
            return
    for read in reads:
        if read.number > len(final):
            yield f"a read saw version {read.number}, which does not exist"
