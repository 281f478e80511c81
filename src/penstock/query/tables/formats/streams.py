"""Rows that Python reads, as a relation of the engine: batches one after another, read again for each use of the view."""

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from penstock.query.tables.formats.faults import carry
from penstock.sql.errors import StatementError
from penstock.sql.types import quote_name

__all__ = ["register_stream"]


class _Stream:
    """An object of Arrow's PyCapsule interface. The engine asks for a new stream each time that it reads the relation."""

    def __init__(self, schema: pa.Schema, batches: Callable[[], Iterator[pa.RecordBatch]]) -> None:
        self._schema = schema
        self._batches = batches

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        reader = pa.RecordBatchReader.from_batches(self._schema, self._guarded())
        return reader.__arrow_c_stream__(requested_schema)

    def _guarded(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._batches()
        except StatementError as error:
            # The engine passes on an error's text alone.
            raise pa.ArrowInvalid(carry(error)) from None


def register_stream(engine: Any, name: str, schema: pa.Schema, batches: Callable[[], Iterator[pa.RecordBatch]]) -> str:
    """Make ``batches`` known to the engine; return the relation's quoted name. Errors of reading are kept as they are."""
    engine.register(name, _Stream(schema, batches))
    return quote_name(name)
