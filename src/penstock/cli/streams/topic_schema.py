"""From a topic's name to a pipeline: the broker from the environment, the schema from the frames of its records."""

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

import click

from penstock.client.registry import RegistryClient
from penstock.client.secrets import broker_credentials
from penstock.errors import DataProblem, EnvironmentProblem, InvalidInput, NotFound, PenstockError
from penstock.pipelines import Pipeline, parse_pipeline
from penstock.pipelines.short import Connection, ShortPipeline, full_text, parse_short
from penstock.schema.version import SchemaVersion
from penstock.serdes.errors import SerdeError
from penstock.serdes.frame import split
from penstock.settings.document import read_text

if TYPE_CHECKING:
    from penstock.client.broker import BrokerSettings

__all__ = ["environment_connection", "find_schema", "full_form", "pipeline_of", "schema_of"]

_SAMPLE = 200  # records
_WAIT_SECONDS = 2.0

Sample = Callable[[], list[bytes]]


class VersionsById(Protocol):
    """What is asked of the registry."""

    def version(self, version_id: UUID | str) -> SchemaVersion:
        """Return the version with this id. Raises :class:`NotFound`."""
        ...


def environment_connection(environment: Mapping[str, str]) -> "tuple[Connection, BrokerSettings]":
    """Return the broker that the environment names: for the YAML, which keeps the variables' names, and for a client.

    Raises :class:`InvalidInput` if it names none, and :class:`EnvironmentProblem` without Kafka's client.
    """
    try:
        from penstock.client.broker import BrokerSettings  # noqa: PLC0415 - an extra that pipelines do without
    except ModuleNotFoundError:
        raise EnvironmentProblem(
            "Reading a topic's schema needs Kafka's client.", remedy="Install it with: pip install 'penstock[kafka]'"
        ) from None
    if not environment.get("PENSTOCK_BROKERS"):
        raise InvalidInput(
            "PENSTOCK_BROKERS is not set, which names the topic's brokers.",
            remedy="Set it (HOST:PORT[,…]), and PENSTOCK_SECRET_ID to the login's secret; 'penstock env' prints both.",
        )
    secret, authority = environment.get("PENSTOCK_SECRET_ID"), environment.get("PENSTOCK_CA_FILE")
    protocol: Any = environment.get("PENSTOCK_SECURITY_PROTOCOL") or None
    broker = BrokerSettings(
        brokers=environment["PENSTOCK_BROKERS"],
        credentials=broker_credentials(secret) if secret else None,
        security=protocol,
        ca_file=Path(authority) if authority else None,
    )
    declared = Connection(
        brokers="${PENSTOCK_BROKERS}",
        security_protocol=broker.protocol(),
        secret="${PENSTOCK_SECRET_ID}" if secret else None,
        truststore="${PENSTOCK_CA_FILE}" if authority else None,
    )
    return declared, broker


def schema_of(topic: str, sample: Sample, registry: VersionsById, *, waits: threading.Event | None) -> str:
    """Return REGISTRY/SCHEMA of a topic's records, by the version ids in their frames.

    ``sample`` returns some of the values; while it returns none, it is asked again until ``waits`` is set; None does not
    wait. Raises :class:`DataProblem` if the topic is empty, has no frame, or records of several schemas.
    """
    warned = False
    while not (values := sample()):
        if waits is None:
            raise DataProblem(
                f"Topic {topic} has no records, so its schema is not known.",
                remedy="Produce one first, or name the schema: --schema REGISTRY/SCHEMA.",
            )
        if not warned:
            click.echo(f"Topic {topic} has no records yet: waiting for the first one.")
            warned = True
        if waits.wait(_WAIT_SECONDS):
            raise DataProblem(f"Topic {topic} had no record until the stop.")
    return find_schema(topic, values, registry)


def find_schema(topic: str, values: list[bytes], registry: VersionsById) -> str:
    """Return REGISTRY/SCHEMA that the frames in ``values`` name."""
    ids: Counter[str] = Counter()
    unknown: Counter[UUID] = Counter()
    for value in values:
        try:
            version_id = split(value)[1]
        except SerdeError:
            continue
        try:
            version = registry.version(version_id)
        except NotFound:
            unknown[version_id] += 1
            continue
        ids[f"{version.registry_name}/{version.schema_name}"] += 1
    if len(ids) == 1:
        return next(iter(ids))
    if ids:
        counts = ", ".join(f"{name} ({count})" for name, count in ids.most_common())
        raise DataProblem(
            f"Topic {topic} has records of {len(ids)} schemas: {counts}.",
            remedy="Choose one: --schema REGISTRY/SCHEMA. Records of the others become dead letters.",
        )
    what = f"the registry does not know version {next(iter(unknown))}" if unknown else "none has a frame with a schema's id"
    raise DataProblem(
        f"The schema of topic {topic} was not found: of {len(values)} records {what}.",
        remedy="Check that the registry is that of the producers, or name the schema: --schema REGISTRY/SCHEMA.",
    )


def full_form(
    short: ShortPipeline,
    environment: Mapping[str, str],
    *,
    waits: threading.Event | None,
    json_schema: str | None = None,
    registry: VersionsById | None = None,
) -> str:
    """Return the YAML of a short form. The topic is read if the schema is not given; see :func:`schema_of`."""
    if short.location is None and not environment.get("PENSTOCK_BUCKET"):
        raise InvalidInput(
            "PENSTOCK_BUCKET is not set, which is where tables are written.",
            remedy="Set it to a bucket's name ('penstock env' prints it), or give --location s3://BUCKET/FOLDER.",
        )
    connection, broker = environment_connection(environment)
    schema = short.schema
    if schema is None:
        schema = schema_of(short.topic, _sampler(broker, short.topic), registry or RegistryClient(attempts=2), waits=waits)
    return full_text(short, connection, schema=schema, json_schema=json_schema)


def _sampler(broker: "BrokerSettings", topic: str) -> Sample:
    from penstock.produce.tail import last_records  # noqa: PLC0415 - needs Kafka's client, as above

    def sample() -> list[bytes]:
        try:
            values = [message.value() for message in last_records(broker, topic, _SAMPLE)]
        except PenstockError as error:
            # A topic that its first producer will make.
            if isinstance(error, EnvironmentProblem) and "does not exist" in error.message:
                return []
            raise
        return [bytes(value) for value in values if isinstance(value, bytes)]

    return sample


def pipeline_of(
    path: Path | None, short: ShortPipeline | None, environment: Mapping[str, str], *, waits: threading.Event | None
) -> Pipeline:
    """Return the pipeline of a YAML file, full or short, or of ``short``."""
    if path is not None and short is not None:
        raise InvalidInput("--topic and --table make a pipeline without a file.", remedy="Keep the options or the file.")
    if path is not None:
        text = read_text(path, "pipeline")
        short = parse_short(text, origin=str(path), environment=environment)
        if short is None:
            return parse_pipeline(text, origin=str(path), environment=environment, folder=path.parent)
    if short is None:
        raise InvalidInput("No pipeline is named.", remedy="Name its file, or give --topic and --table.")
    origin = str(path) if path is not None else f"--topic {short.topic} --table {short.table}"
    return parse_pipeline(full_form(short, environment, waits=waits), origin=origin, environment=environment)
