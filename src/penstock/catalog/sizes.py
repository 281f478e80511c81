"""The size of a definition, and its limit.

AWS publishes no limit for a table; with ours, reading one takes at most some tens of milliseconds of CPU time.
"""

from collections.abc import Sequence

import orjson

from penstock.catalog.errors import DefinitionTooLarge
from penstock.catalog.model import Column, Database, Partition, Table

__all__ = ["check_size", "weigh"]

_MAX_COLUMNS = 10_000
_MAX_BYTES = 1_000_000
_MAX_DATABASE_BYTES = 100_000


def weigh(value: object) -> int:
    """Return the bytes of ``value``, a definition or a part of one, as JSON."""
    return len(orjson.dumps(value, default=list))


def check_size(definition: Database | Table | Partition) -> None:
    """Raise :class:`DefinitionTooLarge` if the definition has too many columns or bytes of JSON."""
    if isinstance(definition, Database):
        _check(f"database {definition.name}", (), definition, _MAX_DATABASE_BYTES)
    elif isinstance(definition, Table):
        columns = (*definition.storage.columns, *definition.partition_keys)
        _check(f"table {definition.database}.{definition.name}", columns, definition, _MAX_BYTES)
    else:
        _check(
            f"a partition of {definition.database}.{definition.table}", definition.storage.columns, definition, _MAX_BYTES
        )


def _check(what: str, columns: Sequence[Column], definition: object, most: int) -> None:
    if len(columns) > _MAX_COLUMNS:
        raise DefinitionTooLarge(what, len(columns), "columns", _MAX_COLUMNS)
    size = weigh(definition)
    if size > most:
        raise DefinitionTooLarge(what, size, "bytes of JSON", most)
