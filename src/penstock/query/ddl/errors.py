"""Failures of DDL in the words of Athena's DDL engine, which is Hive: clients look for them in the reason of a failure."""

from collections.abc import Iterator
from contextlib import contextmanager

from penstock.catalog.model import Table
from penstock.errors import AlreadyExists, ConcurrentModification, InvalidInput, LimitExceeded, NotFound
from penstock.lake.locations import parse_uri
from penstock.query.ports import StatementCatalog
from penstock.sql.errors import StatementError
from penstock.sql.statements.names import TableName

__all__ = ["check_location", "execution_error", "hive_errors", "home_of", "semantic_error", "table_of", "trino_errors"]

_TASK = "Execution Error, return code 1 from org.apache.hadoop.hive.ql.exec.DDLTask."


def semantic_error(message: str, *, number: int | None = None, remedy: str | None = None) -> StatementError:
    """Return the error of a statement that does not fit the catalog; ``number`` is Hive's."""
    coded = f" [Error {number}]:" if number is not None else ""
    return StatementError("FAILED", f"SemanticException{coded} {message}", remedy=remedy)


def execution_error(exception: str, message: str, *, remedy: str | None = None) -> StatementError:
    """Return the error of a change that the catalog refused; ``exception`` is the name of the metastore's."""
    return StatementError("FAILED", f"{_TASK} {exception}(message:{message})", remedy=remedy)


@contextmanager
def hive_errors() -> Iterator[None]:
    """Translate the catalog's errors."""
    try:
        yield
    except AlreadyExists as error:
        raise execution_error("AlreadyExistsException", error.message, remedy=error.remedy) from error
    except NotFound as error:
        raise execution_error("NoSuchObjectException", error.message, remedy=error.remedy) from error
    except ConcurrentModification as error:
        raise execution_error("ConcurrentModificationException", error.message, remedy="Run the statement again.") from error
    except (InvalidInput, LimitExceeded) as error:
        raise execution_error("MetaException", error.message, remedy=error.remedy) from error


@contextmanager
def trino_errors() -> Iterator[None]:
    """Translate the catalog's errors in statements of Trino's."""
    try:
        yield
    except (AlreadyExists, NotFound, ConcurrentModification, InvalidInput, LimitExceeded) as error:
        raise StatementError("HIVE_METASTORE_ERROR", error.message, remedy=error.remedy) from error


def check_location(location: str) -> None:
    """Raise :class:`StatementError` unless ``location`` is an ``s3://`` name."""
    try:
        parse_uri(location)
    except InvalidInput as error:
        raise semantic_error(error.message, remedy=error.remedy) from error


def home_of(catalog: StatementCatalog, name: TableName, database: str | None) -> str:
    """Return the database of ``name``, which exists. Raises :class:`StatementError`."""
    if name.catalog is not None and not catalog.is_named(name.catalog):
        raise StatementError("CATALOG_NOT_FOUND", f"Catalog '{name.catalog}' does not exist")
    home = name.database or database
    if home is None:
        raise StatementError(
            "MISSING_SCHEMA_NAME",
            f"Schema must be specified for '{name.name}'",
            remedy="Write database.table, or set QueryExecutionContext.Database.",
        )
    try:
        return catalog.database(home.lower()).name
    except NotFound:
        raise semantic_error(f"Database does not exist: {home.lower()}", number=10072) from None


def table_of(catalog: StatementCatalog, name: TableName, database: str | None) -> Table:
    """Return the catalog's table. Raises :class:`StatementError` if it does not exist."""
    home = home_of(catalog, name, database)
    try:
        return catalog.table(home, name.name)
    except NotFound:
        raise semantic_error(f"Table not found {home}.{name.name}", number=10001) from None
