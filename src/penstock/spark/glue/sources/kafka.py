"""A Kafka topic as a stream, by Glue's connection options, on Spark's own connector.

Source: "Kafka connection option reference",
https://docs.aws.amazon.com/glue/latest/dg/aws-glue-programming-etl-connect-kafka-home.html.
"""

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from penstock.client.secrets import broker_credentials
from penstock.errors import InvalidInput
from penstock.spark.glue.options import Options, milliseconds
from penstock.spark.glue.payload import Payload, payload_of
from penstock.spark.glue.sources.connections import KafkaConnection, kafka_connection
from penstock.spark.glue.sources.port import Read
from penstock.spark.kafka import check_brokers, login_options

__all__ = ["spark_options", "stream"]

_RAW = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
_HEADERS, _ARRIVED = "glue_streaming_kafka_headers", "__src_timestamp"
_TOPICS = {"topicName": "subscribe", "assign": "assign", "subscribePattern": "subscribePattern"}
_NUMBERS = {
    "maxOffsetsPerTrigger": "maxOffsetsPerTrigger",
    "minPartitions": "minPartitions",
    "pollTimeoutMs": "kafkaConsumer.pollTimeoutMs",
    "numRetries": "fetchOffset.numRetries",
    "retryIntervalMs": "fetchOffset.retryIntervalMs",
}
_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

Connections = Callable[[str], KafkaConnection]


def stream(read: Read) -> DataFrame:
    """Return the stream that the options describe.

    Raises :class:`InvalidInput` for options that are unknown, missing or contradictory, and
    :class:`penstock.errors.EnvironmentProblem` if no broker can be reached.
    """

    def connection(name: str) -> KafkaConnection:
        return kafka_connection(read.session.connection(name), secret=broker_credentials, read=read.session.files.read)

    wanted, payload, headers, arrived = spark_options(read.options, connection)
    check_brokers(wanted["kafka.bootstrap.servers"], "the Kafka source")
    records = read.session.spark.readStream.format("kafka").options(**wanted).load()
    extra = {}
    if headers:
        records = records.withColumn(_HEADERS, F.transform("headers", _text_header))
        extra[_HEADERS] = _HEADERS
    if arrived:
        extra["timestamp"] = _ARRIVED
    return payload.frame(records, "value", extra=extra, raw=_RAW)


def _text_header(header: Any) -> Any:
    return F.struct(header["key"].alias("key"), header["value"].cast("string").alias("value"))


def spark_options(given: Mapping[str, Any], connection: Connections) -> tuple[dict[str, str], Payload, bool, bool]:
    """Return options of Spark's ``kafka`` format, how payloads are read, and whether to add headers and timestamps.

    The options may have a password: never log them.
    """
    options = Options("the kafka source", given)
    found = {
        # As in the runner of pipelines: a broker that does not answer is an error within a minute.
        "kafka.default.api.timeout.ms": "30000",
        "kafka.request.timeout.ms": "15000",
        **_broker(options, connection),
        **_topics(options),
        **_starts(options),
        "failOnDataLoss": str(options.flag("failOnDataLoss")).lower(),
    }
    for name, spark_name in _NUMBERS.items():
        number = options.number(name, least=1)
        if number is not None:
            found[spark_name] = str(number)
    options.refuse(
        "endingOffsets",
        "It is for batch reads; a stream has no end. 'penstock glue run --once' reads the available records.",
    )
    options.refuse("emitConsumerLagMetrics", "There is no CloudWatch: leave it out.", harmless=("false",))
    options.refuse("typeOfData", "This is the kafka source.", harmless=("kafka",))
    headers, arrived = options.flag("includeHeaders"), options.flag("addRecordTimestamp")
    if headers:
        found["includeHeaders"] = "true"
    payload = payload_of(options, "Kafka")
    # Kafka's own options are passed on, and override the others.
    found |= options.rest("kafka.")
    options.finish()
    return found, payload, headers, arrived


def _broker(options: Options, connection: Connections) -> dict[str, str]:
    servers, name = options.text("bootstrap.servers"), options.text("connectionName")
    protocol = options.text("security.protocol")
    if servers is None and name is None:
        raise InvalidInput(
            "The kafka source does not name its brokers.",
            remedy="Give connectionName, a Glue connection of type KAFKA, or bootstrap.servers.",
        )
    if protocol is not None and protocol.upper() not in _PROTOCOLS:
        raise InvalidInput(
            f"Option security.protocol of the kafka source is {protocol!r}.", remedy=f"Use one of {', '.join(_PROTOCOLS)}."
        )
    found = {}
    if name is not None:
        known = connection(name)
        found = {"kafka.bootstrap.servers": known.brokers, "kafka.security.protocol": known.protocol, **known.trust}
        if known.login is not None:
            found |= login_options(*known.login)
    if servers is not None:
        found["kafka.bootstrap.servers"] = servers
    if protocol is not None:
        found["kafka.security.protocol"] = protocol.upper()
    return found


def _topics(options: Options) -> dict[str, str]:
    named = {spark_name: options.text(name) for name, spark_name in _TOPICS.items()}
    chosen = {name: value for name, value in named.items() if value}
    if len(chosen) != 1:
        raise InvalidInput(
            f"The kafka source names its topics in {len(chosen) or 'no'} options.",
            remedy="Give one of topicName, assign and subscribePattern.",
        )
    return chosen


def _starts(options: Options) -> dict[str, str]:
    offsets, moment = options.text("startingOffsets"), options.text("startingTimestamp")
    if offsets is not None and moment is not None:
        raise InvalidInput(
            "Options startingOffsets and startingTimestamp exclude each other.", remedy="Leave one of them out."
        )
    if moment is not None:
        # A partition without a later record begins at its end.
        return {
            "startingTimestamp": str(milliseconds(moment, "startingTimestamp")),
            "startingOffsetsByTimestampStrategy": "latest",
        }
    return {"startingOffsets": offsets or "latest"}
