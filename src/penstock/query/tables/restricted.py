"""Tables of which a caller may read some columns and rows: each is read as a view of what is allowed.

Source: Lake Formation developer guide, "Data filtering and cell-level security". Several filters of one table are joined:
a query gets the rows of each filter that has all columns it uses.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from penstock.catalog.model import Column, Table
from penstock.lakeformation.decisions import TableAccess
from penstock.query.tables.nested import NestedScan
from penstock.query.tables.port import SCHEMA, LakeReader, ScanRequest, TableReference, TableSource
from penstock.sql.errors import InvalidRequest, StatementError
from penstock.sql.parse import parse
from penstock.sql.statements.model import Select
from penstock.sql.types import quote_name

__all__ = ["check_whole", "restricted"]


def restricted(source: TableSource, reference: TableReference, reader: LakeReader) -> TableSource:
    """Return ``source`` as the caller may read it. Raises :class:`StatementError` if nothing of it may be read."""
    table = source.table
    name = f"what is allowed of {table.database}.{table.name}"
    if name in reader.within:
        return source  # this is the reading of what is allowed
    every = [column.name.lower() for column in (*table.storage.columns, *table.partition_keys)]
    access = reader.catalog.reading(table.database, table.name, every)
    if access is None:
        return source
    if not access.rows or reference.positions:
        what = "change rows of table" if access.rows else "select from table"
        raise _denied(table, what, reference)
    return _Restricted(_narrowed(table, access), name, access, reference, reader)


def check_whole(table: Table, columns: Sequence[str], reference: TableReference, reader: LakeReader) -> None:
    """Raise :class:`StatementError` unless the caller may read the whole table: its metadata describes all of it."""
    if reader.catalog.reading(table.database, table.name, columns) is not None:
        raise _denied(table, "read the metadata of", reference)


def _denied(table: Table, what: str, reference: TableReference) -> StatementError:
    return StatementError(
        "PERMISSION_DENIED",
        f"Insufficient Lake Formation permission(s): you may not {what} '{table.database}.{table.name}'",
        position=reference.position,
        remedy="Ask for SELECT on the whole table: lakeformation grant-permissions.",
    )


def _narrowed(table: Table, access: TableAccess) -> Table:
    visible = access.columns

    def visible_columns(columns: Sequence[Column]) -> list[Column]:
        return [column for column in columns if visible is None or column.name.lower() in visible]

    storage = replace(table.storage, columns=visible_columns(table.storage.columns))
    return replace(table, storage=storage, partition_keys=visible_columns(table.partition_keys))


@dataclass(frozen=True, slots=True)
class _Restricted:
    table: Table
    name: str
    access: TableAccess
    reference: TableReference
    reader: LakeReader

    def scan(self, request: ScanRequest) -> "_RestrictedScan":
        visible = [column.name for column in (*self.table.storage.columns, *self.table.partition_keys)]
        used = [name for name in visible if request.columns is None or name.lower() in request.columns]
        condition = self.access.condition(name.lower() for name in used)
        try:
            parsed = parse(self._sql(used or visible, condition))
        except InvalidRequest as error:
            raise self._unreadable(error.message) from error
        if not isinstance(parsed, Select) or len(list(parsed.tree.find_all(exp.Query))) > 1:
            raise self._unreadable("it is not a condition on the table's columns")
        for node in parsed.tree.find_all(exp.Table):
            if self.reference.version is not None:
                node.set("version", self.reference.version.copy())
        return _RestrictedScan(self.reader.plan_view(self.name, parsed, self.table.database, request), request.view)

    def _sql(self, columns: Sequence[str], condition: str | None) -> str:
        names = ", ".join(quote_name(column) for column in columns)
        where = "" if condition is None else f" WHERE {condition}"
        return f"SELECT {names} FROM {quote_name(self.table.database)}.{quote_name(self.table.name)}{where}"  # noqa: S608 it is parsed

    def _unreadable(self, why: str) -> StatementError:
        return StatementError(
            "INVALID_ROW_FILTER",
            f"The row filter of '{self.table.database}.{self.table.name}' cannot be evaluated: {why}",
            remedy="Correct it with UpdateDataCellsFilter.",
        )


class _RestrictedScan(NestedScan):
    """The rows and columns that are allowed. Its result depends on the caller, so it is never reused."""

    __slots__ = ()

    @property
    def repeatable(self) -> bool:
        return False

    @property
    def route(self) -> str:
        return f"what Lake Formation allows ({'; '.join(scan.route for scan in self.plan.scans)})"

    def install(self, engine: Any) -> None:
        super().install(engine)
        engine.execute(f"CREATE VIEW {SCHEMA}.{quote_name(self.view)} AS {self.plan.sql}")
