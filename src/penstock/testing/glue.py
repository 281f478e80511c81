"""A GlueContext for tests of Glue scripts, as in AWS's image for Glue: the fixture ``glue_context``, without a server.

``from penstock.testing.glue import glue_context`` in a ``conftest.py``; pytest comes with the extra ``testing``, Spark with
``spark``. A test calls the script's functions with the context. ``s3://BUCKET/…`` is a folder of :func:`glue_lake`.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from penstock.interpreter import SAFE_PATH
from penstock.local.artefacts import class_path
from penstock.local.java import find_java
from penstock.spark.session import SessionSettings, stop_jvm, submit_arguments

__all__ = ["glue_context", "glue_lake", "running_glue"]

_BUCKETS = ("lake",)
_STOP_SECONDS = 30.0


@contextmanager
def running_glue(lake: Path, *, buckets: tuple[str, ...] = _BUCKETS, driver_memory: str = "1g") -> Iterator[Any]:
    """Yield a GlueContext over the folder ``lake``, whose ``buckets`` are created, and end its Spark after the block.

    One process has one Spark: there is one context at a time, and ``SparkContext.getOrCreate()`` returns its Spark, also in
    the script. ``--JOB_NAME`` is in ``sys.argv`` meanwhile, for scripts that ask for it. Raises :class:`EnvironmentProblem`
    without Java or the connectors' files.
    """
    # They start Spark's library, which reads the environment that is set here.
    from pyspark import SparkContext  # noqa: PLC0415

    for bucket in buckets:
        (lake / bucket).mkdir(parents=True, exist_ok=True)
    java_home, argv = find_java(os.environ).home, list(sys.argv)
    settings = SessionSettings(
        master="local[2]",
        jars=class_path("spark"),
        log=lake.parent / "glue-spark.log",
        lake=lake,
        driver_memory=driver_memory,
        extra={"spark.sql.ansi.enabled": "false"},
    )
    locations = [f"s3://{bucket}/" for bucket in buckets]
    with TemporaryDirectory(prefix="penstock-glue-") as scratch:
        arguments = submit_arguments(settings, name="tests", locations=locations, folder=Path(scratch))
        names = {
            "JAVA_HOME": str(java_home),
            "PYSPARK_SUBMIT_ARGS": arguments,
            "PYSPARK_PYTHON": sys.executable,
            **SAFE_PATH,
        }
        before = {name: os.environ.get(name) for name in (*names, "SPARK_HOME", "SPARK_CONF_DIR")}
        for name in before:
            os.environ.pop(name, None)
        os.environ.update(names)
        if "--JOB_NAME" not in sys.argv:
            sys.argv += ["--JOB_NAME", "test"]
        from penstock.glue.context.glue_context import GlueContext  # noqa: PLC0415

        context = SparkContext.getOrCreate()
        try:
            yield GlueContext(context)
        finally:
            context.stop()
            stop_jvm(seconds=_STOP_SECONDS)
            sys.argv[:] = argv
            for name, value in before.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value


@pytest.fixture(scope="session")
def glue_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the buckets: the file ``lake/a.csv`` in it is ``s3://lake/a.csv``."""
    return tmp_path_factory.mktemp("glue") / "buckets"


@pytest.fixture(scope="session")
def glue_context(glue_lake: Path) -> Iterator[Any]:
    """A GlueContext for all tests of a session, over :func:`glue_lake`."""
    with running_glue(glue_lake) as context:
        yield context
