"""The writer of the JDBC sink: one transaction a batch, with the rows and a marker that says that they are there.

Spark turns the staged rows into text, the driver passes it on to the database over one connection, and everything is
committed together: marker, new table, rows. A replay finds the marker and changes nothing; a kill at any point leaves
nothing behind, because staged rows are in a temporary table of the same session.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses
from pyspark.sql.types import StringType, StructField, StructType

from penstock.client.connections import GlueConnection, glue_connection
from penstock.client.databases.jdbc_url import DatabaseAddress, Dialect, glue_address, parse_jdbc_url
from penstock.client.databases.postgresql import Database, connected
from penstock.errors import DataProblem, InvalidInput, NotFound
from penstock.pipelines.sinks.jdbc import JdbcSink
from penstock.spark.quoting import quoted as backticked
from penstock.spark.sinks.changes import DELETED, latest_changes, written_columns
from penstock.spark.sinks.driver_rows import check_all_rows, rows_on_driver
from penstock.spark.sinks.jdbc.statements import (
    STAGE,
    TableName,
    columns_of,
    create_table,
    has_key,
    mark,
    marked,
    marker_table,
    matched,
    merge,
    quoted,
    stage,
)
from penstock.spark.sinks.jdbc.types import NESTED, column_type
from penstock.spark.sinks.jdbc.values import chunks, copy_lines, insert_tuples, inserts
from penstock.spark.sinks.port import Published, SinkBatch
from penstock.spark.tables.changes import AddColumn, Change, RenameColumn, WidenType, dotted
from penstock.spark.types import spark_type
from penstock.types.postgresql import of_column

__all__ = ["FileLoader", "JdbcWriter"]

FileLoader = Callable[[Database, str, Sequence[str], DataFrame], int | None]
"""Loads rows into columns of a table, both quoted, in the connection's transaction; returns how many, None if it cannot."""

_ROWS_AT_ONCE = 100_000
"""Rows of a partition that the driver fetches at a time."""


class JdbcWriter:
    """Implements :class:`~penstock.spark.sinks.port.SinkWriter` and :class:`~penstock.spark.tables.evolving.EvolvingTable`.

    ``fetch_secret`` gets user name and password for a secret's id, ``fetch_connection`` a Glue connection by its name.
    ``load_files`` loads rows into Redshift by files, unless it returns None: see :data:`FileLoader`.
    """

    def __init__(
        self,
        sink: JdbcSink,
        fetch_secret: Callable[[str], tuple[str, str]],
        fetch_connection: Callable[[str], GlueConnection] = glue_connection,
        load_files: "FileLoader | None" = None,
    ) -> None:
        self._sink = sink
        self._fetch_secret = fetch_secret
        self._fetch_connection = fetch_connection
        self._load_files = load_files
        self._address: DatabaseAddress | None = None

    @property
    def settings(self) -> JdbcSink:
        """See :class:`~penstock.spark.sinks.port.SinkWriter`."""
        return self._sink

    @property
    def name(self) -> str:
        """See :class:`~penstock.spark.tables.evolving.EvolvingTable`."""
        return self._sink.table

    def check(self) -> None:
        """See :class:`~penstock.spark.sinks.port.SinkWriter`: logs in, and makes the table of markers."""
        with self._connected() as (database, table):
            database.run(marker_table(table))
            columns = self._columns(database, table)
            if columns is None and not self._sink.create:
                raise NotFound(
                    f"Sink {self._sink.name}: {self._where.text} has no table {table.schema}.{table.name}.",
                    remedy="Create it, correct 'table', or set create: true.",
                )
            if columns is not None:
                self._check_key(database, table, columns)

    def table(self) -> StructType | None:
        """See :class:`~penstock.spark.sinks.port.SinkWriter`. Variants are columns that take any value, such as JSON."""
        with self._connected() as (database, table):
            return self._columns(database, table)

    def publish(self, batch: SinkBatch) -> Published:
        """See :class:`~penstock.spark.sinks.port.SinkWriter`."""
        with self._connected() as (database, table), database.transaction():
            if not self._mark(database, table, batch):
                return Published(rows=0, replayed=True)
            return Published(rows=self._write(database, table, batch))

    def load(self, batch: SinkBatch, *, before: str = "", after: str = "") -> Published:
        """Append the rows of a batch that has no marker, and run SQL before and after, all in one transaction."""
        with self._connected() as (database, table), database.transaction():
            if before.strip():
                database.run(before)
            rows = self._write(database, table, batch)
            if after.strip():
                database.run(after)
            return Published(rows=rows)

    def unsupported(self, change: Change) -> str | None:
        """See :class:`~penstock.spark.tables.evolving.EvolvingTable`."""
        if isinstance(change, AddColumn) and len(change.path) == 1:
            try:
                column_type(change.type, self._dialect, column=dotted(change.path))
            except InvalidInput as error:
                return error.message.rstrip(".")
        if isinstance(change, WidenType) and self._dialect == "redshift":
            return "Redshift cannot change the type of a column"
        return None

    def evolve(self, changes: Sequence[Change]) -> None:
        """See :class:`~penstock.spark.tables.evolving.EvolvingTable`; fields inside JSON change without a statement."""
        with self._connected() as (database, table), database.transaction():
            for change in changes:
                for statement in self._alteration(change):
                    database.run(f"ALTER TABLE {table.sql} {statement}")

    def _alteration(self, change: Change) -> Iterator[str]:
        match change:
            case AddColumn(path=(name,)):
                yield f"ADD COLUMN {quoted(name)} {column_type(change.type, self._dialect, column=name)}"
            case WidenType(path=(name,)):
                yield f"ALTER COLUMN {quoted(name)} TYPE {column_type(change.new, self._dialect, column=name)}"
            case RenameColumn(old=(old,), new=(new,)):
                yield f"RENAME COLUMN {quoted(old)} TO {quoted(new)}"

    @property
    def _where(self) -> DatabaseAddress:
        """The address with its login, looked up once."""
        if self._address is None:
            sink, secret = self._sink, self._sink.secret
            if sink.connection is not None:
                connection = self._fetch_connection(sink.connection)
                address, secret_name = glue_address(connection.name, connection.type, connection.properties)
                secret = secret or (None if sink.username else secret_name)
            else:
                address = parse_jdbc_url(sink.url or "")
            if secret is not None:
                user, password = self._fetch_secret(secret)
                address = replace(address, user=user, password=password)
            elif sink.username is not None:
                address = replace(address, user=sink.username, password=sink.password)
            if address.user is None:
                raise InvalidInput(
                    f"Sink {sink.name}: {address.text} needs a login.",
                    remedy="Give 'secret' (an id in Secrets Manager), or 'username' and 'password'.",
                )
            self._address = address
        return self._address

    @property
    def _dialect(self) -> Dialect:
        return self._sink.dialect or self._where.dialect

    @contextmanager
    def _connected(self) -> Iterator[tuple[Database, TableName]]:
        address = self._where
        with connected(address, f"Sink {self._sink.name}") as database:
            schema, _, name = self._sink.table.rpartition(".")
            if not schema:
                schema = database.run("SELECT current_schema()")[0][0]
                if schema is None:
                    raise NotFound(
                        f"Sink {self._sink.name}: {address.text} has no schema for {address.user}.",
                        remedy="Write 'table' as SCHEMA.TABLE.",
                    )
            yield database, TableName(schema=schema, name=name)

    def _columns(self, database: Database, table: TableName) -> StructType | None:
        described = database.run(columns_of(self._dialect), schema=table.schema, table=table.name)
        if not described:
            return None
        return StructType(
            [
                StructField(name, spark_type(of_column(type_name, numbers)), bool(free))
                for name, type_name, *numbers, free in described
            ]
        )

    def _check_key(self, database: Database, table: TableName, columns: StructType) -> None:
        if self._sink.mode == "append" or self._dialect == "redshift":
            return
        keys = matched(self._sink.keys, columns.names)
        key = ",".join(sorted(keys.values()))
        if (
            len(keys) < len(self._sink.keys)
            or not database.run(has_key(), schema=table.schema, table=table.name, keys=key)[0][0]
        ):
            raise InvalidInput(
                f"Sink {self._sink.name}: table {table.schema}.{table.name} has no unique index on "
                f"{', '.join(self._sink.keys)}, the sink's keys.",
                remedy=f"CREATE UNIQUE INDEX ON {table.sql} ({', '.join(map(quoted, self._sink.keys))}).",
            )

    def _mark(self, database: Database, table: TableName, batch: SinkBatch) -> bool:
        """Insert the batch's marker; return False if this batch, or a later one, has been written."""
        who = {"application": batch.marker, "batch": batch.number}
        if self._dialect == "redshift":
            database.run(f"LOCK TABLE {table.markers}")
        if database.run(marked(table), **who)[0][0]:
            return False
        statement = mark(table, self._dialect)
        # On PostgreSQL an attempt at the same time as another one, which still runs, waits here for its end.
        return database.count(statement, **who, offsets=batch.end, rows=batch.count) == 1

    def _write(self, database: Database, table: TableName, batch: SinkBatch) -> int:
        sink = self._sink
        written = batch.columns if sink.mode == "append" else written_columns(batch.rows.schema, sink)
        columns = self._columns(database, table)
        if columns is None:
            if not sink.create:
                raise NotFound(f"Sink {sink.name}: table {sink.table} is gone.", remedy="Create it, or set create: true.")
            database.run(create_table(table, written, sink.keys, self._dialect))
            columns = self._columns(database, table) or written
        names = self._names(written, columns, sink.table)
        if sink.mode == "append":
            rows = batch.rows.select(*(F.col(backticked(name)) for name in written.names))
            return self._load(database, table.sql, list(names.values()), rows, batch.count)
        targets = list(names.values())
        keys = [names[key] for key in sink.keys]
        database.run(stage(table, targets, DELETED))
        rows = latest_changes(batch.rows, sink).select(*(F.col(backticked(name)) for name in (*written.names, DELETED)))
        self._load(database, STAGE, [*targets, DELETED], rows, batch.count)
        statements = merge(table, targets, keys, DELETED, self._dialect, deletes=sink.mode == "cdc")
        return sum(database.count(statement) for statement in statements)

    def _names(self, written: StructType, columns: StructType, table: str) -> dict[str, str]:
        """Return the table's column for each column of the rows."""
        names = dict(matched(written.names, columns.names))
        if lost := [name for name in written.names if name not in names]:
            raise DataProblem(
                f"Sink {self._sink.name}: table {table} lacks the column{'s' * (len(lost) > 1)} {', '.join(lost)}.",
                remedy="Add them, or leave them out in the sink's 'sql'.",
            )
        fields = {field.name: field for field in columns.fields}
        for field in written.fields:
            target = fields[names[field.name]].dataType
            if isinstance(field.dataType, NESTED) and not isinstance(target, (*NESTED, StringType)):
                raise DataProblem(
                    f"Sink {self._sink.name}: column {field.name} is {field.dataType.simpleString()}, and "
                    f"{target.simpleString()} in table {table}.",
                    remedy="Make the column jsonb (super on Redshift), or text.",
                )
        return names

    def _load(self, database: Database, target: str, columns: Sequence[str], rows: DataFrame, count: int) -> int:
        """Write the rows; return how many. Raises :class:`EnvironmentProblem` if Spark gave fewer than it has."""
        loaded = self._sent(database, target, columns, rows, count)
        expected = count if self._sink.mode == "append" else rows.count()
        check_all_rows(self._sink.name, loaded, expected, outcome="nothing was committed")
        return loaded

    def _sent(self, database: Database, target: str, columns: Sequence[str], rows: DataFrame, count: int) -> int:
        remove = self._sink.nul_characters == "remove"
        names = ", ".join(map(quoted, columns))
        if self._dialect == "redshift":
            if self._load_files is not None:
                loaded = self._load_files(database, target, [quoted(column) for column in columns], rows)
                if loaded is not None:
                    return loaded
            lines = insert_tuples(rows, remove_nul=remove, double_backslashes=database.doubles_backslashes)
            statements = inserts(f"INSERT INTO {target} ({names})", _texts(lines, count))
            return sum(database.count(statement) for statement in statements)
        lines = copy_lines(rows, remove_nul=remove)
        return database.copy(f"COPY {target} ({names}) FROM STDIN", chunks(_texts(lines, count)))


def _texts(lines: DataFrame, count: int) -> Iterator[str]:
    """Return the lines."""
    for row in rows_on_driver(lines, count, at_once=_ROWS_AT_ONCE):
        yield row[0]
