"""A definition compared with a history: one version at a time, the latest first, and within the time of one request.

An ordinary version takes a few milliseconds of the processor to be read and compared, and up to two microseconds a
character more where it is a long JSON Schema, so that thousands of them are no attack and have to be let through. Versions
made to hurt take more. The budget is therefore one for all, plus what an ordinary version of its length takes for each that
is done, and an end to all patience.
"""

from collections.abc import Callable, Iterable, Sequence

from penstock.registry.model import Version
from penstock.schema import compatibility, cpu_budget
from penstock.schema.compatibility import CompatibilityMode, CompatibilityVerdict, Conflict, relevant
from penstock.schema.errors import TooComplex
from penstock.schema.format import ParsedSchema
from penstock.schema.formats import format_of
from penstock.schema.rules import CompatibilityRules

__all__ = ["MAX_CONFLICTS", "check"]

MAX_CONFLICTS = 100
_SECONDS = 0.5  # of the processor, the compiler's included
_SECONDS_PER_VERSION = 0.005
_SECONDS_PER_CHARACTER = 0.000_003
_MOST_SECONDS = 45.0


def check(
    mode: CompatibilityMode,
    new: ParsedSchema,
    numbers: Sequence[int],
    earlier: Iterable[Version],
    *,
    read: Callable[[Version], ParsedSchema],
    rules: CompatibilityRules,
) -> CompatibilityVerdict:
    """What ``mode`` says of ``new`` beside the versions ``numbers``, all of which are compared with.

    ``earlier`` gives them, the latest first, and is asked for one after the other: a long history at once would not fit into
    memory. ``read`` parses one. Raises :class:`~penstock.schema.errors.TooComplex` where they take longer than the budget.
    """
    if not relevant(mode, numbers):
        return CompatibilityVerdict(mode=mode)
    conflicts: list[Conflict] = []
    started, allowed = cpu_budget.used(), _SECONDS
    for done, version in enumerate(earlier):
        left = min(allowed, _MOST_SECONDS) - (cpu_budget.used() - started if done else 0)
        allowed += _SECONDS_PER_VERSION + _SECONDS_PER_CHARACTER * len(version.definition)
        try:
            if left <= 0:
                raise cpu_budget.Exceeded
            with cpu_budget.limit(left):
                one = [(version.number, read(version))]
                cpu_budget.check()
                conflicts.extend(compatibility.check(format_of(new.data_format), mode, new, one, rules).conflicts)
        except cpu_budget.Exceeded:
            raise _too_long(version.number, done, len(numbers), cpu_budget.used() - started) from None
        if len(conflicts) >= MAX_CONFLICTS:
            break
    return CompatibilityVerdict(mode=mode, checked=tuple(numbers), conflicts=tuple(conflicts[:MAX_CONFLICTS]))


def _too_long(number: int, done: int, every: int, seconds: float) -> TooComplex:
    limit = (
        f"the limit is {_SECONDS:g} seconds of the processor, {_SECONDS_PER_VERSION * 1000:g} milliseconds a version and "
        f"{_SECONDS_PER_CHARACTER * 1_000_000:g} a thousand characters of it, up to {_MOST_SECONDS:g} seconds"
    )
    if every == 1:
        return TooComplex(
            f"The definition takes too long to compare with version {number}: {seconds:.2f} seconds, and {limit}.",
            remedy="Split the schema, or shorten its unions, oneOf, anyOf and enum lists.",
        )
    return TooComplex(
        f"The definition takes too long to compare with all {every} versions: {seconds:.2f} seconds for {done} of them, "
        f"version {number} being the next, and {limit}.",
        remedy="Compare with the latest version alone by another compatibility, move the checkpoint, or split the schema.",
    )
