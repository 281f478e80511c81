"""Compare a definition with a schema's earlier versions, the latest first, one at a time, within a CPU budget.

An ordinary version takes a few milliseconds of the processor to be read and compared, and up to two microseconds a
character more for a long JSON Schema, so thousands of them are ordinary use and must pass. Hostile versions take more. The
budget is therefore a constant, plus what an ordinary version of its length takes for each version that is done, up to a
maximum.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from penstock.registry.model import AVAILABLE, Schema, SchemaKey, Version, VersionHead
from penstock.registry.policies.contracts import ContractRules
from penstock.registry.store import VersionStore
from penstock.registry.versions.definitions import Definitions
from penstock.schema import compatibility, cpu_budget
from penstock.schema.compatibility import CompatibilityMode, CompatibilityVerdict, Conflict, relevant
from penstock.schema.errors import TooComplex
from penstock.schema.format import ParsedSchema
from penstock.schema.formats import format_of
from penstock.schema.rules import CompatibilityRules

__all__ = ["MAX_CONFLICTS", "Candidate", "History", "all_heads", "check"]

MAX_CONFLICTS = 100
_SECONDS = 0.5  # of the processor, the compiler's included
_SECONDS_PER_VERSION = 0.005
_SECONDS_PER_CHARACTER = 0.000_003
_MOST_SECONDS = 45.0
_PAGE = 1_000
_TEXTS = 50  # versions of a long history in memory at once: 17 MB if all have the largest size


class Candidate(NamedTuple):
    """A definition with its contract and the rules that check it."""

    parsed: ParsedSchema
    contract: str | None
    rules: CompatibilityRules
    contracts: ContractRules


class History:
    """The earlier versions of a schema that compatibility is checked against.

    They are the AVAILABLE ones from the checkpoint on: the last of them for BACKWARD, FORWARD and FULL, all of them for the
    _ALL modes. Refused versions (FAILURE) and soft-deleted ones are left out.
    """

    def __init__(self, versions: VersionStore, definitions: Definitions) -> None:
        self._versions = versions
        self._definitions = definitions

    def check_compatibility(self, schema: Schema, mode: CompatibilityMode, new: Candidate) -> CompatibilityVerdict:
        """Return the verdict of ``mode`` and the candidate's rules on it as the next version of ``schema``."""
        verdict = self._compare(schema, mode, new)
        if not new.contracts.reserves:
            return verdict
        latest = None if schema.latest is None else self._versions.get_numbered(schema.key, schema.latest)
        return replace(verdict, conflicts=(*new.contracts.conflicts(new.parsed, new.contract, latest), *verdict.conflicts))

    def check_against(self, chosen: Sequence[Version], mode: CompatibilityMode, new: Candidate) -> CompatibilityVerdict:
        """As :meth:`check_compatibility`, compared with only the ``chosen`` versions, the latest first."""
        reserved = new.contracts.conflicts(new.parsed, new.contract, chosen[0] if chosen else None)
        chosen = [version for version in chosen if new.contracts.alike(new.contract, version.contract)]
        verdict = self._check(mode, new, sorted(version.number for version in chosen), chosen)
        return replace(verdict, conflicts=(*reserved, *verdict.conflicts))

    def _compare(self, schema: Schema, mode: CompatibilityMode, new: Candidate) -> CompatibilityVerdict:
        if schema.latest is None or not relevant(mode, [schema.latest]):
            return CompatibilityVerdict(mode=mode)
        grouped = new.contracts.group is not None
        if mode.checks_all or grouped:
            heads = all_heads(self._versions, schema.key)
            numbers = [head.number for head in heads if head.number >= schema.checkpoint]
            earlier = self._texts(schema.key, numbers)
            if grouped:
                earlier = (version for version in earlier if new.contracts.alike(new.contract, version.contract))
                if not mode.checks_all:
                    earlier = islice(earlier, 1)
        else:
            last = self._versions.get_numbered(schema.key, schema.latest)
            latest = [last] if last is not None and last.status == AVAILABLE and last.deleted is None else []
            numbers, earlier = [version.number for version in latest], iter(latest)
        return self._check(mode, new, numbers, earlier)

    def _check(
        self, mode: CompatibilityMode, new: Candidate, numbers: Sequence[int], earlier: Iterable[Version]
    ) -> CompatibilityVerdict:
        return check(mode, new.parsed, numbers, earlier, read=self._definitions.of, rules=new.rules)

    def _texts(self, key: SchemaKey, numbers: Sequence[int]) -> Iterator[Version]:
        """Yield the versions ``numbers`` (ascending), the last first, a few at a time, without those deleted meanwhile."""
        for end in range(len(numbers), 0, -_TEXTS):
            few = numbers[max(0, end - _TEXTS) : end]
            versions = self._versions.scan(key.registry, key.name, (key, few[0] - 1), len(few), deleted=False)
            yield from (version for version in reversed(versions) if version.key == key and version.number <= few[-1])


def all_heads(versions: VersionStore, key: SchemaKey, *, deleted: bool = False) -> Sequence[VersionHead]:
    """Return all AVAILABLE versions by number; none if the schema does not exist."""
    heads: list[VersionHead] = []
    while True:
        rows = versions.list(key, heads[-1].number if heads else None, _PAGE, deleted=deleted)
        heads.extend(rows)
        if len(rows) < _PAGE:
            return [head for head in heads if head.status == AVAILABLE]


def check(
    mode: CompatibilityMode,
    new: ParsedSchema,
    numbers: Sequence[int],
    earlier: Iterable[Version],
    *,
    read: Callable[[Version], ParsedSchema],
    rules: CompatibilityRules,
) -> CompatibilityVerdict:
    """Return the verdict of ``mode`` on ``new`` against all versions ``numbers``.

    ``earlier`` yields them lazily, the latest first: a long history would not fit into memory. ``read``
    parses one. Raises :class:`~penstock.schema.errors.TooComplex` if they take longer than the budget.
    """
    if not relevant(mode, numbers):
        return CompatibilityVerdict(mode=mode)
    conflicts: list[Conflict] = []
    started, allowed = cpu_budget.used(), _SECONDS
    for compared, version in enumerate(earlier):
        remaining = min(allowed, _MOST_SECONDS) - (cpu_budget.used() - started if compared else 0)
        allowed += _SECONDS_PER_VERSION + _SECONDS_PER_CHARACTER * len(version.definition)
        try:
            if remaining <= 0:
                raise cpu_budget.Exceeded
            with cpu_budget.limit(remaining):
                one = [(version.number, read(version))]
                cpu_budget.check()
                conflicts.extend(compatibility.check(format_of(new.data_format), mode, new, one, rules).conflicts)
        except cpu_budget.Exceeded:
            raise _too_long(version.number, compared, len(numbers), cpu_budget.used() - started) from None
        if len(conflicts) >= MAX_CONFLICTS:
            break
    return CompatibilityVerdict(mode=mode, checked=tuple(numbers), conflicts=tuple(conflicts[:MAX_CONFLICTS]))


def _too_long(number: int, compared: int, every: int, seconds: float) -> TooComplex:
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
        f"The definition takes too long to compare with all {every} versions: {seconds:.2f} seconds for {compared} of them, "
        f"version {number} being the next, and {limit}.",
        remedy="Compare with the latest version alone by another compatibility, move the checkpoint, or split the schema.",
    )
