"""The port to tables outside the lake, and such tables as their own systems describe them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from penstock.catalog.model import Table, TableInput
from penstock.crawl.model import DynamoTarget, JdbcTarget

__all__ = ["DescribedTable", "Scope", "SourceFinder"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedTable:
    """A table whose own system says what it is.

    ``place`` is its location in the catalog, ``connection`` the connection that leads to it. ``define`` returns its
    definition by its name in the catalog and the table there, None if it is new.
    """

    name: str
    place: str
    connection: str | None = None
    define: Callable[[str, Table | None], TableInput]


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a target's tables are: a table of the catalog there that the crawl does not find was deleted."""

    prefix: str
    connection: str | None = None


class SourceFinder(Protocol):
    """Finds the tables of targets outside the lake; raises :class:`PenstockError` if it cannot be reached."""

    def check(self, target: JdbcTarget | DynamoTarget) -> None:
        """Raise :class:`InvalidInput` for a target that the server may not read."""

    def find(
        self, target: JdbcTarget | DynamoTarget, check: Callable[[], None]
    ) -> tuple[Sequence[DescribedTable], Sequence[Scope]]:
        """Return the tables, and where they are; ``check`` is called often and raises to end the crawl."""
