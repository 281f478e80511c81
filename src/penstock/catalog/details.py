"""What belongs to a database, a table or a partition beside its own description: functions, indexes, statistics.

A store keeps each as members under AWS's names (JSON values, datetimes and bytes), and ends it with what it belongs to.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

__all__ = ["Body", "Change", "DetailKind", "Home"]

Body: TypeAlias = Mapping[str, object]
Change: TypeAlias = Callable[[Mapping[str, Body]], Mapping[str, Body]]
"""What the details of one kind and home become, by name; what it raises leaves them as they were."""


class DetailKind(StrEnum):
    """What a detail is: functions are of databases, indexes of tables, statistics of tables and partitions."""

    FUNCTION = "function"
    INDEX = "index"
    STATISTICS = "statistics"


@dataclass(frozen=True, slots=True)
class Home:
    """What details belong to: a database, one of its tables, or a partition of that by its values. Names are folded."""

    database: str
    table: str | None = None
    values: tuple[str, ...] | None = None
