"""The port that stores what Athena keeps beside statements, such as prepared statements and work groups.

A resource has a kind, a scope and a name, which is unique within both. The scope of what is in a work group is the work
group's name; what belongs to the account has the scope "".
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

__all__ = ["AccountResource", "Resource", "ResourceKind", "ResourceStore"]


class Resource(Protocol):
    """A frozen dataclass whose fields are JSON's types, datetimes, and dataclasses of those."""

    @property
    def scope(self) -> str:
        """The work group's name, "" for what belongs to the account."""
        ...

    @property
    def key(self) -> str:
        """The name, unique within kind and scope."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountResource:
    """A :class:`Resource` of the account, by its name."""

    name: str

    @property
    def scope(self) -> str:
        """It belongs to the account."""
        return ""

    @property
    def key(self) -> str:
        """The name."""
        return self.name


T = TypeVar("T", bound=Resource)


@dataclass(frozen=True, slots=True)
class ResourceKind(Generic[T]):
    """A kind by its name in the store, and how a stored resource is read: ``load`` takes what ``orjson`` parsed."""

    name: str
    load: Callable[[Mapping[str, Any]], T]


class ResourceStore(Protocol):
    """Resources by kind, scope and key. Implementations are safe under concurrent callers in several threads and processes.

    Keys are compared byte by byte, and sorted so.
    """

    def add(self, kind: ResourceKind[T], resource: T, *, limit: int) -> bool:
        """Store a new resource; return False, and change nothing, if its key is taken.

        Raises :class:`penstock.errors.LimitExceeded` if its scope has ``limit`` resources of this kind already.
        """
        ...

    def get(self, kind: ResourceKind[T], scope: str, key: str) -> T | None:
        """Return the resource, or None."""
        ...

    def get_many(self, kind: ResourceKind[T], scope: str | None, keys: Sequence[str]) -> Sequence[T]:
        """Return the resources of ``keys`` that exist, in the order of ``keys``; those of any scope if it is None."""
        ...

    def list(self, kind: ResourceKind[T], scope: str, *, after: str | None, limit: int) -> Sequence[T]:
        """Return up to ``limit`` resources of a scope by key, those behind ``after``."""
        ...

    def change(self, kind: ResourceKind[T], scope: str, key: str, change: Callable[[T], T]) -> T | None:
        """Replace the resource by ``change`` of it, in one transaction; return the new one, None if there is none.

        ``change`` keeps scope and key. An exception from it reaches the caller, and nothing is changed.
        """
        ...

    def delete(self, kind: ResourceKind[T], scope: str, key: str) -> bool:
        """Delete the resource; return False if there is none."""
        ...

    def delete_with_scope(self, kind: ResourceKind[T], scope: str, key: str, *, within: str) -> bool:
        """Delete the resource and, in one transaction, all resources of any kind whose scope is ``within``.

        Returns False, and deletes nothing, if there is no such resource.
        """
        ...

    def is_empty(self, scope: str) -> bool:
        """Return whether no resource of any kind has this scope."""
        ...
