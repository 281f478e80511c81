"""Kafka topics by Glue's connection options, as a stream or as the rows that are there, read as pipelines read them.

Source: "Kafka connection option reference",
https://docs.aws.amazon.com/glue/latest/dg/aws-glue-programming-etl-connect-kafka-home.html.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from penstock.client.secrets import broker_credentials
from penstock.errors import InvalidInput
from penstock.glue.connections.kafka import KafkaConnection, kafka_connection
from penstock.glue.options import Options
from penstock.glue.payload import Payload, payload_of
from penstock.glue.session import GlueSession
from penstock.glue.sources.port import Read
from penstock.spark.kafka import TIMEOUTS, check_brokers, login_options
from penstock.spark.sources.kafka_reads import LIMITS, KafkaReads
from penstock.spark.sources.options import milliseconds

__all__ = ["broker_options", "kafka_connections", "kafka_reads", "rows", "stream"]

_log = logging.getLogger("awsglue")

_RAW = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
_HEADERS, _ARRIVED = "glue_streaming_kafka_headers", "__src_timestamp"
_TOPICS = {"topicName": "subscribe", "assign": "assign", "subscribePattern": "subscribePattern"}
_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

Connections = Callable[[str], KafkaConnection]


def stream(read: Read) -> DataFrame:
    """Return the stream that the options describe; with ``endingOffsets`` what :func:`rows` does.

    Raises :class:`InvalidInput` for options that are unknown, missing or contradictory, and
    :class:`penstock.errors.EnvironmentProblem` if no broker can be reached.
    """
    return rows(read) if read.options.get("endingOffsets") is not None else _frame(read, batch=False)


def rows(read: Read) -> DataFrame:
    """Return the records from ``startingOffsets`` to ``endingOffsets``, which are the first and the last one unless given.

    Raises as :func:`stream` does.
    """
    if read.session.bookmarks.marks(read.transformation_ctx) is not None:
        _log.warning("Source %s is of kafka and has no bookmark: every run reads all its rows.", read.transformation_ctx)
    return _frame(read, batch=True)


def kafka_connections(session: GlueSession) -> Connections:
    """Return the function from a connection's name to it."""
    return lambda name: kafka_connection(session.connection(name), secret=broker_credentials, read=session.files.read)


def _frame(read: Read, *, batch: bool) -> DataFrame:
    reads, payload, arrived = kafka_reads(read.options, kafka_connections(read.session), batch=batch)
    check_brokers(reads.options()["kafka.bootstrap.servers"], "the Kafka source")
    spark = read.session.spark
    return _columns(reads, payload, reads.rows(spark) if batch else reads.stream(spark), arrived=arrived)


def _columns(reads: KafkaReads, payload: Payload, records: DataFrame, *, arrived: bool) -> DataFrame:
    extra = {}
    if reads.include_headers:
        records = records.withColumn(_HEADERS, F.transform("headers", _text_header))
        extra[_HEADERS] = _HEADERS
    if arrived:
        extra["timestamp"] = _ARRIVED
    return payload.frame(records, "value", extra=extra, raw=_RAW)


def _text_header(header: Any) -> Any:
    return F.struct(header["key"].alias("key"), header["value"].cast("string").alias("value"))


def kafka_reads(
    script_options: Mapping[str, Any], connection: Connections, *, batch: bool = False
) -> tuple[KafkaReads, Payload, bool]:
    """Return what is read, how payloads are read, and whether to add timestamps; of a stream, or of what is there."""
    options = Options("the kafka source", script_options)
    login = broker_options(options, connection)
    topics = _topics(options)
    offsets, moment = _starts(options, batch=batch)
    end = options.text("endingOffsets")
    if end is not None and end.strip() == "earliest":
        raise InvalidInput(
            "endingOffsets of the kafka source is earliest, before which there are no records.",
            remedy="Use latest, or offsets as JSON.",
        )
    lossy = options.flag("failOnDataLoss")
    limits = {name: options.number(name, least=1) for name in LIMITS}
    headers, arrived = options.flag("includeHeaders"), options.flag("addRecordTimestamp")
    payload = payload_of(options, "Kafka")
    further = options.rest("kafka.")
    reads = KafkaReads(
        login=login,
        topics=topics,
        starting_offsets=offsets,
        starting_timestamp=moment,
        ending_offsets=end,
        fail_on_data_loss=lossy,
        include_headers=headers,
        limits=limits,
        further=further,
    )
    return reads, payload, arrived


def broker_options(options: Options, connection: Connections) -> dict[str, str]:
    """Return the options ``kafka.*`` of brokers, login and certificates. They may have a password: never log them.

    Raises :class:`InvalidInput` without brokers.
    """
    servers, name = options.text("bootstrap.servers"), options.text("connectionName")
    protocol = options.text("security.protocol")
    if servers is None and name is None:
        raise InvalidInput(
            f"{options.title} does not name its brokers.",
            remedy="Give connectionName, a Glue connection of type KAFKA, or bootstrap.servers.",
        )
    if protocol is not None and protocol.upper() not in _PROTOCOLS:
        raise InvalidInput(
            f"Option security.protocol of {options.owner} is {protocol!r}.", remedy=f"Use one of {', '.join(_PROTOCOLS)}."
        )
    configuration = dict(TIMEOUTS)
    if name is not None:
        kafka = connection(name)
        configuration |= {
            "kafka.bootstrap.servers": kafka.brokers,
            "kafka.security.protocol": kafka.protocol,
            **kafka.trust,
        }
        if kafka.login is not None:
            configuration |= login_options(*kafka.login)
    if servers is not None:
        configuration["kafka.bootstrap.servers"] = servers
    if protocol is not None:
        configuration["kafka.security.protocol"] = protocol.upper()
    return configuration


def _topics(options: Options) -> tuple[str, str]:
    named = {spark_name: options.text(name) for name, spark_name in _TOPICS.items()}
    chosen = [(name, value) for name, value in named.items() if value]
    if len(chosen) != 1:
        raise InvalidInput(
            f"The kafka source names its topics in {len(chosen) or 'no'} options.",
            remedy="Give one of topicName, assign and subscribePattern.",
        )
    return chosen[0]


def _starts(options: Options, *, batch: bool) -> tuple[str, int | None]:
    """Return the offsets and the time, of which the latter counts if it is given."""
    offsets, moment = options.text("startingOffsets"), options.text("startingTimestamp")
    if offsets is not None and moment is not None:
        raise InvalidInput(
            "Options startingOffsets and startingTimestamp exclude each other.", remedy="Leave one of them out."
        )
    if batch and offsets is not None and offsets.strip() == "latest":
        raise InvalidInput(
            "startingOffsets is latest, behind which a batch read finds no record.",
            remedy="Use earliest, offsets as JSON, or startingTimestamp; or read a stream with create_data_frame.",
        )
    return offsets or ("earliest" if batch else "latest"), None if moment is None else milliseconds(
        moment, "startingTimestamp"
    )
