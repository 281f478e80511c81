"""Key and value pairs that clients attach to schema versions, and those that Penstock adds to refused ones."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime

from penstock.errors import InvalidInput
from penstock.paging import Page, page
from penstock.registry.errors import MetadataNotFound
from penstock.registry.model import Metadata, RegistryLimits, Version
from penstock.registry.store import MetadataStore

__all__ = ["INCOMPATIBILITY_KEY", "VersionMetadata"]

INCOMPATIBILITY_KEY = "penstock:incompatibility"
"""Metadata key of a refused version, one value an incompatibility: ``RULE@PATH:DIRECTION:VERSION``."""

_RESERVED = "penstock:"
_MAX_VALUE = 256
# What the Glue API model lets a value hold.
_FORBIDDEN = re.compile(r"[^a-zA-Z0-9+\-=._./@:;<]")


class VersionMetadata:
    """Metadata by version id. A key may have several values; keys come back in the order of their names."""

    def __init__(self, store: MetadataStore, *, now: Callable[[], datetime], limits: RegistryLimits) -> None:
        self._store = store
        self._now = now
        self._limits = limits

    def put(self, version: Version, key: str, value: str) -> None:
        """Add a pair; :class:`MetadataExists`, :class:`RegistryFull`."""
        if key.startswith(_RESERVED):
            raise InvalidInput(f"The metadata key '{key}' begins with {_RESERVED}, which the server keeps for itself.")
        pair = Metadata(key=key, value=value, created=self._now())
        self._store.put(version.id, pair, limit=self._limits.metadata_per_version)

    def remove(self, version: Version, key: str, value: str) -> None:
        """Remove a pair; :class:`MetadataNotFound`."""
        if not self._store.remove(version.id, key, value):
            raise MetadataNotFound(version.id, key, value)

    def query(
        self,
        version: Version,
        filters: Sequence[tuple[str | None, str | None]] = (),
        *,
        token: str | None = None,
        size: int = 50,
    ) -> Page[tuple[str, Sequence[Metadata]]]:
        """A page of keys with their pairs.

        ``filters`` keeps the pairs that equal one of these keys and values, where None equals all.
        """
        pairs = [*self._store.list(version.id), *_verdict(version)]
        by_key: dict[str, list[Metadata]] = {}
        for pair in sorted(pairs, key=lambda pair: pair.key):
            if not filters or any(_matches(pair, key, value) for key, value in filters):
                by_key.setdefault(pair.key, []).append(pair)

        def read(after: str | None, count: int) -> Sequence[tuple[str, Sequence[Metadata]]]:
            return _behind(by_key, after)[:count]

        return page(f"metadata:{version.id}", token, size, read, lambda item: item[0], kind=str)


def _behind(by_key: Mapping[str, Sequence[Metadata]], after: str | None) -> list[tuple[str, Sequence[Metadata]]]:
    return [(key, pairs) for key, pairs in by_key.items() if after is None or key > after]


def _matches(pair: Metadata, key: str | None, value: str | None) -> bool:
    return key in (None, pair.key) and value in (None, pair.value)


def _verdict(version: Version) -> Iterator[Metadata]:
    """The incompatibilities of a refused version, as many as metadata can hold."""
    if version.verdict is None:
        return
    values: set[str] = set()
    for conflict in version.verdict.conflicts:
        incompatibility = conflict.incompatibility
        text = f"{incompatibility.rule}@{incompatibility.path}:{conflict.direction}:{conflict.version}"
        value = _FORBIDDEN.sub("_", text)[:_MAX_VALUE]
        if value not in values:
            values.add(value)
            yield Metadata(key=INCOMPATIBILITY_KEY, value=value, created=version.created)
