"""What a classifier says of a file."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.catalog.model import Column
from penstock.crawl.model import PARQUET, FileFormat

__all__ = ["PARQUET", "FileFormat", "Recognized"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognized:
    """A file's format, its columns, and its rows: counted where the format has their number, else estimated."""

    format: FileFormat
    columns: Sequence[Column]
    rows: int
