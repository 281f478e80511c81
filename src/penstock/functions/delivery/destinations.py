"""On-failure destinations of discarded records: a Kafka topic, an S3 prefix, a queue, a notification topic, or a folder.

Each ``put`` returns when the records are stored, and raises :class:`DestinationUnavailable` if they are not. The caller does
not commit them before.
"""

import json
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
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
from penstock.names import parse_arn

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
        bucket, _, prefix = text.removeprefix("s3://").partition("/")
        return _Bucket(bucket, prefix, documents)
    arn = parse_arn(text)
    if arn.service == "s3":
        bucket, _, prefix = arn.resource.partition("/")
        return _Bucket(bucket, prefix, documents)
    return _Queue(text, documents) if arn.service == "sqs" else _Topic(text, documents)


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
    """Sends one request to an AWS service per discard."""

    def __init__(self, service: str, region: str | None, documents: _Documents) -> None:
        self._client = open_client(service, region=region or None)
        self._documents = documents

    def put(self, discard: Discard) -> None:
        try:
            with translated_errors(self._client, self.what):
                self.send(discard)
        except PenstockError as error:
            raise DestinationUnavailable(
                f"{self.what} refused failed records: {error.message}", remedy=error.remedy
            ) from None

    @property
    def what(self) -> str:
        raise NotImplementedError

    def send(self, discard: Discard) -> None:
        raise NotImplementedError

    def close(self) -> None:
        self._client.close()


class _Bucket(_Service):
    def __init__(self, bucket: str, prefix: str, documents: _Documents) -> None:
        super().__init__("s3", None, documents)
        self._bucket = bucket
        self._prefix = f"{prefix.rstrip('/')}/" if prefix else ""

    @property
    def what(self) -> str:
        return f"Bucket {self._bucket}"

    def send(self, discard: Discard) -> None:
        self._client.put_object(
            Bucket=self._bucket,
            Key=self._prefix + self._documents.key(discard),
            Body=self._documents.with_event(discard).encode(),
            ContentType="application/json",
        )


class _Queue(_Service):
    def __init__(self, arn: str, documents: _Documents) -> None:
        parsed = parse_arn(arn)
        super().__init__("sqs", parsed.region, documents)
        self._name, self._owner = parsed.resource, parsed.account
        self._url: str | None = None

    @property
    def what(self) -> str:
        return f"Queue {self._name}"

    def send(self, discard: Discard) -> None:
        if self._url is None:
            self._url = self._client.get_queue_url(QueueName=self._name, QueueOwnerAWSAccountId=self._owner)["QueueUrl"]
        self._client.send_message(QueueUrl=self._url, MessageBody=self._documents.metadata(discard))


class _Topic(_Service):
    def __init__(self, arn: str, documents: _Documents) -> None:
        super().__init__("sns", parse_arn(arn).region, documents)
        self._arn = arn

    @property
    def what(self) -> str:
        return f"Topic {self._arn}"

    def send(self, discard: Discard) -> None:
        self._client.publish(TopicArn=self._arn, Message=self._documents.metadata(discard))
