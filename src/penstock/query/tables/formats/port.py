"""The port of a file format: from files to relations of the engine that have the wanted columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from penstock.catalog.model import Column
from penstock.query.tables.port import DataFile

__all__ = ["FILE_COLUMN", "FileFormat", "Layout", "NumberedFile", "Relation"]

FILE_COLUMN = "__penstock_file"
"""The column of a relation that tells the file of each row."""

NumberedFile = tuple[int, DataFile]
"""A file, and its number among the files of the scan."""


Layout = tuple[tuple[str, str], ...]
"""The columns of a table or partition in their order: names in lower case and Hive's types."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A part of a table's rows: what follows FROM, and the SQL of each wanted column over the alias ``f``."""

    source: str
    columns: Mapping[str, str]
    """By the wanted column's name in lower case: an expression of its type."""
    by_path: bool = False
    """Whether ``f.__penstock_file`` is the file's path; otherwise it is the file's number."""


class FileFormat(Protocol):
    """How files are written: the format with its properties and the columns as they are in the files.

    Values of one class are equal if they read the same file in the same way.
    """

    @property
    def name(self) -> str:
        """The format as EXPLAIN names it."""
        ...

    def relations(
        self, engine: Any, view: str, files: Sequence[NumberedFile], used: Sequence[Column], *, with_file: bool
    ) -> Sequence[Relation]:
        """Return the rows of ``files`` as relations that each have all ``used`` columns; those that no file has are NULL.

        What is registered with the engine has names that begin with ``view``. ``with_file`` asks for the file's column.
        Raises :class:`penstock.sql.errors.StatementError` for files of another format.
        """
        ...
