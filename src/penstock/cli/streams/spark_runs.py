"""What the commands share that run declared pipelines: quiet libraries, Java, and the options of their Spark."""

import logging
import os
from collections.abc import Sequence
from pathlib import Path

from penstock.cli.platform.fetch import spark_archive
from penstock.cli.streams.spark_options import spark_settings
from penstock.local.artefacts import class_path
from penstock.local.java import find_java
from penstock.pipelines import FileSource, Pipeline
from penstock.pipelines.kafka import KafkaConnection
from penstock.settings.home import Home
from penstock.spark.commit.failpoints import Failpoint
from penstock.spark.running.options import RunOptions
from penstock.spark.session import mute_error_logs, s3a_configuration
from penstock.spark.sinks.requirements import requirements

__all__ = ["run_options"]


def run_options(
    pipelines: Sequence[Pipeline],
    *,
    name: str,
    where: Home,
    master: str,
    lake: Path | None,
    log: Path | None,
    driver_memory: str,
    configuration: Sequence[str],
) -> RunOptions:
    """Return the options of one Spark that runs ``pipelines``.

    ``name`` names Spark's log. Sets JAVA_HOME, and keeps the libraries' own log lines from the terminal.
    """
    java_home = find_java(os.environ).home
    os.environ["JAVA_HOME"] = str(java_home)
    logging.basicConfig(level=logging.WARNING, format="penstock: %(levelname)s: %(message)s")
    for noisy in ("py4j", "pyspark"):
        logging.getLogger(noisy).setLevel(logging.CRITICAL)
    for handler in logging.getLogger().handlers:
        handler.addFilter(_is_readable)
    mute_error_logs()
    needs = requirements(sink for pipeline in pipelines for sink in pipeline.sinks)
    remote = lake is None and any(_uses_s3(pipeline) for pipeline in pipelines)
    by_iam = any(_logs_in_by_iam(pipeline) for pipeline in pipelines)
    return RunOptions(
        master=master,
        jars=_jars(["spark", *(["s3a"] if remote else []), *(["msk-iam"] if by_iam else [])]),
        more_jars=_jars(needs.groups),
        log=log or where.logs / f"spark-{name}.log",
        lake=lake,
        driver_memory=driver_memory,
        archive=spark_archive(java_home),
        spark_configuration={
            **(s3a_configuration(os.environ) if lake is None else {}),
            **needs.configured(spark_settings(configuration)),
        },
        failpoint=Failpoint.from_environment(os.environ),
    )


def _is_readable(record: logging.LogRecord) -> bool:
    """Return whether a line is for users: py4j logs the tracebacks of a lost JVM without a logger of its own."""
    return record.name != "root" or Path(record.pathname).parent.name != "py4j"


def _jars(groups: Sequence[str]) -> list[Path]:
    """Return the files of the groups, each once."""
    return list(dict.fromkeys(jar for group in groups for jar in class_path(group)))


def _uses_s3(pipeline: Pipeline) -> bool:
    read = [pipeline.source.location] if isinstance(pipeline.source, FileSource) else []
    return any(location.startswith(("s3://", "s3a://")) for location in [*pipeline.locations.values(), *read])


def _logs_in_by_iam(pipeline: Pipeline) -> bool:
    """Return whether Kafka's client needs AWS's library for MSK."""
    ends = [pipeline.source, *pipeline.sinks]
    return any(isinstance(end, KafkaConnection) and end.sasl_mechanism == "AWS_MSK_IAM" for end in ends)
