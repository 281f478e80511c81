"""What a sink is: a function from a script's request and a frame to nothing, all of it written once or an error."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from pyspark.sql import DataFrame

from penstock.glue.session import GlueSession

__all__ = ["Sink", "TableSink", "Write"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One write of a script, under Glue's names.

    ``connection_type`` is in lower case; ``options`` are the connection_options or additional_options. ``database``
    and ``table`` are those of ``setCatalogInfo``, or of write_dynamic_frame.from_catalog.
    """

    session: GlueSession
    connection_type: str
    options: Mapping[str, Any] = field(default_factory=dict)
    format: str | None = None
    format_options: Mapping[str, Any] = field(default_factory=dict)
    transformation_ctx: str = ""
    database: str | None = None
    table: str | None = None
    catalog_id: str | None = None
    temporary: str = ""
    """``redshift_tmp_dir``, else empty."""


class Sink(Protocol):
    """Writes to one type of connection."""

    def __call__(self, write: Write, frame: DataFrame, /) -> None:
        """Write every row of ``frame``.

        Raises :class:`penstock.errors.InvalidInput` for options that are unknown, missing or contradictory, before a row is
        written.
        """
        ...


class TableSink(Protocol):
    """Writes to one kind of table of the catalog."""

    def __call__(self, write: Write, table: Mapping[str, Any], frame: DataFrame, /) -> None:
        """Write every row of ``frame`` to ``table`` (Glue's shape Table); see :class:`Sink`."""
        ...
