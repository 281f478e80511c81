"""``penstock functions run`` as a child process, on a document that the test gives."""

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.local.broker import Broker
from penstock.testing.server import RunningServer

__all__ = ["FunctionRun", "committed", "fill", "make_topic", "read_topic"]

HERE = Path(__file__).parent


class FunctionRun:
    """A function in ``folder`` (handler recorder.handler) over one source; start, wait, stop."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.environment = dict(environment)
        self.document: dict[str, Any] = {"FunctionName": "recorder", "Handler": "recorder.handler", "Timeout": 20}
        self.out = folder / "out"
        self.out.mkdir()
        self._process: subprocess.Popen[bytes] | None = None
        shutil.copy(HERE / "recorder.py", folder)

    def source(self, **mapping: Any) -> None:
        """Read one more source."""
        self.document.setdefault("EventSourceMappings", []).append({"StartingPosition": "TRIM_HORIZON", **mapping})

    def start(self, *arguments: str, **variables: str) -> None:
        """Run the command; ``variables`` are the function's environment."""
        variables = {"OUT": str(self.out), **variables}
        path = self.folder / "function.json"
        path.write_text(json.dumps({**self.document, "Environment": {"Variables": variables}}))
        command = [sys.executable, "-m", "penstock", "functions", "run", str(path), "--state", str(self.folder / "state")]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--metrics", str(self.folder / "metrics.jsonl"), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self.environment,
            )

    @property
    def process(self) -> "subprocess.Popen[bytes]":
        assert self._process is not None
        return self._process

    @property
    def log(self) -> Path:
        """What command and function wrote."""
        return self.folder / "log"

    def wait(self, seconds: float = 240) -> int:
        """The exit status once it has ended."""
        return self.process.wait(seconds)

    def stop(self, how: int = signal.SIGTERM) -> int:
        """Signal, and wait for the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(60)

    def kill_left(self) -> None:
        """End what a failed test has left."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def lines(self, name: str = "done") -> list[dict[str, Any]]:
        """What the function noted, in order."""
        path = self.out / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def done(self, partition: str | None = None) -> list[str]:
        """The values that the function did."""
        return [line["v"] for line in self.lines() if partition in {None, line["p"]}]

    def counts(self) -> dict[str, int]:
        """The last line of the metrics."""
        return dict(json.loads((self.folder / "metrics.jsonl").read_text().splitlines()[-1]))


def kafka_access(server: RunningServer, broker: Broker) -> dict[str, Any]:
    """A mapping's source and login, the latter in a secret of ``server``."""
    client = server.client("secretsmanager")
    name = "AmazonMSK_functions"
    text = json.dumps({"username": broker.username, "password": broker.password})
    try:
        client.create_secret(Name=name, SecretString=text)
    except client.exceptions.ResourceExistsException:
        client.put_secret_value(SecretId=name, SecretString=text)
    return {
        "SelfManagedEventSource": {"Endpoints": {"KAFKA_BOOTSTRAP_SERVERS": [broker.bootstrap]}},
        "SourceAccessConfigurations": [{"Type": "SASL_SCRAM_512_AUTH", "URI": name}],
    }


def make_topic(broker: Broker, name: str, partitions: int = 1) -> None:
    """A topic that is there when this returns."""
    admin = AdminClient(broker.client_settings)
    admin.create_topics([NewTopic(name, partitions, 1)])[name].result(30)


def fill(broker: Broker, topic: str, values: list[str], partition: int = -1) -> None:
    """Write values, their own keys; all are acknowledged when this returns."""
    producer = Producer(broker.client_settings)
    failed: list[object] = []
    for value in values:
        producer.produce(
            topic, value, value, partition=partition, on_delivery=lambda error, _: failed.append(error) if error else None
        )
        producer.poll(0)
    assert producer.flush(30) == 0
    assert not failed


def committed(broker: Broker, group: str, topic: str, partitions: int) -> list[int]:
    """The group's offsets by partition."""
    consumer = Consumer({**broker.client_settings, "group.id": group})
    try:
        topic_partitions = consumer.committed([TopicPartition(topic, index) for index in range(partitions)], timeout=120)
        return [topic_partition.offset for topic_partition in topic_partitions]
    finally:
        consumer.close()


def read_topic(broker: Broker, topic: str, count: int) -> list[Any]:
    """The first ``count`` messages of a topic with one partition."""
    consumer = Consumer({**broker.client_settings, "group.id": "reader", "auto.offset.reset": "earliest"})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        return consumer.consume(count, 30)
    finally:
        consumer.close()
