"""The cause of a failed stream in one sentence: translate exceptions of Spark and Kafka, in one place.

PySpark returns the SQLSTATE of the errors that it has a class for. Exceptions of Kafka, of Hadoop and of the JDK, and
errors that wrap another one, do not have one: they are identified by their texts.
"""

import re
from contextlib import suppress

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import AnalysisException, PySparkException

from penstock import errors
from penstock.errors import AccessDenied, DataProblem, EnvironmentProblem, InternalError, InvalidInput, PenstockError
from penstock.pipelines.model import Pipeline

__all__ = ["error_of_ours", "first_cause", "is_data_error", "is_replay_failure", "to_penstock_error"]

_WIDTH = 400

# SQL's class 22 is "data exception": a division by zero, a text that is not a number, a value out of range.
_DATA_STATE = "22"
# P0001 is that of raise_error, in a transform or in changes that cannot be applied.
_DATA = re.compile(rf"SQLSTATE: (?:{_DATA_STATE}\w{{3}}|P0001)")
_TOO_LONG = re.compile(r"File name too long", re.IGNORECASE)
_OURS = re.compile(r"^penstock\.errors\.(\w+): (.+)$", re.MULTILINE)
_WRAPPER = re.compile(r"An error occurred while calling |Job aborted|\[?(?:STREAM_FAILED|FAILED_EXECUTE|TASK_WRITE_FAILED)")

_PATTERNS: tuple[tuple[str, type[PenstockError], str, str], ...] = (
    (
        r"SaslAuthenticationException|TopicAuthorizationException|SaslException|GroupAuthorizationException",
        AccessDenied,
        "The broker {brokers} refused the credentials for topic {topic}",
        "Check the user name and password or the secret, the SASL mechanism and the user's rights on the topic.",
    ),
    (
        r"SslAuthenticationException|SSLHandshakeException|PKIX path",
        EnvironmentProblem,
        "The TLS handshake with {brokers} failed",
        "Check security_protocol and the truststore.",
    ),
    (
        r"UnknownTopicOrPartitionException|does not exist.*topic|UNKNOWN_TOPIC_OR_PARTITION",
        EnvironmentProblem,
        "Topic {topic} does not exist on {brokers}",
        "Create it, or correct source.kafka.topic.",
    ),
    (
        r"KAFKA_DATA_LOSS|Some data may have been lost|OffsetOutOfRangeException|were aged out|"
        r"data.?loss|topics? (?:may be|was|were) deleted|Partitions.*(?:gone|missing)",
        DataProblem,
        "Records of topic {topic} that were not read are gone from the broker (expired, or the topic was recreated)",
        "Accept the loss with failOnDataLoss: false; for a recreated topic give the pipeline a new name and checkpoint.",
    ),
    (
        r"Timed out waiting for a node assignment|TimeoutException|No resolvable bootstrap|DisconnectException|"
        r"Failed to update metadata",
        EnvironmentProblem,
        "The brokers {brokers} do not answer",
        "Check that they run and that their advertised listeners can be reached from here.",
    ),
    (
        r"Multiple streaming queries are concurrently using|CONCURRENT_QUERY|CONCURRENT_STREAM_LOG_UPDATE",
        InvalidInput,
        "Another run of pipeline {name} uses the checkpoint {checkpoint}",
        "Stop one of them.",
    ),
    (
        _TOO_LONG.pattern,
        DataProblem,
        "A partition value of pipeline {name} is too long for a folder's name",
        "Shorten it in transform.columns (substring, hash), or partition by another column; nothing was committed.",
    ),
    (
        r"No space left on device",
        EnvironmentProblem,
        "A disk is full",
        "Free space for the lake, the checkpoint and Spark's scratch folder, then run again: nothing is lost.",
    ),
    (
        r"OutOfMemoryError",
        EnvironmentProblem,
        "Spark ran out of memory",
        "Lower maxOffsetsPerTrigger or raise --driver-memory.",
    ),
)


def is_data_error(error: BaseException) -> bool:
    """Return whether a record cannot be processed, or is gone, so that a retry of the batch cannot help."""
    if _sql_state(error).startswith(_DATA_STATE):
        return True
    text = str(error)
    return bool(_DATA.search(text) or _TOO_LONG.search(text) or "KAFKA_DATA_LOSS" in text)


def _sql_state(error: BaseException) -> str:
    """Return Spark's SQLSTATE of an error; empty if it has none, or if the JVM, which has the state, is gone."""
    if isinstance(error, PySparkException):
        with suppress(Py4JError):
            return error.getSqlState() or ""
    return ""


def is_replay_failure(error: Exception) -> bool:
    """Return whether Spark 4.1.1 failed to report a batch that it replayed and committed (SPARK-55271)."""
    text = str(error)
    return "IterableOps.map" in text and "Option.get()" in text and "is null" in text


def _cause(text: str) -> str:
    """Return the most specific line of a Java exception's text: the first one, or the deepest cause of a wrapper."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines or not _WRAPPER.match(lines[0]):
        return lines[0] if lines else ""
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    thrown = lines[1].removeprefix(": ") if len(lines) > 1 and not lines[1].startswith("at ") else lines[0]
    return causes[-1] if causes else thrown


def first_cause(error: BaseException) -> str:
    """Return what has gone wrong in one line: of an exception of the JVM its deepest cause, not the call that failed."""
    text = str(error)
    ours = error_of_ours(text)
    if ours is not None:
        return str(ours)[:_WIDTH]
    first = _cause(text)
    if first.startswith("An error occurred while calling"):
        match = re.search(r"^: (\S.*)$", text, re.MULTILINE)
        first = match.group(1) if match else first
    return (first or type(error).__name__)[:_WIDTH]


def to_penstock_error(error: BaseException, pipeline: Pipeline, *, log: str) -> PenstockError:
    """Return the error to show for ``error``; our own are returned unchanged. ``log``: the path of Spark's own log."""
    text = str(error)
    ours = error if isinstance(error, PenstockError) else error_of_ours(text)
    if ours is not None:
        return ours
    first = _cause(text) or type(error).__name__
    # Spark's error class comes first, because the text may contain a record's value.
    if isinstance(error, AnalysisException):
        return InvalidInput(
            f"The transform of pipeline {pipeline.name} is wrong: {first[:_WIDTH]}", remedy="Correct its SQL."
        )
    if _sql_state(error).startswith(_DATA_STATE):
        return _unfit_record(first, pipeline, log)
    for pattern, error_class, message, remedy in _PATTERNS:
        if re.search(pattern, text, re.IGNORECASE):
            source = pipeline.source
            filled = message.format(
                brokers=source.brokers, topic=source.topic, name=pipeline.name, checkpoint=pipeline.checkpoint
            )
            return error_class(f"{filled}.", remedy=f"{remedy} Spark's log: {log}.")
    if _DATA.search(text):
        line = next(line.strip() for line in text.splitlines() if _DATA.search(line))
        return _unfit_record(line, pipeline, log)
    return InternalError(f"Pipeline {pipeline.name} failed: {first_cause(error)}", remedy=f"Spark's log: {log}.")


def error_of_ours(text: str) -> PenstockError | None:
    """Return an error of ours that a source raised in Spark's Python process, of which Spark gives the traceback."""
    match = _OURS.search(text)
    error_class = getattr(errors, match.group(1), None) if match else None
    if match is None or not (isinstance(error_class, type) and issubclass(error_class, PenstockError)):
        return None
    return error_class(match.group(2).strip())


def _unfit_record(what: str, pipeline: Pipeline, log: str) -> DataProblem:
    return DataProblem(
        f"A record of pipeline {pipeline.name} cannot be transformed: {what[:_WIDTH]}",
        remedy="Guard the expression (try_divide, try_cast, coalesce) or filter such records; nothing was committed. "
        f"Spark's log: {log}.",
    )
