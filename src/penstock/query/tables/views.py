"""Views as Athena stores them: ``/* Presto View: ... */`` in ViewOriginalText, with Base64 of a JSON document in it.

The document has the query (``originalSql``), the database that it was written in (``schema``), and the names and Trino's
types of its columns. A query reads the view as a query of its own, with the rights of the caller.
"""

import base64
import binascii
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from penstock.catalog.model import Table
from penstock.query.ports import CATALOG_NAME
from penstock.query.sparksql.reads import unread
from penstock.query.sparksql.types import spark_type
from penstock.query.tables.nested import NestedScan
from penstock.query.tables.port import SCHEMA, LakeReader, ScanRequest, TableReference, TableSource
from penstock.sql.engine_types import engine_type, type_of_engine, type_of_text
from penstock.sql.errors import InvalidRequest, Position, StatementError
from penstock.sql.functions.table import is_repeatable
from penstock.sql.parse import parse
from penstock.sql.spark_query import QueryRead
from penstock.sql.statements.model import Select
from penstock.sql.trino_types import SKETCHES, Type, common
from penstock.sql.types import quote_name

__all__ = ["VIEW_TYPE", "StoredView", "read_view", "view_table", "view_text"]

VIEW_TYPE = "VIRTUAL_VIEW"
_STORED = re.compile(r"/\*\s*Presto View:([A-Za-z0-9+/=\s]*)\*/")
_UNFIT = frozenset(
    {"SYNTAX_ERROR", "TABLE_NOT_FOUND", "SCHEMA_NOT_FOUND", "COLUMN_NOT_FOUND", "MISSING_SCHEMA_NAME", "CATALOG_NOT_FOUND"}
)


@dataclass(frozen=True, slots=True)
class StoredView:
    """A view's query, its database, and its columns' names and types in Trino's words."""

    sql: str
    database: str | None
    columns: Sequence[tuple[str, str]]


def view_text(view: StoredView) -> str:
    """Return the ViewOriginalText of ``view``."""
    document = {
        "originalSql": view.sql,
        "catalog": CATALOG_NAME.lower(),
        "schema": view.database,
        "columns": [{"name": name, "type": type_} for name, type_ in view.columns],
    }
    return f"/* Presto View: {base64.b64encode(json.dumps(document).encode()).decode()} */"


def read_view(table: Table) -> StoredView:
    """Read the view. Raises :class:`StatementError` if it is one of another engine, or not what it should be."""
    match = _STORED.fullmatch((table.view_original_text or "").strip())
    if match is None:
        raise StatementError(
            "NOT_SUPPORTED",
            f"'{table.database}.{table.name}' is a view of another engine's SQL.",
            remedy="Make it with CREATE VIEW here.",
        )
    try:
        document = json.loads(base64.b64decode(match[1], validate=False))
        columns = [(str(column["name"]), str(column["type"])) for column in document["columns"]]
        sql, catalog, database = document["originalSql"], document.get("catalog"), document.get("schema")
        if not isinstance(sql, str) or not isinstance(database, str | None) or not isinstance(catalog, str | None):
            raise TypeError("its texts are of another type")
    except (binascii.Error, ValueError, KeyError, TypeError, AttributeError) as error:
        raise _invalid(table, f"its definition cannot be read ({type(error).__name__})") from None
    if catalog is not None and catalog.lower() != CATALOG_NAME.lower():
        raise StatementError(
            "CATALOG_NOT_FOUND", f"Catalog '{catalog}' of view '{table.database}.{table.name}' does not exist"
        )
    return StoredView(sql, database.lower() if database else None, columns)


def view_table(table: Table, reference: TableReference, reader: LakeReader) -> TableSource:
    """Return the source of a view. Raises :class:`StatementError`."""
    if reference.version is not None:
        raise StatementError(
            "NOT_SUPPORTED", "FOR VERSION and FOR TIMESTAMP are for Iceberg tables.", position=reference.position
        )
    return _View(table, read_view(table), reader, reference.position)


@dataclass(frozen=True, slots=True)
class _View:
    """A view in a query."""

    table: Table
    view: StoredView
    reader: LakeReader
    position: Position | None

    def scan(self, request: ScanRequest) -> "_ViewScan":
        try:
            parsed = parse(self.view.sql)
            if not isinstance(parsed, Select):
                raise InvalidRequest("it is not a query")
            repeatable = is_repeatable(parsed.tree)
            name = f"{self.table.database}.{self.table.name}"
            nested = self.reader.plan_view(name, parsed, self.view.database, request)
        except InvalidRequest as error:
            raise _invalid(self.table, error.message, self.position) from error
        except StatementError as error:
            raise _within(self.table, error, self.position) from error
        return _ViewScan(nested, request.view, self.table, self.view, self.position, repeatable)


@dataclass(frozen=True, slots=True)
class _ViewScan(NestedScan):
    """A view's own plan, which becomes a view of the engine."""

    table: Table
    stored: StoredView
    position: Position | None
    own_repeatable: bool

    @property
    def repeatable(self) -> bool:
        """Whether the view's query returns the same rows over the same data."""
        return self.own_repeatable and NestedScan.repeatable.__get__(self)

    @property
    def route(self) -> str:
        inner = (f"{name}: {scan.route}" for name, scan in zip(self.plan.names, self.plan.scans, strict=True))
        return f"view ({'; '.join(inner)})"

    def remote(self) -> QueryRead:
        """Return what Spark SQL is to read instead of the view. Raises :class:`StatementError` for what it does not read."""
        query = self.plan.remote
        if query is None:
            raise unread(f"{self.table.database}.{self.table.name}", "a view that reads no files")
        if len(self.stored.columns) != len(query.columns):
            raise self._stale(f"it has {len(self.stored.columns)} columns, and its query {len(query.columns)}")
        columns = []
        for (name, declared), (_, type_) in zip(self.stored.columns, query.columns, strict=True):
            target = type_of_text(declared)
            if (
                target is None
                or spark_type(target) is None
                or (not _is_same(target, type_) and common([target, type_]) != target)
            ):
                raise unread(f"{self.table.database}.{self.table.name}", f"column {name}, which is a {declared}")
            columns.append((name, str(spark_type(target))))
        return QueryRead(view=self.view, columns=columns, sql=query.sql, reads=query.reads)

    def install(self, engine: Any) -> None:
        try:
            NestedScan.install(self, engine)
            relation = engine.sql(self.plan.sql)
        except (duckdb.BinderException, duckdb.CatalogException) as error:
            raise _invalid(self.table, str(error).splitlines()[0][:500], self.position) from error
        except StatementError as error:
            raise _within(self.table, error, self.position) from error
        inner = [quote_name(f"c{number}") for number in range(len(relation.columns))]
        types = [type_of_engine(type_) for type_ in relation.types]
        if len(self.stored.columns) != len(types):
            raise self._stale(f"it has {len(self.stored.columns)} columns, and its query {len(types)}")
        projections = [
            f"{self._converted(column, type_, at, source)} AS {quote_name(name)}"
            for at, ((name, column), type_, source) in enumerate(zip(self.stored.columns, types, inner, strict=True))
        ]
        engine.execute(
            f"CREATE VIEW {SCHEMA}.{quote_name(self.view)} AS SELECT {', '.join(projections)} "  # noqa: S608 checked SQL
            f"FROM ({self.plan.sql}) AS v({', '.join(inner)})"
        )

    def _converted(self, declared: str, actual: Type, at: int, source: str) -> str:
        """Return the column ``source`` in the declared type."""
        declared_type = type_of_text(declared)
        if declared_type is None or declared_type == actual or _is_same(declared_type, actual):
            return source
        target = engine_type(declared)
        if target is not None and common([declared_type, actual]) == declared_type:
            return f"CAST({source} AS {target})"
        name = self.stored.columns[at][0]
        raise self._stale(
            f"column [{name}] of type {actual} projected from query view at position {at} cannot be coerced to "
            f"column [{name}] of type {declared} stored in view definition"
        )

    def _stale(self, why: str) -> StatementError:
        name = f"{CATALOG_NAME.lower()}.{self.table.database}.{self.table.name}"
        return StatementError(
            "VIEW_IS_STALE",
            f"View '{name}' is stale or in invalid state: {why}",
            position=self.position,
            remedy="Make it again with CREATE OR REPLACE VIEW.",
        )


def _is_same(declared: Type, actual: Type) -> bool:
    """Return whether the engine has both as one type: it has no lengths of texts, no precisions of times, no sketches."""
    if declared.name in {"varchar", "char"} and actual.name == "varchar":
        return not actual.numbers or declared.numbers == actual.numbers or not declared.numbers
    if declared in SKETCHES:
        return actual.name == "varbinary"
    if declared.name == actual.name and declared.name.startswith("time"):
        return True
    if declared.name != actual.name or len(declared.inner) != len(actual.inner) or declared.name in {"decimal"}:
        return False
    pairs = zip(declared.inner, actual.inner, strict=True)
    return all(one is None or other is None or _is_same(one, other) for one, other in pairs)


def _within(table: Table, error: StatementError, position: Position | None) -> StatementError:
    """Return the error as one of the view: its position is one in the view's text, and its names are there."""
    if error.position is None and error.code not in _UNFIT:
        return error
    return _invalid(table, error.message.removeprefix(f"{error.code}: "), position)


def _invalid(table: Table, why: str, position: Position | None = None) -> StatementError:
    name = f"{CATALOG_NAME.lower()}.{table.database}.{table.name}"
    return StatementError(
        "INVALID_VIEW",
        f"Failed analyzing stored view '{name}': {why}",
        position=position,
        remedy="Make it again with CREATE OR REPLACE VIEW.",
    )
