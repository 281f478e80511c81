"""Kafka's topics and Kinesis's streams: a record for each row, at least once.

Source: "Kafka connection option reference" and "Kinesis connection option reference",
https://docs.aws.amazon.com/glue/latest/dg/aws-glue-programming-etl-connect-kafka-home.html and
https://docs.aws.amazon.com/glue/latest/dg/aws-glue-programming-etl-connect-kinesis-home.html.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.avro.functions import to_avro
from pyspark.sql.types import IntegralType

from penstock.errors import InvalidInput
from penstock.glue.options import Options
from penstock.glue.payload import check_avro
from penstock.glue.sinks.batches import persisted_batch
from penstock.glue.sinks.port import Write
from penstock.glue.sources.kafka import broker_options, kafka_connections
from penstock.glue.sources.kinesis import redirected
from penstock.glue.sources.stream_tables import stream_options
from penstock.pipelines.sinks.kinesis import KinesisSink
from penstock.spark.kafka import check_brokers
from penstock.spark.quoting import quoted
from penstock.spark.sinks.kafka.writer import PRODUCER, kafka_errors
from penstock.spark.sinks.kinesis import KinesisWriter
from penstock.spark.sinks.values import JSON
from penstock.spark.sources.kinesis.options import stream_of

__all__ = ["to_table", "write_kafka", "write_kinesis"]

_FORMATS = ("json", "csv", "avro")


def to_table(write: Write, table: Mapping[str, Any], frame: DataFrame) -> None:
    """Write a record for each row to the topic or stream that a table of the catalog describes."""
    connection_type, options = stream_options(table, write.options)
    stream_only = {name: value for name, value in options.items() if name != "schema"}
    {"kafka": write_kafka, "kinesis": write_kinesis}[connection_type](
        replace(write, connection_type=connection_type, options=stream_only), frame
    )


def write_kafka(write: Write, frame: DataFrame) -> None:
    """Write a record for each row to a topic. Raises :class:`InvalidInput`, and EnvironmentProblem if no broker answers.

    ``key`` and ``partition`` are columns, or values for all records; the columns stay in the record.
    """
    options = Options("the kafka sink", write.options)
    login = broker_options(options, kafka_connections(write.session))
    topic = options.text("topic") or options.text("topicName")
    columns = {name: options.text(name) for name in ("key", "partition")}
    further = options.rest("kafka.")
    value = _value(options, frame)
    records = {"value": value}
    if topic is None:
        if "topic" not in frame.columns:
            raise InvalidInput("The kafka sink needs topic.", remedy="Name it, or give the frame a column of that name.")
        records["topic"] = F.col("topic").cast("string")
    if columns["key"] is not None:
        records["key"] = _column(frame, columns["key"]).cast("binary")
    if columns["partition"] is not None:
        records["partition"] = _partition(frame, columns["partition"])
    settings = {**login, **PRODUCER, **further}
    check_brokers(settings["kafka.bootstrap.servers"], "the Kafka sink")
    with kafka_errors(f"The kafka sink: topic {topic or 'of each row'}"):
        writer = frame.select(*(column.alias(name) for name, column in records.items())).write.format("kafka")
        (writer if topic is None else writer.option("topic", topic)).options(**settings).save()


def write_kinesis(write: Write, frame: DataFrame) -> None:
    """Put a record for each row into a stream, as JSON. Raises :class:`InvalidInput`, and NotFound for a stream.

    ``partitionKey`` is a column, or the key of all records; without it each record gets its own key.
    """
    options = Options("the kinesis sink", redirected(write.options))
    stream = stream_of(options)
    key = options.text("partitionKey")
    whole = options.flag("aggregationEnabled", default=True)
    # An ARN may be that of another account's stream.
    named = stream.arn or stream.name
    sink = KinesisSink(name="kinesis", stream=named, partition_key=_expression(frame, key), aggregate=whole)
    writer = KinesisWriter(sink, write.session.spark, client=stream.client())
    writer.check()
    with persisted_batch(frame, "kinesis") as batch:
        writer.publish(batch)


def _value(options: Options, frame: DataFrame) -> Column:
    payload_format = (options.text("classification") or "json").strip().lower()
    delimiter, schema = options.text("delimiter"), options.text("avroSchema")
    if payload_format not in _FORMATS:
        raise InvalidInput(
            f"Records of classification {payload_format[:100]} cannot be written.", remedy="Use json, csv or avro."
        )
    if (delimiter is not None and payload_format != "csv") or (schema is not None and payload_format != "avro"):
        raise InvalidInput("Option delimiter is for csv, and avroSchema for avro.", remedy="Leave it out.")
    body = F.struct(*(F.col(quoted(name)) for name in frame.columns))
    if payload_format == "avro":
        return to_avro(body) if schema is None else to_avro(body, check_avro(schema, "avroSchema"))
    text = F.to_json(body, JSON) if payload_format == "json" else F.to_csv(body, {"sep": delimiter or ","})
    return text.cast("binary")


def _column(frame: DataFrame, text: str) -> Column:
    return F.col(quoted(text)).cast("string") if text in frame.columns else F.lit(text)


def _partition(frame: DataFrame, text: str) -> Column:
    if text in frame.columns and isinstance(frame.schema[text].dataType, IntegralType):
        return F.col(quoted(text)).cast("int")
    if text in frame.columns or not text.isdigit():
        raise InvalidInput(
            f"Option partition of the kafka sink is {text[:100]!r}.", remedy="Give a number, or a column of whole numbers."
        )
    return F.lit(int(text))


def _expression(frame: DataFrame, key: str | None) -> str | None:
    if key is None:
        return None
    escaped = key.replace("\\", "\\\\").replace("'", "\\'")
    return quoted(key) if key in frame.columns else f"'{escaped}'"
