"""On-failure destinations of discarded records: a Kafka topic, an S3 prefix, a queue, a notification topic, or a folder.

Each ``put`` returns when the records are stored, and raises :class:`DestinationUnavailable` if they are not. The caller does
not commit them before.
"""

import json
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from penstock import durable
from penstock.client.connection import open_client, translated_errors
from penstock.errors import PenstockError
from penstock.functions.delivery.failures import failure_record
from penstock.functions.delivery.steps import Discard
from penstock.functions.errors import DestinationUnavailable
from penstock.functions.events import Origin
from penstock.names import Arn, parse_arn

__all__ = ["Destination", "open_destination"]

_SECONDS = 30.0  # in which the broker must acknowledge the records of one discard


class Destination(Protocol):
    """Stores discarded records."""

    def put(self, discard: Discard) -> None:
        """Store the records; raise :class:`DestinationUnavailable` if that fails."""
        ...

    def close(self) -> None:
        """Close connections."""
        ...


def open_destination(
    text: str, *, origin: Origin, function_arn: str, mapping_id: str, kafka: Mapping[str, Any] | None = None
) -> Destination:
    """Return the destination that a mapping names; ``kafka`` are librdkafka's settings to reach the source's cluster."""
    documents = _Documents(origin, function_arn, mapping_id)
    if text.startswith("kafka://"):
        return _KafkaTopic(text.removeprefix("kafka://"), documents, kafka or {})
    if text.startswith("file://"):
        return _Folder(Path(text.removeprefix("file://")), documents)
    if text.startswith("s3://"):
        return _bucket(text.removeprefix("s3://"), documents)
    arn = parse_arn(text)
    if arn.service == "s3":
        return _bucket(arn.resource, documents)
    return _queue(arn, documents) if arn.service == "sqs" else _topic(arn, documents)


class _Documents:
    """Writes the documents."""

    def __init__(self, origin: Origin, function_arn: str, mapping_id: str) -> None:
        self.origin = origin
        self.function_arn = function_arn
        self.mapping_id = mapping_id

    def metadata(self, discard: Discard) -> str:
        """Return the document of queues and notifications: the records' positions, without their contents."""
        return json.dumps(failure_record(discard, self.origin, self.function_arn))

    def with_event(self, discard: Discard) -> str:
        """Return the document with the whole event as text in ``payload``, as Lambda writes it to S3."""
        record = failure_record(discard, self.origin, self.function_arn)
        return json.dumps({**record, "payload": self.origin.event(discard.records).decode()})

    def key(self, discard: Discard) -> str:
        """Return the object's key in Lambda's layout."""
        now = datetime.now(UTC)
        prefix = self.origin.object_prefix(discard.records)
        return f"aws/lambda/{self.mapping_id}/{prefix}{now:%Y/%m/%d/%Y-%m-%dT%H.%M.%S}-{uuid.uuid4()}"


class _KafkaTopic:
    """Sends one message per record, with the record's key, and the record in its ``payload``."""

    def __init__(self, topic: str, documents: _Documents, config: Mapping[str, Any]) -> None:
        self._topic = topic
        self._documents = documents
        self._producer = Producer(
            {**config, "enable.idempotence": True, "acks": "all", "message.timeout.ms": int(_SECONDS * 1000), "log_level": 0}
        )

    def put(self, discard: Discard) -> None:
        failed: list[KafkaError] = []
        stored: list[Message] = []

        def report(error: KafkaError | None, message: Message) -> None:
            if error is None:
                stored.append(message)
            else:
                failed.append(error)

        try:
            for record in discard.records:
                one = Discard(
                    records=[record], condition=discard.condition, invokes=discard.invokes, failure=discard.failure
                )
                about = failure_record(one, self._documents.origin, self._documents.function_arn, single=True)
                payload = json.loads(self._documents.origin.event([record]))
                self._producer.produce(
                    self._topic, json.dumps({**about, "payload": payload}), record.key, on_delivery=report
                )
            self._producer.flush(_SECONDS * 1.5)
        except (KafkaException, BufferError) as error:
            raise DestinationUnavailable(f"Topic {self._topic} refused failed records: {error}.") from None
        if failed or len(stored) < len(discard.records):
            why = failed[0].str() if failed else "the broker did not acknowledge in time"
            raise DestinationUnavailable(
                f"Topic {self._topic} stored {len(stored)} of {len(discard.records)} failed records: {why}.",
                remedy="Check that the topic exists and accepts records of this size.",
            )

    def close(self) -> None:
        self._producer.flush(1.0)


class _Folder:
    """Writes one file per discard."""

    def __init__(self, folder: Path, documents: _Documents) -> None:
        self._folder = folder
        self._documents = documents

    def put(self, discard: Discard) -> None:
        path = self._folder / f"{self._documents.key(discard)}.json"
        try:
            durable.make_folder(path.parent)
            with durable.writing(path) as file:
                file.write(self._documents.with_event(discard).encode() + b"\n")
        except OSError as error:
            raise DestinationUnavailable(
                f"{path} cannot be written: {error.strerror}.", remedy="Check the folder and the disk's space."
            ) from None

    def close(self) -> None:
        pass


class _Service:
    """Sends one request to an AWS service per discard: ``send`` makes it; ``what`` names the target."""

    def __init__(self, what: str, client: Any, send: Callable[[Discard], object]) -> None:
        self._what = what
        self._client = client
        self._send = send

    def put(self, discard: Discard) -> None:
        try:
            with translated_errors(self._client, self._what):
                self._send(discard)
        except PenstockError as error:
            raise DestinationUnavailable(
                f"{self._what} refused failed records: {error.message}", remedy=error.remedy
            ) from None

    def close(self) -> None:
        self._client.close()


def _bucket(place: str, documents: _Documents) -> _Service:
    bucket, _, prefix = place.partition("/")
    folder = f"{prefix.rstrip('/')}/" if prefix else ""
    client = open_client("s3")

    def send(discard: Discard) -> None:
        key, body = folder + documents.key(discard), documents.with_event(discard).encode()
        client.put_object(Bucket=bucket, Key=key, Body=body, ContentType="application/json")

    return _Service(f"Bucket {bucket}", client, send)


def _queue(arn: Arn, documents: _Documents) -> _Service:
    client = open_client("sqs", region=arn.region or None)

    @cache
    def url() -> str:
        return str(client.get_queue_url(QueueName=arn.resource, QueueOwnerAWSAccountId=arn.account)["QueueUrl"])

    return _Service(
        f"Queue {arn.resource}",
        client,
        lambda discard: client.send_message(QueueUrl=url(), MessageBody=documents.metadata(discard)),
    )


def _topic(arn: Arn, documents: _Documents) -> _Service:
    client = open_client("sns", region=arn.region or None)
    return _Service(
        f"Topic {arn}", client, lambda discard: client.publish(TopicArn=str(arn), Message=documents.metadata(discard))
    )
