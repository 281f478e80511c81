"""JDBC drivers that a script, or a connection, brings as a file in S3: read when a database is first read or written.

Source: "JDBC connections" of Glue's developer guide, ``customJdbcDriverS3Path`` and ``customJdbcDriverClassName``; Glue API
reference, "Connection", ``JDBC_DRIVER_JAR_URI`` and ``JDBC_DRIVER_CLASS_NAME``.
"""

import tempfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from penstock.errors import EnvironmentProblem, InvalidInput
from penstock.glue.connections.databases import OwnDriver

__all__ = ["class_on_path", "load_driver"]

_MOST_BYTES = 500_000_000
_loaded: dict[tuple[str, OwnDriver], str] = {}


def class_on_path(spark: SparkSession, names: Iterable[str]) -> str | None:
    """Return the first of the classes ``names`` that the session's JVM has, None without one."""
    jvm: Any = spark._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    for name in names:
        try:
            loader.loadClass(name)
        except Py4JJavaError:
            continue
        return name
    return None


def load_driver(spark: SparkSession, own: OwnDriver) -> str:
    """Put the driver's file on the class path of the session and its executors, once; return the driver's class.

    Raises :class:`InvalidInput` if the file has no such class, EnvironmentProblem if it cannot be read.
    """
    key = (spark.sparkContext.applicationId, own)
    if key not in _loaded:
        try:
            _add(spark, own)
        except Py4JJavaError as error:
            message = str(error.java_exception.getMessage()).splitlines()[0][:300]
            raise EnvironmentProblem(f"The JDBC driver {own.jar} cannot be read: {message}.") from None
        _loaded[key] = own.name
    return _loaded[key]


def _add(spark: SparkSession, own: OwnDriver) -> None:
    jvm: Any = spark._jvm
    hadoop, configuration = jvm.org.apache.hadoop.fs, spark._jsc.hadoopConfiguration()
    source = hadoop.Path(own.jar)
    files = source.getFileSystem(configuration)
    if files.getFileStatus(source).getLen() > _MOST_BYTES:
        raise InvalidInput(f"The JDBC driver {own.jar} has more than {_MOST_BYTES:,} bytes.")
    # Below the run's folder of temporary files, which is removed at its end.
    copy = Path(tempfile.mkdtemp(prefix="penstock-driver-"), PurePosixPath(own.jar).name)
    target = hadoop.Path(copy.as_uri())
    hadoop.FileUtil.copy(files, source, target.getFileSystem(configuration), target, False, configuration)
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    # Spark's own, to which it adds spark.jars as well: drivers are looked for there.
    while loader is not None and not str(loader.getClass().getSimpleName()).endswith("MutableURLClassLoader"):
        loader = loader.getParent()
    if loader is None:
        raise EnvironmentProblem("Spark's JVM takes no further drivers.", remedy="Start the job with --extra-jars FILE.")
    loader.addURL(jvm.java.io.File(str(copy)).toURI().toURL())
    spark.sparkContext._jsc.addJar(str(copy))  # for executors
    try:
        loader.loadClass(own.name)
    except Py4JJavaError:
        raise InvalidInput(
            f"{own.jar} has no class {own.name}.", remedy="Name the driver's class in customJdbcDriverClassName."
        ) from None
