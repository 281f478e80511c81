"""Tables and queries of databases, read by Spark through their JDBC drivers, in parallel where a script says by what."""

import re
from collections.abc import Mapping, Sequence

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import EnvironmentProblem, InvalidInput
from penstock.glue.connections.databases import DRIVERS, KINDS, Target, database_target, target_of_table
from penstock.glue.connections.drivers import class_on_path, load_driver
from penstock.glue.connections.redshift import temp_dir
from penstock.glue.options import Options
from penstock.glue.sources.key_marks import unread_rows
from penstock.glue.sources.port import Read, Table

__all__ = ["driver_of", "driver_url", "is_database_table", "read", "rows"]

_PARTITIONS = 7  # AWS's default
_MOST_PARTITIONS = 10_000
_OPEN_END = re.compile(r"\s+(where|and)\s*$", re.IGNORECASE)
_NAME = re.compile(r"[^\x00\"`]{1,128}")
_HASHES: Mapping[str, str] = {"postgresql": 'hashtext("{}"::text)::bigint', "mysql": "CRC32(`{}`)"}
"""A whole number of a column of any type."""
_MARIADB = "org.mariadb.jdbc.Driver"


def read(read: Read) -> DataFrame:
    """Return the rows of ``dbtable``, or of a query. Raises :class:`InvalidInput`, EnvironmentProblem."""
    options = Options(f"the {read.connection_type} source", read.options)
    return _read(read, database_target(read.session, read.connection_type, options), options)


def is_database_table(table: Table) -> bool:
    """Return whether a crawler found the table in a database."""
    about = table.get("Parameters") or {}
    return bool(about.get("connectionName")) and str(about.get("classification", "")).lower() in KINDS


def rows(read: Read, table: Table) -> DataFrame:
    """Return the rows of a table of a database that is in the catalog."""
    options = Options("the read of a database's table", read.options)
    return _read(read, target_of_table(read.session, table), options)


def _read(read: Read, target: Target, options: Options) -> DataFrame:
    if read.push_down_predicate:
        raise InvalidInput(
            "A push_down_predicate is for partitions of files.", remedy="Give sampleQuery, or filter the frame."
        )
    query = options.text("sampleQuery") or options.text("query")
    size = options.number("sampleSize", least=1)
    split_query = options.flag("enablePartitioningForSampleQuery")
    # AWS takes no notice of it with Redshift.
    by_field = None if target.dialect == "redshift" else options.text("hashfield")
    fields = by_field, options.text("hashexpression")
    partitions = options.number("hashpartitions", _PARTITIONS, least=1) or _PARTITIONS
    fetch = options.number("fetchsize", 1_000)
    keyed = options.raw("jobBookmarkKeys")
    folder = temp_dir(read.session, target, options, read.temporary)
    if not target.table and query is None:
        raise InvalidInput(f"The {target.dialect} source needs dbtable.", remedy="Name the table as SCHEMA.TABLE.")
    if partitions > _MOST_PARTITIONS:
        raise InvalidInput(f"hashpartitions is {partitions}, more than {_MOST_PARTITIONS:,}.")
    source = target.table if query is None else f"({_OPEN_END.sub('', query.strip().rstrip(';'))}) penstock_rows"
    split = any(fields) and (query is None or split_query)
    # Rows by keys are chosen in the database.
    frame = folder.unload(target, source) if folder is not None and not split and not keyed else None
    if frame is None:
        frame = _by_driver(read, target, source, _predicates(target, *fields, partitions) if split else None, fetch)
    unread = unread_rows(read, frame, options)
    return unread if size is None else unread.limit(size)


def _by_driver(read: Read, target: Target, source: str, predicates: list[str] | None, fetch: int | None) -> DataFrame:
    spark = read.session.spark
    driver = driver_of(spark, target)
    url = driver_url(target, driver)
    properties = {**target.properties, "driver": driver, "fetchsize": str(fetch)}
    try:
        if predicates is not None:
            return spark.read.jdbc(url, source, predicates=predicates, properties=properties)
        return spark.read.format("jdbc").options(url=url, dbtable=source, **properties).load()
    except (PySparkException, Py4JJavaError) as error:
        raise database_problem(target, error, "read") from None


def _predicates(target: Target, name: str | None, expression: str | None, count: int) -> list[str]:
    """Return conditions that share all rows among themselves, those with null to the first."""
    if expression is None:
        assert name is not None
        if target.dialect not in _HASHES:
            raise InvalidInput(
                f"hashfield is not for {target.dialect} here.", remedy="Give hashexpression, an expression of whole numbers."
            )
        if not _NAME.fullmatch(name):
            raise InvalidInput(f"hashfield {name[:100]!r} is not a column's name.")
        expression = _HASHES[target.dialect].format(name)
    number = f"({expression})"
    rest = f"MOD(MOD({number}, {count}) + {count}, {count})"
    return [f"{rest} = {index}" + (f" OR {number} IS NULL" if index == 0 else "") for index in range(count)]


def driver_of(spark: SparkSession, target: Target) -> str:
    """Return the class of the driver that is brought, or on the class path; raise :class:`InvalidInput` without one."""
    if target.driver is not None:
        return load_driver(spark, target.driver)
    classes: Sequence[str] = KINDS[target.dialect]
    name = class_on_path(spark, classes)
    if name is not None:
        return name
    raise InvalidInput(
        f"There is no JDBC driver of {target.dialect} on the class path ({' or '.join(classes)}).",
        remedy=f"Penstock does not bring it: get it from Maven ({DRIVERS[target.dialect]}), and start the job with "
        "--extra-jars FILE, or name it in customJdbcDriverS3Path and customJdbcDriverClassName.",
    )


def driver_url(target: Target, driver: str) -> str:
    """Return the URL that Spark and ``driver`` take for the same.

    Spark quotes MySQL's names by the URL's beginning; of ``jdbc:mariadb:`` it knows nothing, and would read the names
    themselves as values. MariaDB's driver takes the other beginning only if the URL says so:
    https://mariadb.com/docs/connectors/mariadb-connector-j/about-mariadb-connector-j#using-the-driver.
    """
    if target.dialect != "mysql":
        return target.url
    url = "jdbc:mysql:" + target.url.split(":", 2)[2]
    if driver != _MARIADB or "permitMysqlScheme" in url:
        return url
    return f"{url}{'&' if '?' in url else '?'}permitMysqlScheme=true"


def database_problem(target: Target, error: Exception, tried: str) -> Exception:
    """Return the error of a driver without Java's stack, and without the login; ``tried`` is "read" or "written"."""
    first = next((line for line in str(error).splitlines() if "Exception" in line), str(error).splitlines()[0])
    text = first.rpartition("Exception: ")[2][:300].rstrip(".")
    address = target.url.partition("?")[0]
    return EnvironmentProblem(f"{address} cannot be {tried}: {text}.", remedy="Check url, login and dbtable.")
