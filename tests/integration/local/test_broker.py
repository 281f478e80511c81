"""The real Kafka broker: who may log in, what survives a stop and a kill, what other users of the machine can see."""

import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import psutil
import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from penstock.errors import EnvironmentProblem, InvalidInput
from penstock.local.broker import Broker, client_settings
from penstock.local.processes.child import Child
from penstock.local.processes.ports import answers, free_ports
from penstock.testing.polling import eventually

pytestmark = pytest.mark.jvm
PASSWORD = "c0rrect-horse_battery"


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker that these tests may stop and kill; tests leave it running."""
    port, controller = free_ports(2)
    broker = Broker(
        folder=tmp_path_factory.mktemp("own") / "kafka", port=port, controller_port=controller, password=PASSWORD
    )
    with broker:
        yield broker


# An AdminClient that does not print refusals.
QUIET: dict[str, Any] = {"log_level": 0, "error_cb": lambda _: None}


def produce(broker: Broker, topic: str, *values: bytes) -> None:
    # Idempotent, so that a record sent again while the topic is being made does not come behind the next one.
    producer = Producer({**broker.client_settings, "enable.idempotence": True, "log_level": 0})
    refused: list[object] = []
    for value in values:
        producer.produce(topic, value, on_delivery=lambda error, _: refused.append(error) if error else None)
    assert producer.flush(60) == 0
    assert not refused


def consume(broker: Broker, topic: str, count: int) -> list[bytes]:
    consumer = Consumer({**broker.client_settings, "group.id": "reader", "auto.offset.reset": "earliest", "log_level": 0})
    consumer.subscribe([topic])
    try:
        datas: list[bytes] = []

        def enough() -> bool:
            datas.extend(m.value() or b"" for m in consumer.consume(count - len(datas), timeout=1) if m.error() is None)
            return len(datas) >= count

        eventually(enough, f"{count} records of {topic}", 60)
        return datas
    finally:
        consumer.close()


def child_of(broker: Broker) -> Child:
    assert broker._child is not None
    return broker._child


def java_pid(broker: Broker) -> int:
    [java] = psutil.Process(child_of(broker).leash_pid).children()
    return java.pid


def test_the_right_password_is_served_and_topics_appear_on_first_use(own: Broker) -> None:
    produce(own, "flights", b"1", b"2")
    assert consume(own, "flights", 2) == [b"1", b"2"]
    assert own.healthy()


@pytest.mark.parametrize(("username", "password"), [("penstock", "wrong"), ("nobody", PASSWORD)])
def test_a_wrong_password_is_refused(own: Broker, username: str, password: str) -> None:
    seen: list[KafkaError] = []
    settings = {**client_settings(own.bootstrap, username, password), "error_cb": seen.append, "log_level": 0}
    client = AdminClient(settings)
    with pytest.raises(KafkaException):
        client.list_topics(timeout=3)
    client.poll(0)
    assert KafkaError._AUTHENTICATION in {error.code() for error in seen}


def test_no_password_is_refused(own: Broker) -> None:
    client = AdminClient({**QUIET, "bootstrap.servers": own.bootstrap})
    with pytest.raises(KafkaException):
        client.list_topics(timeout=3)


def test_the_controller_wants_a_password_too(own: Broker) -> None:
    settings = client_settings(f"127.0.0.1:{own.controller_port}", own.username, own.password)
    client = AdminClient({**settings, **QUIET})
    with pytest.raises(KafkaException):
        client.list_topics(timeout=3)


def test_no_password_is_visible_to_other_users_of_the_machine(own: Broker) -> None:
    assert not any(PASSWORD in argument for argument in psutil.Process(java_pid(own)).cmdline())
    holders = [file for file in own.folder.iterdir() if file.is_file() and PASSWORD in file.read_text()]
    assert [file.name for file in holders] == ["server.properties"]
    assert [stat.S_IMODE(file.stat().st_mode) for file in holders] == [0o600]
    assert PASSWORD not in own.log.read_text()


def test_resumes_with_its_data_after_a_stop(own: Broker) -> None:
    produce(own, "kept", b"before")
    own.stop()
    assert not answers("127.0.0.1", own.port)
    own.start()
    produce(own, "kept", b"after")
    assert consume(own, "kept", 2) == [b"before", b"after"]


def test_resumes_with_its_data_after_a_kill(own: Broker) -> None:
    produce(own, "survivor", b"before")
    os.kill(java_pid(own), signal.SIGKILL)
    eventually(lambda: not child_of(own).running, "the leash notices")
    own.stop()
    own.start()
    assert consume(own, "survivor", 1) == [b"before"]


def test_data_made_with_another_password_is_a_clear_error(own: Broker) -> None:
    own.stop()
    stranger = Broker(
        folder=own.folder, port=own.port, controller_port=own.controller_port, password="another", settings=own.settings
    )
    try:
        with pytest.raises(
            EnvironmentProblem, match=r"refuses the user 'penstock': its data were created with another password"
        ):
            stranger.start()
    finally:
        own.start()


def test_an_interrupted_format_is_made_anew_whatever_the_cluster_id_begins_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In base64 these bytes begin with a dash, as one id in 64 does.
    monkeypatch.setattr("penstock.local.broker.uuid.uuid4", lambda: UUID(bytes=b"\xfb" * 16))
    port, controller = free_ports(2)
    broker = Broker(folder=tmp_path / "kafka", port=port, controller_port=controller, password=PASSWORD)
    (tmp_path / "kafka" / "data").mkdir(parents=True)
    (tmp_path / "kafka" / "data" / "meta.properties").write_text("half")
    with broker:
        assert broker.healthy()


@pytest.mark.parametrize("password", ['quo"te', "semi;colon", "new\nline", "", "p,ass]", "é"])
def test_a_password_that_kafka_would_read_as_syntax_is_refused(tmp_path: Path, password: str) -> None:
    with pytest.raises(InvalidInput, match="broker's password has an unsupported character"):
        Broker(folder=tmp_path, port=1, controller_port=2, password=password)
