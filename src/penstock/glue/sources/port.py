"""What a source is: a function from a script's request to a frame."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame

from penstock.glue.session import GlueSession

__all__ = ["Read", "Source", "Table", "TableSource"]

Table = Mapping[str, Any]
"""A table of the catalog: Glue's shape Table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One read of a script, under Glue's names.

    ``connection_type`` is in lower case; ``options`` are the connection_options or additional_options of the
    script, ``transformation_ctx`` names the read in the job's bookmarks and is empty for one without.
    """

    session: GlueSession
    connection_type: str
    options: Mapping[str, Any] = field(default_factory=dict)
    format: str | None = None
    format_options: Mapping[str, Any] = field(default_factory=dict)
    transformation_ctx: str = ""
    push_down_predicate: str = ""
    catalog_id: str | None = None
    temporary: str = ""
    """``redshift_tmp_dir``, else empty."""


Source = Callable[[Read], DataFrame]
"""Reads one type of connection, as a stream if this is a source of streams.

Raises :class:`penstock.errors.InvalidInput` for options that are unknown, missing or contradictory.
"""

TableSource = Callable[[Read, Table], DataFrame]
"""Reads one kind of table of the catalog; see :data:`Source`."""
