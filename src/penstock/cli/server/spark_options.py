"""The options that give a server Spark, for the statements of work groups that select Spark SQL."""

import os
from importlib.util import find_spec
from typing import Any

import click

from penstock.cli.options import option_group
from penstock.cli.streams.spark_options import spark_settings
from penstock.errors import EnvironmentProblem
from penstock.settings.home import Home
from penstock.settings.spark_sql import SparkSqlSettings

__all__ = ["spark_sql_options", "spark_sql_settings"]

spark_sql_options = option_group(
    click.option(
        "--spark-master",
        envvar="PENSTOCK_SPARK_MASTER",
        metavar="MASTER",
        help="Spark's master for work groups that select Spark SQL, such as local[*], spark://HOST:PORT. [no Spark]",
    ),
    click.option("--spark-driver-memory", default="1g", show_default=True, help="Heap of Spark's driver."),
    click.option(
        "--spark-conf", multiple=True, metavar="KEY=VALUE|@FILE", help="A setting of Spark, or a file of them. Repeatable."
    ),
)


def spark_sql_settings(options: dict[str, Any]) -> SparkSqlSettings | None:
    """Take the values of :data:`spark_sql_options` out of ``options``; None without a master.

    Fetches Spark's connectors if they are missing. Raises :class:`EnvironmentProblem` without pyspark or Java.
    """
    master, memory, settings = (options.pop(name) for name in ("spark_master", "spark_driver_memory", "spark_conf"))
    if not master:
        return None
    if find_spec("pyspark") is None:
        raise EnvironmentProblem("--spark-master needs PySpark.", remedy="pip install 'penstock[server,spark]'")
    from penstock.cli.platform.fetch import spark_archive  # noqa: PLC0415 - these need the extra spark
    from penstock.local.artefacts import class_path  # noqa: PLC0415 - as above
    from penstock.local.java import find_java  # noqa: PLC0415 - as above

    java_home = find_java(os.environ).home
    return SparkSqlSettings(
        master=master,
        java_home=str(java_home),
        jars=tuple(map(str, class_path("spark"))),
        more_jars=tuple(str(jar) for group in ("iceberg", "iceberg-aws") for jar in class_path(group)),
        log=str(Home.at(options["home"], os.environ).logs / "spark-sql"),
        archive=str(spark_archive(java_home)),
        driver_memory=memory,
        configuration=tuple(spark_settings(settings).items()),
    )
