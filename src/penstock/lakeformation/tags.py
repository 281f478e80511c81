"""LF-tags: keys with their values, what they are assigned to, and which expressions match.

A database's tags hold for its tables, and a table's for its columns, unless the table or column has another value of the
key (developer guide, "Lake Formation tag-based access control").
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.lakeformation.errors import InvalidRequest, NoSuchEntity, Taken
from penstock.lakeformation.store import Document, LakeFormationStore

__all__ = ["Assignments", "LfTags", "matches"]

_TAG, _ASSIGNED = "tag", "assigned"
_MAX_TAGS = 1_000
_MAX_VALUES = 1_000
_MAX_ON_RESOURCE = 50

Tags = Mapping[str, str]


def matches(expression: Sequence[Mapping[str, Any]], tags: Tags) -> bool:
    """Return whether ``tags`` have, for each pair of the expression, one of its values."""
    return all(tags.get(entry["TagKey"]) in entry["TagValues"] for entry in expression)


@dataclass(frozen=True, slots=True)
class Assignments:
    """The tags of all resources, by :meth:`LfTags.place`."""

    by_place: Mapping[str, Tags]

    def database(self, database: str) -> Tags:
        """Return a database's tags."""
        return self.by_place.get(database, {})

    def table(self, database: str, table: str) -> Tags:
        """Return a table's tags, with those of its database."""
        return {**self.database(database), **self.by_place.get(f"{database}.{table}", {})}

    def column(self, database: str, table: str, column: str) -> Tags:
        """Return a column's tags, with those of its table."""
        return {**self.table(database, table), **self.by_place.get(f"{database}.{table}.{column}", {})}


class LfTags:
    """The LF-tags of one account."""

    def __init__(self, store: LakeFormationStore) -> None:
        self._store = store

    def create(self, key: str, values: Sequence[str]) -> None:
        """Create a tag. Raises :class:`Taken` and :class:`InvalidRequest`."""
        if len(self._store.list(_TAG)) >= _MAX_TAGS:
            raise InvalidRequest(f"An account has at most {_MAX_TAGS} LF-tags.")

        def new(stored: Document | None) -> Document:
            if stored is not None:
                raise Taken(f"LF-tag {key.lower()} exists already.")
            return {"values": _values(values)}

        self._store.change(_TAG, key.lower(), new)

    def get(self, key: str) -> Sequence[str]:
        """Return a tag's values. Raises :class:`NoSuchEntity`."""
        stored = self._store.get(_TAG, key.lower())
        if stored is None:
            raise NoSuchEntity(f"LF-tag {key.lower()} does not exist.", remedy="Create it with CreateLFTag.")
        return stored["values"]  # type: ignore[no-any-return]

    def list(self) -> Sequence[tuple[str, Sequence[str]]]:
        """Return all tags with their values, by key."""
        return [(key, document["values"]) for key, document in self._store.list(_TAG)]

    def update(self, key: str, *, add: Sequence[str], remove: Sequence[str]) -> None:
        """Change a tag's values. Raises :class:`InvalidRequest` for a value that is in use, or the last one."""
        removed = set(_values(remove)) if remove else set()
        used = {tags.get(key.lower()) for tags in self.assignments().by_place.values()} & removed
        if used:
            raise InvalidRequest(f"Values of LF-tag {key} are assigned: {', '.join(sorted(str(name) for name in used))}.")

        def changed(stored: Document | None) -> Document:
            if stored is None:
                raise NoSuchEntity(f"LF-tag {key.lower()} does not exist.")
            values = [value for value in stored["values"] if value not in removed]
            return {"values": _values([*values, *add])}

        self._store.change(_TAG, key.lower(), changed)

    def delete(self, key: str) -> None:
        """Delete a tag and its assignments. Raises :class:`NoSuchEntity`."""
        self.get(key)
        self._store.change(_TAG, key.lower(), lambda _: None)
        for place, tags in self.assignments().by_place.items():
            if key.lower() in tags:
                self.unassign(place, [key])

    def assign(self, place: str, tags: Tags) -> None:
        """Give the resource at ``place`` these values. Raises :class:`InvalidRequest` for unknown values."""
        for key, value in tags.items():
            if value not in self.get(key):
                raise InvalidRequest(f"LF-tag {key} has no value {value}.", remedy="Add it with UpdateLFTag.")

        def changed(stored: Document | None) -> Document:
            merged = {**(stored or {}), **{key.lower(): value for key, value in tags.items()}}
            if len(merged) > _MAX_ON_RESOURCE:
                raise InvalidRequest(f"A resource has at most {_MAX_ON_RESOURCE} LF-tags.")
            return merged

        self._store.change(_ASSIGNED, place, changed)

    def unassign(self, place: str, keys: Sequence[str]) -> None:
        """Remove tags from a resource, ignoring those that it does not have."""
        removed = {key.lower() for key in keys}

        def changed(stored: Document | None) -> Document | None:
            return {key: value for key, value in (stored or {}).items() if key not in removed} or None

        self._store.change(_ASSIGNED, place, changed)

    def assignments(self) -> Assignments:
        """Return all assignments."""
        return Assignments(dict(self._store.list(_ASSIGNED)))

    @staticmethod
    def place(database: str, table: str | None = None, column: str | None = None) -> str:
        """Return the key of a database, table or column."""
        return ".".join(name.lower() for name in (database, table, column) if name is not None)


def _values(values: Sequence[str]) -> list[str]:
    lowered = list(dict.fromkeys(value.lower() for value in values))
    if not lowered or len(lowered) > _MAX_VALUES:
        raise InvalidRequest(f"An LF-tag has between 1 and {_MAX_VALUES} values.")
    return lowered
