"""Parquet files, which the engine itself reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.catalog.model import Column
from penstock.query.tables.formats.casts import converted, null_of
from penstock.query.tables.formats.port import FILE_COLUMN, NumberedFile, Relation
from penstock.sql.types import quote_name, quote_text

__all__ = ["ParquetFormat", "parquet_source"]


@dataclass(frozen=True, slots=True)
class ParquetFormat:
    """Parquet, by the names of columns; by their places if ``columns`` are given (``parquet.column.index.access``)."""

    columns: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        """The format."""
        return "Parquet"

    def relations(
        self, engine: Any, view: str, files: Sequence[NumberedFile], used: Sequence[Column], *, with_file: bool
    ) -> Sequence[Relation]:
        """See :class:`~penstock.query.tables.formats.port.FileFormat`."""
        _ = view
        if self.columns is not None:
            return [self._by_place(engine, file, used, with_file=with_file) for file in files]
        paths = [file.path for _, file in files]
        described = _described(engine, paths)
        where = paths[0] if len(paths) == 1 else f"one of {len(paths)} files such as {paths[0]}"
        columns = {}
        for column in used:
            name = column.name.lower()
            is_declared = name in described
            columns[name] = (
                converted(column, described[name], f"f.{quote_name(column.name)}", where=where)
                if is_declared
                else null_of(column)
            )
        return [Relation(parquet_source(paths, with_file=with_file), columns, by_path=True)]

    def _by_place(self, engine: Any, file: NumberedFile, used: Sequence[Column], *, with_file: bool) -> Relation:
        assert self.columns is not None
        path = file[1].path
        described = list(_described(engine, [path]).items())
        columns = {}
        for column in used:
            name = column.name.lower()
            at = self.columns.index(name) if name in self.columns else len(described)
            columns[name] = (
                converted(column, described[at][1], f"f.{quote_name(described[at][0])}", where=path)
                if at < len(described)
                else null_of(column)
            )
        return Relation(parquet_source([path], with_file=with_file), columns, by_path=True)


def _described(engine: Any, paths: Sequence[str]) -> Mapping[str, str]:
    """Return the files' columns (lower case) in their order, with the engine's types."""
    rows = engine.execute(f"DESCRIBE SELECT * FROM {parquet_source(paths, with_file=False)}").fetchall()  # noqa: S608
    return {str(name).lower(): str(type_) for name, type_, *_ in rows}


def parquet_source(paths: Sequence[str], *, with_file: bool) -> str:
    """Return the engine's source over exactly these files: a name is a pattern only if no file has it."""
    listed = ", ".join(map(quote_text, paths))
    options = f", filename={quote_text(FILE_COLUMN)}" if with_file else ""
    return f"read_parquet([{listed}], union_by_name=true, hive_partitioning=false{options})"
