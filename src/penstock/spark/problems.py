"""A failed stream's cause in one sentence: Spark's and Kafka's exceptions to ours, in one place."""

import re

from penstock.errors import AccessDenied, DataProblem, EnvironmentProblem, InternalError, InvalidInput, PenstockError
from penstock.pipelines.model import Pipeline

__all__ = ["explained"]

_WIDTH = 400

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
        "Records of topic {topic} that are not read yet are gone from the broker (expired, or the topic was made anew)",
        "Restore them, or accept the loss with failOnDataLoss: false.",
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
        r"No space left on device",
        EnvironmentProblem,
        "A disk is full",
        "Make room for the lake, the checkpoint and Spark's scratch folder, then run again: nothing is lost.",
    ),
    (
        r"OutOfMemoryError",
        EnvironmentProblem,
        "Spark ran out of memory",
        "Lower maxOffsetsPerTrigger or raise --driver-memory.",
    ),
)


def explained(error: BaseException, pipeline: Pipeline, *, log: str) -> PenstockError:
    """The error to show for ``error``; ours are passed through. ``log``: where Spark's own log is."""
    if isinstance(error, PenstockError):
        return error
    text = str(error)
    for pattern, kind, message, remedy in _PATTERNS:
        match = re.search(pattern, text, re.IGNORECASE)
        if match:
            source = pipeline.source
            filled = message.format(
                brokers=source.brokers, topic=source.topic, name=pipeline.name, checkpoint=pipeline.checkpoint
            )
            return kind(f"{filled}.", remedy=f"{remedy} Spark's log: {log}.")
    first = next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)
    if type(error).__name__ in {"AnalysisException", "ParseException"}:
        return InvalidInput(
            f"The transform of pipeline {pipeline.name} is wrong: {first[:_WIDTH]}", remedy="Correct its SQL."
        )
    # Py4J's own first line only says which call failed; the JVM's exception follows it.
    cause = re.search(r"^: (\S.*)$", text, re.MULTILINE)
    what = cause.group(1) if cause and first.startswith("An error occurred while calling") else first
    return InternalError(f"Pipeline {pipeline.name} failed: {what[:_WIDTH]}", remedy=f"Spark's log: {log}.")
