"""Parquet, ORC and Avro: files that hold their own schema."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.catalog.model import Column
from penstock.crawl.formats.sample import PARQUET, FileFormat, Recognized
from penstock.crawl.types import hive_type
from penstock.errors import DataProblem, PenstockError
from penstock.lake.avro_blocks import AvroBlocks, AvroFileError
from penstock.lake.statistics import read_parquet_footer
from penstock.schema.avro.columns import columns as avro_columns
from penstock.schema.avro.parse import parse_registered

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["container"]

# The table gets no schema of one file: others may have more columns.
_AVRO, _ORC = FileFormat(classification="avro"), FileFormat(classification="orc")


def container(path: Path, start: bytes) -> Recognized | None:
    """Return what the file is that begins with ``start``, None if it is not a container. Raises :class:`DataProblem`."""
    if start.startswith(b"PAR1"):
        return _parquet(path)
    if start.startswith(b"ORC"):
        return _orc(path)
    return _avro(path) if start.startswith(b"Obj\x01") else None


def _parquet(path: Path) -> Recognized:
    footer = read_parquet_footer(path)
    return Recognized(format=PARQUET, columns=_columns(footer.schema), rows=footer.rows)


def _orc(path: Path) -> Recognized:
    import pyarrow as pa  # noqa: PLC0415 - heavy, and servers without crawlers do not need it
    from pyarrow import orc  # noqa: PLC0415

    try:
        file = orc.ORCFile(str(path))
        return Recognized(format=_ORC, columns=_columns(file.schema), rows=file.nrows)
    except (pa.ArrowException, ValueError, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise DataProblem(f"it is not a complete ORC file ({str(error).splitlines()[0][:200]})") from None


def _columns(schema: "pa.Schema") -> tuple[Column, ...]:
    columns: dict[str, Column] = {}
    for field in schema:
        name = field.name.lower()
        if name in columns:
            raise DataProblem(f"it has two columns named {name}, letter case aside")
        columns[name] = Column(name=name, type=hive_type(field.type))
    return tuple(columns.values())


def _avro(path: Path) -> Recognized:
    text, rows = _avro_header(path)
    try:
        inferred = avro_columns(parse_registered(json.loads(text)))
    except PenstockError as error:
        raise DataProblem(f"its Avro schema gives no columns: {error.message}") from None
    columns = tuple(
        Column(name=hive_column.name.lower(), type=hive_column.type, comment=hive_column.comment) for hive_column in inferred
    )
    return Recognized(format=_AVRO, columns=columns, rows=rows)


def _avro_header(path: Path) -> tuple[str, int]:
    """Return the schema of an Avro file, and its rows, from the counts of its blocks."""
    try:
        with path.open("rb") as file:
            blocks = AvroBlocks(file)
            text = json.dumps(blocks.schema, separators=(",", ":"))
            # From what the blocks state, without inflating them.
            rows = sum(block.records for block in blocks)
    except AvroFileError as error:
        raise DataProblem(f"it is not a complete Avro file ({error})") from None
    return text, rows
