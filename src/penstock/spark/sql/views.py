"""The views of one query: the files that the server listed, under the columns and types that its catalog says."""

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as f

from penstock.spark.session import mount_bucket
from penstock.sql.spark_query import FilesRead, IcebergRead, QueryRead, Read, SparkColumn

__all__ = ["make_views"]

_PREFIX = "penstock_"  # of the views' names: penstock.query.sparksql.reads


def make_views(session: SparkSession, reads: Sequence[Read]) -> None:
    """Make a temporary view of each of ``reads``; errors of Spark pass through."""
    _make(session, reads, {})


def _make(session: SparkSession, reads: Sequence[Read], names: dict[tuple[object, ...], str]) -> None:
    for read in reads:
        view = _PREFIX + read.view
        # Spark 4.1 confuses the columns of two views that read one Iceberg table, unless one is a view of the other.
        same = (read.metadata, read.snapshot, str(read.columns)) if isinstance(read, IcebergRead) else None
        if same is not None and same in names:
            session.sql(f"CREATE OR REPLACE TEMPORARY VIEW {_quoted(view)} AS SELECT * FROM {_quoted(names[same])}")  # noqa: S608 quoted names
            continue
        if same is not None:
            names[same] = view
        if isinstance(read, QueryRead):
            _make(session, read.reads, names)
            frame = _query(session, read)
        else:
            frame = _iceberg(session, read) if isinstance(read, IcebergRead) else _parquet(session, read)
        frame.createOrReplaceTempView(view)


def _parquet(session: SparkSession, read: FilesRead) -> DataFrame:
    columns, keys = read.columns, read.keys
    if not read.files:
        return session.createDataFrame([], _schema([*columns, *keys]))
    if read.base is not None:
        # Spark takes the values from the folders' names, which are those that the catalog's values give.
        reader = session.read.schema(_schema([*columns, *keys])).option("basePath", f"file://{read.base}")
        return _files(reader, read.files).select(*(_quoted(name) for name, _ in (*columns, *keys)))
    groups: dict[int, list[str]] = {}
    for file, place in zip(read.files, read.partition, strict=True):
        groups.setdefault(place, []).append(file)
    frames = []
    for place, group in groups.items():
        values = read.values[place] if keys else ()
        constants = [f.lit(value).cast(type_).alias(name) for (name, type_), value in zip(keys, values, strict=True)]
        frames.append(_files(session.read.schema(_schema(columns)), group).select("*", *constants))
    return reduce(DataFrame.unionAll, frames)


def _files(reader: DataFrameReader, files: Sequence[str]) -> DataFrame:
    # The names are paths as they are, and no patterns.
    return reader.option("__globPaths__", "false").parquet(*(f"file://{file}" for file in files))


def _schema(columns: Sequence[SparkColumn]) -> str:
    return ", ".join(f"{_quoted(name)} {type_}" for name, type_ in columns)


def _iceberg(session: SparkSession, read: IcebergRead) -> DataFrame:
    mount_bucket(session, read.metadata)
    reader = session.read.format("iceberg")
    if read.snapshot is not None:
        reader = reader.option("versionAsOf", str(read.snapshot))
    frame = reader.load(read.metadata)
    return frame.select(*(f.col(_quoted(name)).cast(type_).alias(name) for name, type_ in read.columns))


def _query(session: SparkSession, read: QueryRead) -> DataFrame:
    frame = session.sql(read.sql)
    names = [f"c{at}" for at in range(len(frame.columns))]
    columns = [f.col(own).cast(type_).alias(name) for own, (name, type_) in zip(names, read.columns, strict=True)]
    return frame.toDF(*names).select(*columns)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
