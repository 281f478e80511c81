"""Reads records of a file (CSV, JSON lines or Parquet; plain, gzipped or zipped) as values of a schema.

Errors name the file, the row (counted from 1, a CSV's header not counted) and the field.
"""

import csv
import gzip
import io
import json
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Literal, cast

from penstock.errors import DataProblem, EnvironmentProblem, InvalidInput
from penstock.produce.convert import FieldConverter, compile_fields
from penstock.serdes.avro.codec import AvroSchema

__all__ = ["FileFormat", "RecordFile", "UnusableRecord", "format_of"]

FileFormat = Literal["csv", "jsonl", "parquet"]

_ENDINGS: dict[str, FileFormat] = {
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
}
_MAX_LINE = 64 * 1024 * 1024
_FAULTS = (ValueError, TypeError, ArithmeticError, KeyError, RecursionError)


class UnusableRecord(DataProblem):
    """A row of a file does not fit the schema."""


def format_of(path: Path) -> FileFormat:
    """Return the format by the file's suffix, without ``.gz`` and ``.zip``; :class:`InvalidInput` if it is another."""
    name = path.name.lower().removesuffix(".gz").removesuffix(".zip")
    ending = _ENDINGS.get(Path(name).suffix)
    if ending is None:
        raise InvalidInput(
            f"The format of {path} is not clear from its name.", remedy="Give --format csv, jsonl or parquet."
        )
    return ending


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFile:
    """A file of records. ``null_text`` lists the CSV cells that mean null, such as ``NA``, in addition to the empty one."""

    path: Path
    format: FileFormat
    null_text: frozenset[str] = frozenset()

    def records(self, schema: AvroSchema) -> Iterator[dict[str, Any]]:
        """Yield the records, converted to the schema's types, without fields that the schema lacks.

        Raises :class:`InvalidInput` if the file or the schema cannot be used at all, and :class:`UnusableRecord` at a row
        that does not fit.
        """
        if not schema.is_record:
            raise InvalidInput("The schema is not a record, which the records of a file need.")
        fields = compile_fields(schema, text=self.format == "csv")
        read = {"csv": self._csv, "jsonl": self._json_lines, "parquet": self._parquet}[self.format]
        with self._readable():
            yield from read(fields)

    def values(self) -> Iterator[dict[str, Any]]:
        """Yield the rows as they are in the file, without a schema: a CSV's cells as text, of which ``""`` is null.

        Raises the errors of :meth:`records`.
        """
        with self._readable():
            match self.format:
                case "csv":
                    with self._text() as source:
                        columns, rows = self._cells(source)
                        yield from (dict(zip(columns, row, strict=True)) for _, row in rows)
                case "jsonl":
                    yield from (self._object(number, value) for number, value in self._lines())
                case _:
                    yield from (value for _, value in self._rows(lambda columns: columns))

    @contextmanager
    def _readable(self) -> Iterator[None]:
        if not self.path.is_file():
            raise InvalidInput(f"The file {self.path} does not exist.")
        try:
            yield
        except (OSError, EOFError, zipfile.BadZipFile, zlib.error, UnicodeDecodeError, csv.Error) as error:
            raise InvalidInput(f"{self.path} cannot be read: {error}.") from error

    def _cells(self, source: IO[str]) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
        """Return a CSV's columns, and its numbered rows."""
        # Python's own limit, 128 KiB per cell, is below what a message may hold. It is set for the whole process.
        csv.field_size_limit(_MAX_LINE)
        lines = csv.reader(source)
        columns = next(lines, None)
        if columns is None:
            raise InvalidInput(f"{self.path} is empty; its first line must name the columns.")
        columns[0] = columns[0].removeprefix("\ufeff")
        self._check_doubled(columns)

        def rows() -> Iterator[tuple[int, list[str]]]:
            for number, cells in enumerate(lines, 1):
                if not cells:
                    continue
                if len(cells) != len(columns):
                    raise UnusableRecord(f"{self.path}, row {number}: {len(cells)} cells under {len(columns)} columns.")
                yield number, ["" if cell in self.null_text else cell for cell in cells] if self.null_text else cells

        return columns, rows()

    def _csv(self, fields: list[FieldConverter]) -> Iterator[dict[str, Any]]:
        with self._text() as source:
            columns, rows = self._cells(source)
            self._check_columns(columns, fields)
            results = [(columns.index(field.name), field) for field in fields if field.name in columns]
            plan = [(index, field.name, field.convert) for index, field in results]
            absent = {field.name: None for field in fields if field.null_if_missing and field.name not in columns}
            for number, row in rows:
                try:
                    record = {name: convert(row[index]) for index, name, convert in plan}
                except _FAULTS:
                    raise self._fault(number, [(field, row[index]) for index, field in results]) from None
                yield record | absent if absent else record

    def _lines(self) -> Iterator[tuple[int, Any]]:
        with self._text() as source:
            number = 0
            while line := source.readline(_MAX_LINE):
                if not line.strip():
                    continue
                number += 1
                try:
                    value = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise UnusableRecord(f"{self.path}, row {number}: it is not JSON: {error}.") from None
                yield number, value

    def _json_lines(self, fields: list[FieldConverter]) -> Iterator[dict[str, Any]]:
        for number, value in self._lines():
            yield self._typed(number, value, fields)

    def _parquet(self, fields: list[FieldConverter]) -> Iterator[dict[str, Any]]:
        def wanted(columns: list[str]) -> list[str]:
            self._check_columns(columns, fields)
            return [field.name for field in fields if field.name in columns]

        for number, value in self._rows(wanted):
            yield self._typed(number, value, fields)

    def _rows(self, choose: Callable[[list[str]], list[str]]) -> Iterator[tuple[int, Any]]:
        """Yield a Parquet file's numbered rows, with the ``choose`` ones of its columns."""
        try:
            parquet = import_module("pyarrow.parquet")
        except ModuleNotFoundError:
            raise EnvironmentProblem(
                "Reading Parquet needs pyarrow.", remedy="Install it with: pip install 'penstock[spark]'"
            ) from None
        arrow_error: type[Exception] = import_module("pyarrow").ArrowException
        number = 0
        try:
            with self._bytes() as source, parquet.ParquetFile(source) as file:
                columns = file.schema_arrow.names
                self._check_doubled(columns)
                for batch in file.iter_batches(batch_size=10_000, columns=choose(columns)):
                    for value in batch.to_pylist():
                        number += 1
                        yield number, value
        except arrow_error as error:
            raise InvalidInput(f"{self.path} cannot be read as Parquet: {error}.") from error

    def _typed(self, number: int, value: Any, fields: list[FieldConverter]) -> dict[str, Any]:
        value = self._object(number, value)
        present = [field for field in fields if field.name in value]
        if len(present) != len(fields):
            missing = next((field.name for field in fields if field.name not in value and not field.optional), None)
            if missing is not None:
                raise UnusableRecord(
                    f"{self.path}, row {number}: field {missing} is missing, and the schema has no default."
                )
        try:
            record = {field.name: field.convert(value[field.name]) for field in present}
        except _FAULTS:
            raise self._fault(number, [(field, value[field.name]) for field in present]) from None
        return _filled(record, fields) if len(record) != len(fields) else record

    def _object(self, number: int, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise UnusableRecord(f"{self.path}, row {number}: it is not a JSON object.")
        return value

    def _check_doubled(self, columns: list[str]) -> None:
        doubled = next((name for name in columns if columns.count(name) > 1), None)
        if doubled is not None:
            raise InvalidInput(f"{self.path} has two columns named '{doubled}'.")

    def _check_columns(self, columns: list[str], fields: list[FieldConverter]) -> None:
        missing = [field.name for field in fields if field.name not in columns and not field.optional]
        if missing:
            raise InvalidInput(
                f"{self.path} has no column for {', '.join(missing)}, and the schema has no default for it.",
                remedy=f"Its columns are {', '.join(columns)[:400]}.",
            )

    def _fault(self, number: int, cells: list[tuple[FieldConverter, Any]]) -> UnusableRecord:
        """Convert once more, field by field, to name the one that failed."""
        for field, value in cells:
            try:
                field.convert(value)
            except _FAULTS as error:
                return UnusableRecord(f"{self.path}, row {number}, field {field.name}: {' '.join(str(error).split())}.")
        raise AssertionError("a row that failed once fails again")

    @contextmanager
    def _text(self) -> Iterator[IO[str]]:
        with self._bytes() as raw, io.TextIOWrapper(raw, encoding="utf-8", newline="") as text:
            yield text

    @contextmanager
    def _bytes(self) -> Iterator[IO[bytes]]:
        name = self.path.name.lower()
        if name.endswith(".zip"):
            with zipfile.ZipFile(self.path) as archive:
                inside = [entry for entry in archive.infolist() if not entry.is_dir()]
                if len(inside) != 1:
                    raise InvalidInput(f"{self.path} holds {len(inside)} files; it must hold one.")
                with archive.open(inside[0]) as file:
                    yield io.BytesIO(file.read()) if self.format == "parquet" else file
            return
        if name.endswith(".gz"):
            with gzip.open(self.path, "rb") as unpacked:
                yield cast("IO[bytes]", unpacked)
            return
        with self.path.open("rb") as plain:
            yield plain


def _filled(record: dict[str, Any], fields: list[FieldConverter]) -> dict[str, Any]:
    # A nullable field that the row lacks is null; one with another default gets it from the serializer.
    return record | {field.name: None for field in fields if field.name not in record and field.null_if_missing}
