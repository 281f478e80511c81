"""All kinds of sinks, by the name of their section."""

from collections.abc import Callable, Mapping
from pathlib import Path

from penstock.errors import InvalidInput
from penstock.pipelines.sinks.delta import DeltaSink, delta_sink
from penstock.pipelines.sinks.dynamodb import DynamoDbSink, dynamodb_sink
from penstock.pipelines.sinks.iceberg import IcebergSink, iceberg_sink
from penstock.pipelines.sinks.jdbc import JdbcSink, jdbc_sink
from penstock.pipelines.sinks.kafka import KafkaSink, kafka_sink
from penstock.pipelines.sinks.kinesis import KinesisSink, kinesis_sink
from penstock.pipelines.sinks.parquet import ParquetSink, parquet_sink
from penstock.pipelines.sinks.settings import SinkSettings
from penstock.settings.document import Section

__all__ = ["Sink", "parse_sinks"]

Sink = DeltaSink | DynamoDbSink | IcebergSink | JdbcSink | KafkaSink | KinesisSink | ParquetSink
"""Any kind of sink."""

_PARSERS: Mapping[str, Callable[[Section, Path, str], SinkSettings]] = {
    "parquet": parquet_sink,
    "delta": delta_sink,
    "iceberg": iceberg_sink,
    "kinesis": kinesis_sink,
    "jdbc": jdbc_sink,
    "dynamodb": dynamodb_sink,
    "kafka": kafka_sink,
}


def parse_sinks(top: Section, base: Path) -> tuple[SinkSettings, ...]:
    """Return the sink of ``sink``, or those of ``sinks``, a mapping of names to sinks."""
    if top.has("sinks"):
        if top.has("sink"):
            raise top.fault("'sink' and 'sinks' exclude each other", key="sinks", remedy="Keep one of them.")
        many = top.required_section("sinks")
        sinks = tuple(_parse(many.required_section(name), base, name) for name in many.names())
        if not sinks:
            raise many.fault("'sinks' names no sink")
        many.done()
        return sinks
    return (_parse(top.required_section("sink"), base, "sink"),)


def _parse(section: Section, base: Path, name: str) -> SinkSettings:
    section_name = next((parser for parser in _PARSERS if section.has(parser)), next(iter(_PARSERS)))
    settings = section.required_section(section_name)
    section.done()
    try:
        sink = _PARSERS[section_name](settings, base, name)
    except InvalidInput as error:
        if error.message.startswith(f"Sink {name}:"):
            raise settings.fault(error.message.rstrip("."), remedy=error.remedy) from None
        raise
    settings.done()
    return sink
