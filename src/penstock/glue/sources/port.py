"""What a source is: a function from a script's request to a frame."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

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


class Source(Protocol):
    """Reads one type of connection."""

    def __call__(self, read: Read, /) -> DataFrame:
        """Return the frame, a stream if this is a source of streams.

        Raises :class:`penstock.errors.InvalidInput` for options that are unknown, missing or contradictory.
        """
        ...


class TableSource(Protocol):
    """Reads one kind of table of the catalog."""

    def __call__(self, read: Read, table: Table, /) -> DataFrame:
        """Return the frame of ``table``; see :class:`Source`."""
        ...
