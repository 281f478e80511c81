"""Details of a database, a table or a partition beside its own description: functions, indexes, statistics.

A store keeps each as members under AWS's names (JSON values, datetimes and bytes), and deletes it with its owner.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from penstock.errors import NotFound

__all__ = ["Body", "Change", "DetailKind", "Home", "removal"]

Body: TypeAlias = Mapping[str, object]
Change: TypeAlias = Callable[[Mapping[str, Body]], Mapping[str, Body]]
"""A function from the details of one kind and home to their new state, by name. If it raises, they do not change."""


class DetailKind(StrEnum):
    """The kind of a detail. Databases have functions; tables indexes, optimizers and statistics; partitions statistics."""

    FUNCTION = "function"
    INDEX = "index"
    OPTIMIZER = "optimizer"
    STATISTICS = "statistics"


@dataclass(frozen=True, slots=True)
class Home:
    """The owner of details: a database, one of its tables, or a partition by its values. Names are in lower case."""

    database: str
    table: str | None = None
    values: tuple[str, ...] | None = None


def removal(name: str, missing: NotFound) -> Change:
    """Return the change that removes the detail ``name``, and raises ``missing`` if there is none."""

    def remove(bodies: Mapping[str, Body]) -> Mapping[str, Body]:
        if name not in bodies:
            raise missing
        return {other: body for other, body in bodies.items() if other != name}

    return remove
