"""The producer against a real broker: everything arrives, once and in order; failures are reported in bounded time."""

import json
import time
from collections.abc import Iterator
from uuid import UUID, uuid4

import pytest
from confluent_kafka import Consumer, Message, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.client.broker import BrokerSettings
from penstock.client.secrets import BrokerCredentials
from penstock.errors import AccessDenied, EnvironmentProblem, InvalidInput
from penstock.local.broker import Broker
from penstock.local.processes.ports import free_ports
from penstock.produce.producer import Producer
from penstock.produce.run import send_all
from penstock.schema.version import SchemaVersion
from penstock.serdes.codec import MessageReader
from penstock.serdes.errors import MissingField
from penstock.serdes.frame import Compression

pytestmark = pytest.mark.jvm


def version(number: int, *extra: str) -> SchemaVersion:
    fields = [{"name": "id", "type": "long"}] + [
        {"name": name, "type": ["null", "string"], "default": None} for name in extra
    ]
    return SchemaVersion(
        id=uuid4(),
        schema_arn="arn:aws:glue:us-east-1:000000000000:schema/r/s",
        registry_name="r",
        schema_name="s",
        number=number,
        definition=json.dumps({"type": "record", "name": "S", "fields": fields}),
        data_format="AVRO",
    )


class Versions:
    """A source of the given versions."""

    def __init__(self, *known: SchemaVersion) -> None:
        self._known = {one.id: one for one in known}

    def version(self, version_id: UUID) -> SchemaVersion:
        return self._known[version_id]

    def latest(self, registry: str, schema: str) -> SchemaVersion:
        return next(reversed(self._known.values()))


@pytest.fixture
def settings(broker: Broker) -> BrokerSettings:
    return BrokerSettings(
        brokers=broker.bootstrap,
        credentials=BrokerCredentials(username=broker.username, password=broker.password),
        timeout_seconds=20,
    )


@pytest.fixture
def topic(broker: Broker) -> str:
    name = f"t-{uuid4().hex[:10]}"
    admin = AdminClient(broker.client_settings)
    made = admin.create_topics([NewTopic(name, num_partitions=1, replication_factor=1)])
    made[name].result(30)
    return name


def consumed(broker: Broker, topic: str, count: int) -> Iterator[Message]:
    consumer = Consumer({**broker.client_settings, "group.id": uuid4().hex})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        deadline = time.monotonic() + 60
        while count and time.monotonic() < deadline:
            for message in consumer.consume(1000, 1.0):
                assert message.error() is None
                count -= 1
                yield message
        assert count == 0
    finally:
        consumer.close()


@pytest.mark.parametrize("compression", list(Compression))
def test_versions_switch_between_records(
    broker: Broker, settings: BrokerSettings, topic: str, compression: Compression
) -> None:
    first, second = version(1), version(2, "tail")
    producer = Producer(settings, topic, first, compression=compression)
    for number in range(1000):
        if number % 2:
            producer.send({"id": number, "tail": "N"}, key=str(number), schema_version=second)
        else:
            producer.send({"id": number})
    producer.send(None, key="gone")
    producer.send_raw(b"\x00damaged")
    report = producer.flush()
    assert (report.produced, report.acknowledged, report.failed, report.complete) == (1002, 1002, 0, True)

    messages = list(consumed(broker, topic, 1002))
    reader = MessageReader(Versions(first, second))
    values = [reader.read(message.value()) for message in messages[:1001]]
    assert values[:1000] == [{"id": n, "tail": "N"} if n % 2 else {"id": n} for n in range(1000)]
    assert (messages[1000].value(), messages[1000].key()) == (None, b"gone")
    assert messages[1001].value() == b"\x00damaged"
    assert [message.key() for message in messages[:4]] == [None, b"1", None, b"3"]


def test_a_full_queue_pushes_back_and_loses_nothing(broker: Broker, settings: BrokerSettings, topic: str) -> None:
    small = BrokerSettings(
        brokers=settings.brokers,
        credentials=settings.credentials,
        timeout_seconds=20,
        extra={"queue.buffering.max.messages": 10, "linger.ms": 0},
    )
    report = send_all(Producer(small, topic, version(1)), ({"id": number} for number in range(3000)), key_field="id")
    assert (report.produced, report.acknowledged) == (3000, 3000)
    assert [message.key() for message in consumed(broker, topic, 3000)] == [str(n).encode() for n in range(3000)]


def test_a_record_that_does_not_fit_is_not_sent(settings: BrokerSettings, topic: str) -> None:
    producer = Producer(settings, topic, version(1))
    producer.send({"id": 1})
    with pytest.raises(MissingField, match=rf"S.id is missing.*topic {topic}"):
        producer.send({})
    assert producer.flush().acknowledged == 1


def test_the_rate_is_kept(settings: BrokerSettings, topic: str) -> None:
    reports: list[int] = []
    report = send_all(
        Producer(settings, topic, version(1)),
        ({"id": number} for number in range(100)),
        rate=50,
        on_progress=lambda progress: reports.append(progress.produced),
    )
    # The schedule is a lower bound: 100 records at 50 a second cannot be done before 2 s are over.
    assert report.seconds >= 1.9
    assert len(reports) >= 3


def test_records_too_large_for_the_topic_are_counted_as_failed(settings: BrokerSettings, topic: str) -> None:
    loose = BrokerSettings(
        brokers=settings.brokers, credentials=settings.credentials, extra={"message.max.bytes": 8_000_000}
    )
    producer = Producer(loose, topic, version(1))
    producer.send({"id": 1})
    producer.flush()
    producer.send_raw(bytes(3_000_000))
    report = producer.flush()
    assert (report.acknowledged, report.failed, report.complete) == (1, 1, False)
    assert "too large" in report.errors[0].lower()


def test_wrong_password(settings: BrokerSettings, topic: str) -> None:
    wrong = BrokerSettings(
        brokers=settings.brokers, credentials=BrokerCredentials(username="penstock", password="no"), timeout_seconds=20
    )
    started = time.monotonic()
    with pytest.raises(AccessDenied, match=r"refused the login.*Check user, password"):
        Producer(wrong, topic, version(1))
    assert time.monotonic() - started < 20


def test_no_broker() -> None:
    port = free_ports(1)[0]
    with pytest.raises(EnvironmentProblem, match=f"127.0.0.1:{port} does not answer"):
        Producer(BrokerSettings(brokers=f"127.0.0.1:{port}", timeout_seconds=2), "t", version(1))


def test_a_protocol_that_the_broker_does_not_speak_ends(broker: Broker) -> None:
    with pytest.raises(EnvironmentProblem, match="does not answer"):
        Producer(BrokerSettings(brokers=broker.bootstrap, security="PLAINTEXT", timeout_seconds=4), "t", version(1))


def test_an_invalid_topic_name(settings: BrokerSettings) -> None:
    with pytest.raises(InvalidInput, match="not a valid topic name"):
        Producer(settings, "no/slash", version(1))
