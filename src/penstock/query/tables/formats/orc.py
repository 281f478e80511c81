"""ORC files, a stripe at a time: columns by their places, as Athena reads them by default, or by name."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import duckdb
import pyarrow as pa
from pyarrow import orc

from penstock.catalog.model import Column
from penstock.query.tables.formats.casts import converted, null_of
from penstock.query.tables.formats.faults import bad_data
from penstock.query.tables.formats.port import FILE_COLUMN, NumberedFile, Relation
from penstock.query.tables.formats.streams import register_stream
from penstock.sql.types import quote_name

__all__ = ["OrcFormat"]


@dataclass(frozen=True, slots=True)
class OrcFormat:
    """ORC; ``columns`` are the table's (lower case) if files are read by place, None if they are read by name."""

    columns: tuple[str, ...] | None

    @property
    def name(self) -> str:
        """The format."""
        return "ORC"

    def relations(
        self, engine: Any, view: str, files: Sequence[NumberedFile], used: Sequence[Column], *, with_file: bool
    ) -> Sequence[Relation]:
        """See :class:`~penstock.query.tables.formats.port.FileFormat`; files of one schema are one relation."""
        _ = with_file
        by_schema: dict[pa.Schema, list[NumberedFile]] = {}
        for file in files:
            by_schema.setdefault(_opened(file[1].path).schema.remove_metadata(), []).append(file)
        return [
            self._relation(engine, f"{view}_{number}", schema, group, used)
            for number, (schema, group) in enumerate(by_schema.items())
        ]

    def _relation(
        self, engine: Any, view: str, schema: pa.Schema, files: Sequence[NumberedFile], used: Sequence[Column]
    ) -> Relation:
        fields = {column.name.lower(): self._field(schema, column) for column in used}
        chosen = list(dict.fromkeys(field for field in fields.values() if field is not None))
        shape = pa.schema([*(schema.field(item) for item in chosen), (FILE_COLUMN, pa.int32())])
        source = register_stream(engine, view, shape, partial(_stripes, files, chosen, shape))
        types = _engine_types(shape)
        columns = {}
        for column in used:
            name = fields[column.name.lower()]
            columns[column.name.lower()] = (
                null_of(column)
                if name is None
                else converted(column, types[name], f"f.{quote_name(name)}", where=files[0][1].path)
            )
        return Relation(source, columns)

    def _field(self, schema: pa.Schema, column: Column) -> str | None:
        """Return the file's name of the table's column."""
        lowered = column.name.lower()
        if self.columns is not None:
            at = self.columns.index(lowered) if lowered in self.columns else len(schema)
            return schema.names[at] if at < len(schema) else None
        return next((name for name in schema.names if name.lower() == lowered), None)


def _engine_types(shape: pa.Schema) -> Mapping[str, str]:
    """Return the engine's types of a stream's columns."""
    with duckdb.connect() as engine:
        engine.register("shape", shape.empty_table())
        return {name: type_ for name, type_, *_ in engine.execute("DESCRIBE SELECT * FROM shape").fetchall()}


def _opened(path: str) -> Any:
    try:
        return orc.ORCFile(path)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise bad_data(path, f"The file cannot be read as ORC: {error}.") from error


def _stripes(files: Sequence[NumberedFile], chosen: Sequence[str], shape: pa.Schema) -> Iterator[pa.RecordBatch]:
    for number, file in files:
        opened = _opened(file.path)
        if not chosen:
            yield from _counted(opened.nrows, number, shape)
            continue
        for stripe in range(opened.nstripes):
            try:
                batch = opened.read_stripe(stripe, columns=list(chosen))
            except (pa.ArrowException, OSError) as error:
                raise bad_data(file.path, f"Stripe {stripe} cannot be read: {error}.") from error
            arrays = [batch.column(name) for name in chosen]
            yield pa.record_batch([*arrays, pa.array([number] * batch.num_rows, pa.int32())], schema=shape)


def _counted(rows: int, number: int, shape: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield rows without columns, for queries that count them."""
    for start in range(0, rows, 65_536):
        yield pa.record_batch([pa.array([number] * min(65_536, rows - start), pa.int32())], schema=shape)
