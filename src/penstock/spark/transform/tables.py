"""Tables of the data catalog in a pipeline's SQL, ``FROM shop.products`` and ``JOIN shop.products``: read in each batch."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from penstock.errors import InvalidInput, NotFound
from penstock.spark.session import mount_bucket

__all__ = ["CatalogReads", "CatalogTables", "table_names"]

_TOKEN = re.compile(
    r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|--[^\n]*|/\*.*?\*/"
    r"|(?P<name>(?:`[^`]+`|[A-Za-z_]\w*)(?:\.(?:`[^`]+`|[A-Za-z_]\w*))*)|\S",
    re.DOTALL,
)
_PARQUET = "parquet"
_FROM_FUNCTIONS = {"EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "OVERLAY"}


class CatalogReads(Protocol):
    """What is read of the catalog; :class:`penstock.client.catalog.CatalogClient` has it. Shapes are Glue's."""

    def table(self, database: str, name: str) -> Any:
        """Return the table's current version. Raises :class:`NotFound`."""

    def partitions(self, database: str, table: str) -> Iterable[Any]:
        """Return all partitions."""
        ...


def table_names(sql: str) -> Iterator[tuple[int, int, str, str]]:
    """Yield start, end, database and table of each ``DATABASE.TABLE`` that directly follows FROM or JOIN in ``sql``."""
    before, callers = "", [""]
    for token in _TOKEN.finditer(sql):
        text, name = token.group(0), token.group("name")
        if text.startswith(("--", "/*")):
            continue
        # FROM is also a word inside the parentheses of some functions: EXTRACT(year FROM moment).
        if name is not None and (before == "JOIN" or (before == "FROM" and callers[-1] not in _FROM_FUNCTIONS)):
            parts = [part.strip("`") for part in re.findall(r"`[^`]+`|\w+", name)]
            if len(parts) == 2:
                yield token.start(), token.end(), parts[0], parts[1]
        if text == "(":
            callers.append(before)
        elif text == ")" and len(callers) > 1:
            callers.pop()
        before = text.upper()


class CatalogTables:
    """The catalog's tables as DataFrames. ``client`` None: without a catalog, names of two parts are an error."""

    def __init__(self, client: CatalogReads | None) -> None:
        self._client = client

    def bound(self, spark: SparkSession, sql: str) -> str:
        """Return ``sql`` with each catalog table replaced by a view of its current files.

        A name whose database the session's own catalog has stays as it is. Raises :class:`InvalidInput` for a table that
        does not exist or is not of Parquet files.
        """
        names = list(table_names(sql))
        for start, end, database, table in reversed(names):
            if spark.catalog.databaseExists(database) and spark.catalog.tableExists(f"{database}.{table}"):
                continue
            view = f"_table_{database}_{table}"
            self.frame(spark, database, table).createOrReplaceTempView(view)
            sql = f"{sql[:start]}`{view}`{sql[end:]}"
        return sql

    def frame(self, spark: SparkSession, database: str, table: str) -> DataFrame:
        """Return a table's rows as of now: its columns, then its partition keys."""
        what = f"{database}.{table}"
        if self._client is None:
            raise InvalidInput(f"Table {what} is unknown: the pipeline has no data catalog.")
        try:
            definition = self._client.table(database, table)
        except NotFound:
            raise InvalidInput(
                f"The transform names the table {what}, which the data catalog does not have.",
                remedy="Create it, or correct the name; steps and the view records have names of one part.",
            ) from None
        storage = definition.get("StorageDescriptor", {})
        if _PARQUET not in storage.get("InputFormat", "").lower():
            raise InvalidInput(
                f"Table {what} is not a table of Parquet files: its input format is "
                f"{storage.get('InputFormat') or 'not given'}.",
                remedy="Join tables of Parquet files; Iceberg and Delta tables are read by their own Spark catalogs.",
            )
        keys = definition.get("PartitionKeys", [])
        location = str(storage["Location"]).rstrip("/")
        mount_bucket(spark, location)
        if not keys:
            return _files(spark, storage["Columns"], [location])
        return self._partitioned(spark, definition, location)

    def _partitioned(self, spark: SparkSession, definition: Mapping[str, Any], location: str) -> DataFrame:
        assert self._client is not None
        columns, keys = definition["StorageDescriptor"]["Columns"], definition["PartitionKeys"]
        below, elsewhere = [], []
        for partition in self._client.partitions(definition["DatabaseName"], definition["Name"]):
            place = str(partition["StorageDescriptor"]["Location"]).rstrip("/")
            folders = [f"{key['Name']}={value}" for key, value in zip(keys, partition["Values"], strict=True)]
            if place == "/".join([location, *folders]):
                below.append(place)
            else:
                elsewhere.append((place, partition["Values"]))
        if not below and not elsewhere:
            return spark.createDataFrame([], _ddl([*columns, *keys]))
        frames = [_files(spark, [*columns, *keys], below, base=location)] if below else []
        for place, values in elsewhere:
            mount_bucket(spark, place)
            key_columns = [
                F.lit(value).cast(key["Type"]).alias(key["Name"]) for key, value in zip(keys, values, strict=True)
            ]
            frames.append(_files(spark, columns, [place]).select("*", *key_columns))
        first, *rest = frames
        for frame in rest:
            first = first.unionByName(frame)
        return first


def _ddl(columns: Iterable[Mapping[str, Any]]) -> str:
    return ", ".join(f"`{column['Name']}` {column['Type']}" for column in columns)


def _files(
    spark: SparkSession, columns: Iterable[Mapping[str, Any]], places: list[str], *, base: str | None = None
) -> DataFrame:
    reader = spark.read.schema(_ddl(columns))
    return (reader if base is None else reader.option("basePath", base)).parquet(*places)
