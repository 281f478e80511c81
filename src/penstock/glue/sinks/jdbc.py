"""Tables of databases, written in one transaction: all rows or none.

PostgreSQL and Redshift are written by the writer of the jdbc sink, over one connection: with COPY, with INSERT, or with COPY
of files in S3 where Redshift reaches them; other databases by Spark and their JDBC driver, in one task, which is one
transaction.
"""

from collections.abc import Mapping
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from penstock.client.secrets import secret_login
from penstock.errors import InvalidInput
from penstock.glue.connections.databases import Target, database_target, target_of_table
from penstock.glue.connections.redshift import temp_dir
from penstock.glue.options import Options
from penstock.glue.session import in_utc
from penstock.glue.sinks.batches import persisted_batch
from penstock.glue.sinks.port import Write
from penstock.glue.sources.jdbc import database_problem, driver_of, driver_url
from penstock.pipelines.sinks.jdbc import JdbcSink
from penstock.spark.sinks.jdbc.writer import JdbcWriter

__all__ = ["to_table", "write"]


def write(write: Write, frame: DataFrame) -> None:
    """Append the rows to ``dbtable``, which is created if it does not exist. Raises :class:`InvalidInput`."""
    options = Options(f"the {write.connection_type} sink", write.options)
    _write(write, database_target(write.session, write.connection_type, options), options, frame)


def to_table(write: Write, table: Mapping[str, Any], frame: DataFrame) -> None:
    """Append the rows to a table of a database that a crawler has put into the catalog."""
    options = Options("the write to a database's table", write.options)
    _write(write, target_of_table(write.session, table), options, frame)


def _write(write: Write, target: Target, options: Options, frame: DataFrame) -> None:
    before, after = options.text("preactions") or "", options.text("postactions") or ""
    folder = temp_dir(write.session, target, options, write.temporary)
    if not target.table:
        raise InvalidInput(f"The {target.dialect} sink needs dbtable.", remedy="Name the table as SCHEMA.TABLE.")
    if target.address is None:
        if before or after:
            raise InvalidInput(
                f"preactions and postactions are not for {target.dialect}.", remedy="Use redshift or postgresql."
            )
        _by_driver(write, target, frame)
        return
    sink = JdbcSink(
        name=write.connection_type,
        url=target.url,
        table=target.table,
        username=target.user,
        password=target.password,
        dialect=target.address.dialect,
    )
    writer = JdbcWriter(sink, secret_login, load_files=None if folder is None else folder.copy)
    with in_utc(frame) as rows, persisted_batch(rows, write.connection_type) as batch:
        writer.load(batch, before=before, after=after)


def _by_driver(write: Write, target: Target, frame: DataFrame) -> None:
    driver = driver_of(write.session.spark, target)
    properties = {**target.properties, "driver": driver}
    writer = frame.repartition(1).write.format("jdbc").mode("append")
    try:
        writer.options(url=driver_url(target, driver), dbtable=target.table, **properties).save()
    except (PySparkException, Py4JJavaError) as error:
        raise database_problem(target, error, "written") from None
