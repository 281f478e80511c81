"""Avro files, whose schema is in each file: columns by name, in the types of the catalog.

Rules: Avro specification, "Object Container Files" and "Schema Resolution"; Apache Hive's AvroSerDe.
"""

import datetime
import json
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import fastavro
import pyarrow as pa

from penstock.catalog.model import Column
from penstock.query.tables.formats.faults import bad_data
from penstock.query.tables.formats.port import FILE_COLUMN, NumberedFile, Relation
from penstock.query.tables.formats.streams import register_stream
from penstock.schema.avro.parse import parse_registered
from penstock.serdes.avro.limits import Kind, Limits, Node, analyse, check, needs_check
from penstock.serdes.errors import PayloadTooLarge
from penstock.sql.errors import StatementError
from penstock.sql.hive_types import parse_hive_type
from penstock.sql.types import quote_name
from penstock.types import arrow
from penstock.types.model import LakeType, Struct

__all__ = ["AvroFormat"]

_ROWS = 4_096
_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class AvroFormat:
    """Avro; ``reader_schema`` is the text of ``avro.schema.literal``, to which each file's schema is resolved."""

    reader_schema: str | None = None

    @property
    def name(self) -> str:
        """The format."""
        return "Avro"

    def relations(
        self, engine: Any, view: str, files: Sequence[NumberedFile], used: Sequence[Column], *, with_file: bool
    ) -> Sequence[Relation]:
        """See :class:`~penstock.query.tables.formats.port.FileFormat`."""
        _ = with_file
        types = [parse_hive_type(column.type or "string") for column in used]
        names = [column.name.lower() for column in used]
        schema = pa.schema(
            [*((name, arrow.render(type_)) for name, type_ in zip(names, types, strict=True)), (FILE_COLUMN, pa.int32())]
        )
        shapes = [_shape(type_) for type_ in types]
        reader = self._reader()

        def batches() -> Iterator[pa.RecordBatch]:
            spare = _Spare()
            for number, file in files:
                for rows in _records(file.path, reader, spare):
                    folded = [{key.lower(): value for key, value in row.items()} for row in rows]
                    arrays = [
                        _array(file.path, name, type_, [shape(row.get(name)) for row in folded])
                        for name, type_, shape in zip(names, schema.types, shapes, strict=False)
                    ]
                    yield pa.record_batch([*arrays, pa.array([number] * len(rows), pa.int32())], schema=schema)

        source = register_stream(engine, view, schema, batches)
        return [Relation(source, {name: f"f.{quote_name(name)}" for name in names})]

    def _reader(self) -> Any:
        if self.reader_schema is None:
            return None
        try:
            return fastavro.parse_schema(json.loads(self.reader_schema))
        except Exception as error:  # noqa: BLE001 fastavro raises errors of several kinds for a schema that is not one
            raise StatementError(
                "HIVE_INVALID_METADATA",
                f"avro.schema.literal is not a schema: {error}.",
                remedy="Correct the SerDe's property.",
            ) from None


class _Spare:
    """Counts records and items without bytes in the files of a scan: a file of 113 bytes may state any number of them."""

    def __init__(self) -> None:
        self._left = _LIMITS.empty_items

    def take(self, items: int) -> None:
        """Raise :class:`PayloadTooLarge` beyond the bound."""
        self._left -= items
        if self._left < 0:
            raise PayloadTooLarge(f"More than {_LIMITS.empty_items:,} records or items have no bytes.")


def _records(path: str, reader: Any, spare: _Spare) -> Iterator[list[dict[str, Any]]]:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a name, not a Path
            rows: list[dict[str, Any]] = []
            for row in _rows(fastavro.block_reader(file, reader_schema=reader), spare):
                if not isinstance(row, dict):
                    raise bad_data(path, "Its schema is not a record.")
                rows.append(row)
                if len(rows) == _ROWS:
                    yield rows
                    rows = []
            if rows:
                yield rows
    except (StatementError, FileNotFoundError, GeneratorExit, MemoryError):
        raise
    except Exception as error:
        # fastavro raises errors of many kinds for damaged data.
        raise bad_data(path, f"The file cannot be read as Avro: {error}.") from error


def _rows(blocks: Any, spare: _Spare) -> Iterator[Any]:
    """Yield the records of all blocks, each of which is checked before fastavro believes its counts."""
    layout = _layout(blocks)
    for block in blocks:
        if layout is not None and block.num_records:
            # A block has the bytes of an array of its records.
            spare.take(check(layout, _varint(block.num_records) + block.bytes_.getvalue() + b"\0", 0, _LIMITS))
        yield from block


def _layout(blocks: Any) -> Node | None:
    """Return the layout of an array of the file's records, None if fastavro reads those safely."""
    text = json.loads(blocks.metadata["avro.schema"])
    root = Node(Kind.ARRAY, inside=[analyse(parse_registered(text))])
    return root if needs_check(root) else None


def _varint(value: int) -> bytes:
    zigzag, encoded = value << 1, bytearray()
    while zigzag >= 0x80:
        encoded.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    return bytes([*encoded, zigzag])


def _array(path: str, name: str, type_: pa.DataType, values: list[Any]) -> pa.Array:
    try:
        return pa.array(values, type_)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        what = str(error).splitlines()[0][:200]
        raise bad_data(path, f"Column '{name}' cannot be read as the table's type: {what}") from None


def _shape(type_: LakeType) -> Callable[[Any], Any]:
    """Return the function from a value as fastavro reads it to what Arrow takes."""
    if type_.name == "map":
        inner = _shape(type_.inner[1])
        return lambda value: (
            None if value is None else [(key, inner(entry)) for key, entry in _expected(value, dict).items()]
        )
    if type_.name == "array":
        item = _shape(type_.inner[0])
        return lambda value: None if value is None else [item(entry) for entry in _expected(value, list)]
    if isinstance(type_, Struct):
        fields = [(field.name, field.name.lower(), _shape(field.type)) for field in type_.fields]

        def struct(value: Any) -> Any:
            if value is None:
                return None
            folded = {key.lower(): entry for key, entry in _expected(value, dict).items()}
            return {name: inner(folded.get(key)) for name, key, inner in fields}

        return struct
    if type_.name in {"string", "varchar", "char"}:
        length = type_.numbers[0] if type_.numbers else None
        return lambda value: str(value)[:length] if isinstance(value, str | uuid.UUID) else value
    if type_.name in {"timestamp", "timestamptz"}:
        return _instant
    return lambda value: value


def _expected(value: Any, type_: type) -> Any:
    if not isinstance(value, type_):
        raise ValueError(f"a {type_.__name__} was expected, and a {type(value).__name__} found")
    return value


def _instant(value: Any) -> Any:
    """Return a time; a number without a logical type is not one."""
    if value is None or isinstance(value, datetime.datetime):
        return value
    raise ValueError(f"a timestamp was expected, and a {type(value).__name__} found")
