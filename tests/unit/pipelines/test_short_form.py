"""A topic and a table as a pipeline: the YAML of two lines, the full form that it stands for, and its schema."""

import threading
from collections.abc import Mapping
from uuid import UUID

import pytest

from penstock.cli.streams.topic_schema import environment_connection, find_schema, full_form, pipeline_of, schema_of
from penstock.errors import DataProblem, InvalidInput, NotFound
from penstock.pipelines import KafkaSource, ParquetSink, Pipeline, parse_pipeline
from penstock.pipelines.short import Connection, ShortPipeline, full_text, parse_short
from penstock.schema.version import SchemaVersion
from penstock.serdes.frame import encode

ENVIRONMENT = {"PENSTOCK_BROKERS": "b:1", "PENSTOCK_BUCKET": "lake"}
PLAIN = Connection(brokers="${PENSTOCK_BROKERS}", security_protocol="PLAINTEXT")


def full(short: ShortPipeline, environment: Mapping[str, str] = ENVIRONMENT, connection: Connection = PLAIN) -> Pipeline:
    text = full_text(short, connection, schema="shop/order events")
    return parse_pipeline(text, environment=environment)


def test_two_lines_are_a_pipeline() -> None:
    short = parse_short("topic: orders\ntable: shop.orders\n", origin="p.yaml", environment={})
    assert short == ShortPipeline(topic="orders", table="shop.orders")
    pipeline = full(short)
    assert (pipeline.name, pipeline.source.topic) == ("shop.orders", "orders")
    assert (pipeline.decode.registry, pipeline.decode.schema) == ("shop", "order events")
    (sink,) = pipeline.sinks
    assert isinstance(sink, ParquetSink)
    assert sink.catalog is not None
    assert (sink.catalog.name, sink.catalog.create) == ("shop.orders", True)
    assert sink.partition_by == ("ingested_hour",)
    assert pipeline.transform.columns == {"ingested_hour": "date_format(_timestamp, 'yyyy-MM-dd-HH')"}
    assert pipeline.locations == {
        "sink": "s3://lake/shop/orders",
        "dead_letters": "s3://lake/shop/orders_dead",
        "accounts": "s3://lake/shop/orders_accounts",
        "checkpoint": "s3://lake/_checkpoints/shop/orders",
    }


def test_partitions_location_and_login_are_what_was_given() -> None:
    text = "topic: orders\ntable: shop.orders\npartition_by: [country]\nlocation: s3://other/tables\nschema: shop/order\n"
    short = parse_short(text, origin="p.yaml", environment={})
    assert short is not None
    assert short.schema == "shop/order"
    login = Connection(
        brokers="${PENSTOCK_BROKERS}", security_protocol="SASL_SSL", secret="${SECRET}", truststore="${PENSTOCK_CA_FILE}"
    )
    pipeline = full(short, {"PENSTOCK_BROKERS": "b:1", "SECRET": "s", "PENSTOCK_CA_FILE": "/ca.pem"}, login)
    (sink,) = pipeline.file_sinks
    assert (sink.location, sink.partition_by) == ("s3://other/tables/shop/orders", ("country",))
    assert pipeline.transform.columns == {}
    source = pipeline.source
    assert isinstance(source, KafkaSource)
    assert (source.security_protocol, source.secret, source.truststore) == ("SASL_SSL", "s", "/ca.pem")


def test_no_partitions_is_an_empty_list() -> None:
    short = parse_short("topic: orders\ntable: shop.orders\npartition_by: []\n", origin="p.yaml", environment={})
    assert short is not None
    assert full(short).file_sinks[0].partition_by == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("table: shop.orders", r"p\.yaml:1: 'topic' is missing"),
        ("topic: orders\ntable: orders", r"p\.yaml:1: 'orders' does not name a table"),
        ("topic: [a, b]\ntable: shop.orders", r"'topic' must be one value"),
        ("topic: 'a-.*'\ntable: shop.orders", r"'a-\.\*' does not name a topic"),
        ("topic: a\ntable: shop.orders\nschema: s", r"'s' does not name a schema"),
        ("topic: a\ntable: shop.orders\npartition: x", r"p\.yaml:3: 'partition' is not known here"),
    ],
)
def test_mistakes_in_the_short_form(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        parse_short(text, origin="p.yaml", environment={})


def test_a_full_form_is_not_short_and_the_parser_names_the_short_one() -> None:
    assert parse_short("name: a\nsource: {}\n", origin="p.yaml", environment={}) is None
    with pytest.raises(InvalidInput, match=r"p\.yaml:2: this is the short form .* 'penstock init' writes the full form"):
        parse_pipeline("topic: orders\ntable: shop.orders\n", origin="p.yaml", environment={})


class Registry:
    """Versions by id; all others are unknown."""

    def __init__(self, schemas: Mapping[int, str]) -> None:
        self._schemas = schemas

    def version(self, version_id: UUID | str) -> SchemaVersion:
        assert isinstance(version_id, UUID)
        if version_id.int not in self._schemas:
            raise NotFound("There is no such version.")
        registry, _, name = self._schemas[version_id.int].partition("/")
        return SchemaVersion(
            id=version_id, schema_arn="arn", registry_name=registry, schema_name=name, number=1, definition="{}",
            data_format="AVRO",
        )  # fmt: skip


KNOWN = Registry({1: "shop/order", 2: "shop/order", 3: "shop/return"})


def framed(*ids: int) -> list[bytes]:
    return [encode(UUID(int=id_), b"payload") for id_ in ids]


def test_the_schema_is_that_of_the_frames() -> None:
    assert find_schema("orders", [*framed(1, 2, 2, 9), b"plain"], KNOWN) == "shop/order"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (framed(1, 1, 3), r"Topic orders has records of 2 schemas: shop/order \(2\), shop/return \(1\)"),
        (framed(9), r"of 1 records the registry does not know version 00000000-0000-0000-0000-000000000009"),
        ([b"{}", b"{}"], r"of 2 records none has a frame"),
    ],
)
def test_a_schema_that_is_not_clear_is_refused(values: list[bytes], message: str) -> None:
    with pytest.raises(DataProblem, match=message):
        find_schema("orders", values, KNOWN)


class Waits(threading.Event):
    """Counts the pauses, and stops after ``limit``."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.pauses, self._limit = 0, limit

    def wait(self, timeout: float | None = None) -> bool:
        self.pauses += 1
        return self.pauses > self._limit


def test_an_empty_topic_waits_for_its_first_record_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    samples = iter([[], [], framed(1)])
    waits = Waits(5)
    assert schema_of("orders", lambda: next(samples), KNOWN, waits=waits) == "shop/order"
    assert waits.pauses == 2
    assert capsys.readouterr().out == "Topic orders has no records yet: waiting for the first one.\n"
    with pytest.raises(DataProblem, match="had no record until the stop"):
        schema_of("orders", list, KNOWN, waits=Waits(3))
    with pytest.raises(DataProblem, match="Topic orders has no records, so its schema is not known"):
        schema_of("orders", list, KNOWN, waits=None)


def test_the_environment_names_broker_and_bucket() -> None:
    declared, broker = environment_connection({"PENSTOCK_BROKERS": "127.0.0.1:1", "PENSTOCK_CA_FILE": __file__})
    assert (declared.brokers, declared.security_protocol, declared.truststore) == (
        "${PENSTOCK_BROKERS}", "SSL", "${PENSTOCK_CA_FILE}",
    )  # fmt: skip
    assert broker.brokers == "127.0.0.1:1"
    with pytest.raises(InvalidInput, match="PENSTOCK_BROKERS is not set"):
        environment_connection({})
    short = ShortPipeline(topic="orders", table="shop.orders", schema="shop/order")
    with pytest.raises(InvalidInput, match="PENSTOCK_BUCKET is not set"):
        full_form(short, {"PENSTOCK_BROKERS": "b:1"}, waits=None)
    assert pipeline_of(None, short, ENVIRONMENT, waits=None).origin == "--topic orders --table shop.orders"
    with pytest.raises(InvalidInput, match="No pipeline is named"):
        pipeline_of(None, None, {}, waits=None)
