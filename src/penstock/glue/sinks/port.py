"""What a sink is: a function from a script's request and a frame to nothing, all of it written once or an error."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

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


Sink = Callable[[Write, DataFrame], None]
"""Writes every row of a frame to one type of connection.

Raises :class:`penstock.errors.InvalidInput` for options that are unknown, missing or contradictory, before a row is written.
"""

TableSink = Callable[[Write, Mapping[str, Any], DataFrame], None]
"""Writes every row to one kind of table of the catalog (Glue's shape Table); see :data:`Sink`."""
