"""Pipelines from YAML: each section is read once; the option names of Glue and Spark are accepted."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from penstock.errors import InvalidInput
from penstock.pipelines.model import (
    MAX_BRANCHES,
    CatalogTarget,
    DeadLetters,
    Decode,
    Drift,
    KafkaSource,
    ParquetSink,
    Pipeline,
    Policy,
    SecurityProtocol,
    Sink,
    Transform,
    Trigger,
)
from penstock.settings.document import Section, load_document, read_text

__all__ = ["parse_pipeline", "read_pipeline"]

_PROTOCOLS: tuple[SecurityProtocol, ...] = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_POLICIES: tuple[Policy, ...] = ("fail", "warn", "ignore")


def read_pipeline(path: Path, environment: Mapping[str, str] | None = None) -> Pipeline:
    """Return the pipeline that the YAML file ``path`` declares.

    ``environment`` has the values of ``${NAME}``; None is this process's. Raises :class:`InvalidInput` with file and line.
    """
    text = read_text(path, "pipeline")
    return parse_pipeline(
        text, origin=str(path), environment=os.environ if environment is None else environment, folder=path.parent
    )


def parse_pipeline(
    text: str, *, origin: str = "<text>", environment: Mapping[str, str], folder: Path | None = None
) -> Pipeline:
    """Return the pipeline in ``text``; relative locations are below ``folder`` (None: the working directory)."""
    top = load_document(text, origin=origin, environment=environment)
    base = (folder or Path()).absolute()
    name = top.required("name")
    source = _source(top.required_section("source"))
    decode = _decode(top.required_section("decode"))
    transform = _transform(top.section("transform"))
    sink = _sink(top.required_section("sink"), base)
    dead_letters = _dead_letters(top.required_section("dead_letters", "deadLetters"), base)
    trigger = _trigger(top)
    checkpoint = _location(top, base, "checkpoint", "checkpointLocation", "checkpoint_location")
    retries = top.integer("batchMaxRetries", "batch_max_retries", maximum=100)
    drift = _drift(top.section("drift"))
    top.done()
    try:
        return Pipeline(
            name=name,
            source=source,
            decode=decode,
            transform=transform,
            sink=sink,
            dead_letters=dead_letters,
            trigger=trigger,
            checkpoint=checkpoint,
            batch_max_retries=3 if retries is None else retries,
            drift=drift,
            origin=origin,
        )
    except InvalidInput as error:
        raise InvalidInput(f"{origin}: {error.message}", remedy=error.remedy) from None


def _location(section: Section, base: Path, *names: str) -> str:
    value = section.required(*names)
    if "://" in value:
        if not value.startswith(("s3://", "s3a://", "file://", "hdfs://")):
            raise section.fault(
                f"'{value}' has an unsupported scheme", key=names[0], remedy="Use s3://, s3a://, hdfs:// or a path."
            )
        if any(part == ".." for part in value.split("/")):
            raise section.fault(f"'{value}' has a '..' in it", key=names[0])
        return value.rstrip("/")
    return str((base / value).absolute())


def _source(section: Section) -> KafkaSource:
    kafka = section.required_section("kafka")
    section.done()
    starting = kafka.text("startingOffsets", "starting_offsets") or "earliest"
    if starting not in {"earliest", "latest"} and not starting.startswith("{"):
        raise kafka.fault(
            f"'startingOffsets' is '{starting}'",
            key="startingOffsets",
            remedy="Use earliest, latest or a JSON object of offsets.",
        )
    options = kafka.mapping("options")
    for option in options:
        if not option.startswith("kafka.") and option not in {
            "includeHeaders",
            "groupIdPrefix",
            "minOffsetsPerTrigger",
            "maxTriggerDelay",
        }:
            raise kafka.fault(
                f"option '{option}' is not one of Kafka's", key="options", remedy="Its name must begin with 'kafka.'."
            )
    arguments = {
        "brokers": kafka.required("brokers", "bootstrap.servers", "kafka.bootstrap.servers"),
        "topic": kafka.required("topic", "topicName", "subscribe"),
    }
    result = {
        "security_protocol": kafka.choice(_PROTOCOLS, "security_protocol", "security.protocol", "kafka.security.protocol")
        or "SASL_SSL",
        "sasl_mechanism": kafka.choice(("SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"), "sasl_mechanism", "sasl.mechanism")
        or "SCRAM-SHA-512",
        "secret": kafka.text("secret", "secretArn", "secretId", "secret_id"),
        "username": kafka.text("username"),
        "password": kafka.text("password"),
        "truststore": kafka.text("truststore"),
        "truststore_password": kafka.text("truststore_password"),
        "max_offsets_per_trigger": kafka.integer(
            "maxOffsetsPerTrigger", "max_offsets_per_trigger", minimum=1, maximum=2**53
        ),
        "min_partitions": kafka.integer("minPartitions", "min_partitions", minimum=1, maximum=10_000),
        "fail_on_data_loss": _default(kafka.boolean("failOnDataLoss", "fail_on_data_loss"), True),
    }
    kafka.done()
    try:
        return KafkaSource(**arguments, **result, starting_offsets=starting, options=options)  # type: ignore[arg-type]
    except InvalidInput as error:
        raise kafka.fault(error.message.rstrip("."), remedy=error.remedy) from None


def _default(value: bool | None, default: bool) -> bool:
    return default if value is None else value


def _decode(section: Section) -> Decode:
    registry, schema = section.required("registry", "registryName"), section.required("schema", "schemaName")
    reader_text = section.text("reader") or "latest"
    reader = None if reader_text == "latest" else section.integer("reader", minimum=1, maximum=100_000)
    branches = section.integer("max_branches", minimum=1, maximum=MAX_BRANCHES) or MAX_BRANCHES
    tombstones = section.choice(("skip", "dead-letter"), "tombstones") or "skip"
    section.done()
    return Decode(registry=registry, schema=schema, reader=reader, max_branches=branches, tombstones=tombstones)  # type: ignore[arg-type]


def _transform(section: Section | None) -> Transform:
    if section is None:
        return Transform()
    result = Transform(sql=section.text("sql"), columns=section.mapping("columns"))
    section.done()
    return result


def _catalog(section: Section | None) -> CatalogTarget | None:
    if section is None:
        return None
    result = CatalogTarget(
        database=section.required("database", "databaseName"),
        table=section.required("table", "tableName"),
        create=_default(section.boolean("create", "enableUpdateCatalog"), False),
    )
    section.done()
    return result


def _sink(section: Section, base: Path) -> Sink:
    kind = next((name for name in _SINKS if section.has(name)), next(iter(_SINKS)))
    settings = section.required_section(kind)
    section.done()
    sink = _SINKS[kind](settings, base)
    settings.done()
    return sink


def _parquet_sink(parquet: Section, base: Path) -> ParquetSink:
    return ParquetSink(
        location=_location(parquet, base, "location", "path"),
        partition_by=parquet.texts("partition_by", "partitionKeys", "partitionBy"),
        catalog=_catalog(parquet.section("catalog")),
        max_records_per_file=parquet.integer("max_records_per_file", "maxRecordsPerFile", minimum=1) or 5_000_000,
        rows_per_task=parquet.integer("rows_per_task", minimum=1) or 50_000,
        compression=parquet.choice(("snappy", "zstd", "gzip", "none"), "compression") or "snappy",
    )


_SINKS: Mapping[str, Callable[[Section, Path], Sink]] = {"parquet": _parquet_sink}
"""By the name of their section below ``sink``."""


def _dead_letters(section: Section, base: Path) -> DeadLetters:
    result = DeadLetters(location=_location(section, base, "location", "path"), catalog=_catalog(section.section("catalog")))
    section.done()
    return result


def _trigger(top: Section) -> Trigger:
    window = top.text("windowSize", "window_size")
    section = top.section("trigger")
    if section is None:
        return Trigger() if window is None else Trigger(interval=window)
    if window is not None:
        raise top.fault("'windowSize' and 'trigger' mean the same", key="windowSize", remedy="Keep one of them.")
    interval = section.text("processingTime", "processing_time")
    once = [bool(section.boolean("availableNow", "available_now")), bool(section.boolean("once"))]
    section.done()
    if interval is not None and any(once):
        raise section.fault("a trigger is either processingTime or availableNow")
    if any(once):
        return Trigger(kind="available_now")
    return Trigger() if interval is None else Trigger(interval=interval)


def _drift(section: Section | None) -> Drift:
    if section is None:
        return Drift()
    threshold = section.fraction("threshold", "null_jump_threshold")
    result = Drift(
        on_missing_field=section.choice(("fail", "warn"), "on_missing_field") or "fail",
        on_null_jump=section.choice(_POLICIES, "on_null_jump") or "warn",
        threshold=Drift().threshold if threshold is None else threshold,
        min_rows=section.integer("min_rows", minimum=1) or Drift().min_rows,
    )
    section.done()
    return result
