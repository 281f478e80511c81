"""A job's arguments that ask for monitoring: Spark's event log, and notes on those that have no effect here.

Source: "Using job parameters in AWS Glue jobs" and "Enabling the Apache Spark web UI for AWS Glue jobs".
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark import SparkContext

from penstock.errors import InvalidInput
from penstock.glue.jobs.reserved import values_of
from penstock.lake.locations import SCHEMES, parse_uri

__all__ = ["EVENTS", "EventLog", "event_log", "notes"]

EVENTS = "PENSTOCK_GLUE_EVENTS"
"""Environment variable: the folder in S3 that Spark's event log of this run is copied to."""
_UI, _PATH = "--enable-spark-ui", "--spark-event-logs-path"
_LOGS = "The run's logs are GetLogEvents' ('penstock jobs logs'), all the time; this changes nothing."
_METRICS = "There is no CloudWatch: Spark's own figures are in the event log of --enable-spark-ui."
_NOTES: Mapping[str, str] = {
    "--enable-metrics": _METRICS,
    "--enable-observability-metrics": _METRICS,
    "--enable-job-insights": "A failed run's ErrorMessage has its category and line without it, and nothing more.",
    "--enable-continuous-cloudwatch-log": _LOGS,
    "--enable-continuous-log-filter": _LOGS,
    "--continuous-log-logGroup": _LOGS,
    "--continuous-log-logStreamPrefix": _LOGS,
    "--continuous-log-conversionPattern": _LOGS,
    "--enable-auto-scaling": "The run has the workers that its job names.",
    "--spark-ui-event-logs-path": f"Write {_PATH}.",
}
_OFF = {"false", "0", "no"}


class EventLog:
    """Where Spark writes the event log of a run, and where it is copied to at the end."""

    def __init__(self, target: str) -> None:
        self.target = target

    @staticmethod
    def settings(folder: Path) -> dict[str, str]:
        """Return Spark's settings: one plain file, which a history server reads, in ``folder``."""
        return {
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": folder.as_uri(),
            "spark.eventLog.rolling.enabled": "false",
            "spark.eventLog.compress": "false",
        }

    def publish(self, folder: Path) -> None:
        """End Spark and copy its event log from ``folder``; a failure is only printed, because the run itself has ended."""
        context: Any = SparkContext._active_spark_context
        gateway: Any = SparkContext._jvm
        if gateway is None or not folder.is_dir():
            return
        try:
            hadoop = gateway.org.apache.hadoop
            configuration = hadoop.conf.Configuration() if context is None else context._jsc.hadoopConfiguration()
            if context is not None:
                context.stop()
            target = hadoop.fs.Path(self.target)
            files = target.getFileSystem(configuration)
            files.mkdirs(target)
            for path in sorted(folder.iterdir()):
                if path.is_file() and not path.name.startswith("."):
                    copy = hadoop.fs.Path(target, path.name.removesuffix(".inprogress"))
                    source = hadoop.fs.Path(path.as_uri())
                    hadoop.fs.FileUtil.copy(source.getFileSystem(configuration), source, files, copy, False, configuration)
        except Exception as error:  # noqa: BLE001 - of py4j, Spark or Hadoop: the script's own end counts
            what = str(error).splitlines()[0][:200]
            print(f"note: Spark's event log could not be written to {self.target}: {what}", file=sys.stderr)


def event_log(arguments: Sequence[str]) -> EventLog | None:
    """Return the event log that a job's ``arguments`` ask for. Raises :class:`InvalidInput` for another place than S3."""
    paths = values_of(arguments, _PATH)
    if not _is_on(arguments, _UI) or not paths:
        return None
    if not paths[-1].startswith(SCHEMES):
        raise InvalidInput(f"{_PATH} is {paths[-1][:200]!r}.", remedy="Write a folder in S3: s3://BUCKET/PREFIX/.")
    parse_uri(paths[-1])
    return EventLog(paths[-1])


def notes(arguments: Sequence[str]) -> list[str]:
    """Return a sentence for each argument that asks for what is not here."""
    sentences = [f"{name}: {note}" for name, note in _NOTES.items() if _is_on(arguments, name)]
    if _is_on(arguments, _UI) and not values_of(arguments, _PATH):
        sentences.append(f"{_UI}: Spark's event log has no place. Give {_PATH} s3://BUCKET/PREFIX/ too.")
    return sentences


def _is_on(arguments: Sequence[str], name: str) -> bool:
    if not any(argument == name or argument.startswith(f"{name}=") for argument in arguments):
        return False
    return not any(value.strip().lower() in _OFF for value in values_of(arguments, name)[-1:])
