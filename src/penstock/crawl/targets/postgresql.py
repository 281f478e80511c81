"""Tables of PostgreSQL and Redshift, through one of Glue's connections."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from penstock.catalog.connections import Connection
from penstock.catalog.model import Column, StorageDescriptor, Table, TableInput
from penstock.client.databases.jdbc_url import DatabaseAddress, glue_address
from penstock.client.databases.postgresql import connected
from penstock.crawl.globs import exclusion
from penstock.crawl.model import JdbcTarget
from penstock.crawl.targets.port import DescribedTable, Scope
from penstock.errors import InvalidInput, LimitExceeded
from penstock.types.hive import stored
from penstock.types.model import STRING, Scalar, replace_scalars
from penstock.types.postgresql import ANY, of_text
from penstock.wildcards import linear_matcher

__all__ = ["SecretReader", "address_of", "database_tables", "path_of"]

SecretReader = Callable[[str], Mapping[str, str]]
"""Returns a secret's members by the secret's id."""

_MOST_COLUMNS = 200_000
_SECONDS = 60
_OTHERS = re.compile(r"jdbc:(mysql|mariadb|sqlserver|oracle|db2|sap|snowflake|mongodb)", re.IGNORECASE)
_SQL = """
SELECT n.nspname, c.relname, c.relkind, a.attname, format_type(a.atttypid, a.atttypmod), col_description(c.oid, a.attnum)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND a.attnum > 0 AND NOT a.attisdropped
  AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg_%' {partitions}
  AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
ORDER BY n.nspname, c.relname, a.attnum LIMIT {limit}
"""


def address_of(connection: Connection, secret_of: SecretReader | None) -> DatabaseAddress:
    """Return where a connection leads, with its login. ``secret_of`` None leaves a login in a secret out.

    Raises :class:`InvalidInput` for a database that is neither PostgreSQL nor Redshift.
    """
    url = connection.properties.get("JDBC_CONNECTION_URL", "")
    if other := _OTHERS.match(url):
        raise InvalidInput(
            f"Connection {connection.name} is of {other[1].lower()}, whose tables crawlers do not read.",
            remedy="Crawl PostgreSQL or Redshift; create tables of other databases with CreateTable.",
        )
    address, secret = glue_address(connection.name, connection.type, connection.properties)
    if secret is None or secret_of is None:
        return address
    login = secret_of(secret)
    return replace(address, user=login.get("username"), password=login.get("password"))


def path_of(target: JdbcTarget) -> tuple[str, str, str]:
    """Return database, schema and table of the target's path. Raises :class:`InvalidInput`."""
    parts = [part for part in target.path.strip("/").split("/") if part]
    if not 1 <= len(parts) <= 3 or "%" in parts[0]:
        raise InvalidInput(
            f"The path '{target.path[:200]}' of a JDBC target is not DATABASE/SCHEMA/TABLE.",
            remedy="Name the database; % stands for any schema or table, or a part of its name.",
        )
    database, schema, table = [*parts, "%", "%"][:3]
    return database, schema, table


def database_tables(target: JdbcTarget, address: DatabaseAddress) -> tuple[Sequence[DescribedTable], Sequence[Scope]]:
    """Return the tables and views that the path names and the login may read.

    Raises the errors of :func:`connected`, and :class:`LimitExceeded` for more than 200,000 columns.
    """
    database, schema, table = path_of(target)
    matcher = linear_matcher(f"{_like(schema)}/{_like(table)}")
    excluded = exclusion(target.exclusions)
    partitions = "AND NOT c.relispartition" if address.dialect == "postgresql" else ""
    with connected(replace(address, database=database), f"Connection {target.connection}") as opened:
        opened.run(f"SET statement_timeout = {_SECONDS * 1000}")
        rows = opened.run(_SQL.format(partitions=partitions, limit=_MOST_COLUMNS + 1))
    if len(rows) > _MOST_COLUMNS:
        raise LimitExceeded(
            f"Database {database} has more than {_MOST_COLUMNS:,} columns.", remedy="Use a login that may read fewer tables."
        )
    columns: dict[tuple[str, str], list[Column]] = {}
    relation_kinds: dict[tuple[str, str], str] = {}
    for its_schema, its_table, relation_kind, name, raw, comment in rows:
        columns.setdefault((its_schema, its_table), []).append(_column(name, raw, comment, target.metadata))
        relation_kinds[its_schema, its_table] = "view" if relation_kind in {"v", "m"} else "table"
    keys = sorted(columns)
    texts = [f"{one}/{other}" for one, other in keys]
    left_out = [any(pair) for pair in zip(excluded(texts), excluded([other for _, other in keys]), strict=True)]
    chosen = [
        key
        for key, is_in, is_out in zip(keys, matcher(texts) if keys else [], left_out, strict=True)
        if is_in and not is_out
    ]
    tables = [
        _described(target.connection, address.dialect, (database, *key), columns[key], relation_kinds[key]) for key in chosen
    ]
    return tables, [Scope(f"{database}.", target.connection)]


def _described(
    connection: str, dialect: str, path: tuple[str, str, str], columns: Sequence[Column], relation_kind: str
) -> DescribedTable:
    place = ".".join(path)

    def define(name: str, current: Table | None) -> TableInput:
        base = (
            TableInput(name=name, table_type="EXTERNAL_TABLE", owner="owner") if current is None else TableInput.of(current)
        )
        parameters = {
            "classification": dialect, "compressionType": "none", "typeOfData": relation_kind, "connectionName": connection,
        }  # fmt: skip
        storage = base.storage if current is not None else StorageDescriptor()
        return replace(
            base,
            storage=replace(
                storage, location=place, columns=tuple(columns), parameters={**storage.parameters, **parameters}
            ),
            parameters={**base.parameters, **parameters},
        )

    return DescribedTable(name="_".join(path), place=place, connection=connection, define=define)


def _column(name: str, raw: str, comment: str | None, metadata: Sequence[str]) -> Column:
    return Column(
        name=name.lower(),
        type=_hive_type(raw),
        comment=comment[:255] if comment and "COMMENTS" in metadata else None,
        parameters={"rawType": raw} if "RAWTYPES" in metadata else {},
    )


def _hive_type(raw: str) -> str:
    """Return the catalog's type; texts have no length there, and what the catalog has no type for is one."""
    return stored(replace_scalars(of_text(raw), _catalogued))


def _catalogued(scalar: Scalar) -> Scalar:
    if scalar.name == "timestamptz":
        return Scalar("timestamp")
    return STRING if scalar == ANY or scalar.name in {"varchar", "char"} else scalar


def _like(pattern: str) -> str:
    return "[^/]*".join(map(re.escape, pattern.split("%")))
