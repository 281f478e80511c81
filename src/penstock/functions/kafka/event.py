"""Lambda's Kafka events, of Amazon MSK and of self-managed clusters.

Format: https://docs.aws.amazon.com/lambda/latest/dg/with-msk.html and with-kafka.html beside it; with a schema registry
services-consume-kafka-events.html; of on-failure records kafka-on-failure.html and kafka-on-failure-destination.html.
Records are grouped by ``topic-partition``; keys and values are base64; header values are arrays of signed bytes, as Java
has them.
"""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.functions.events import compact_json, payload_view, time_text
from penstock.functions.records import Record

__all__ = ["KafkaOrigin", "Schema", "kafka_record", "partition_name"]

TIMESTAMP_TYPES = ("NO_TIMESTAMP_TYPE", "CREATE_TIME", "LOG_APPEND_TIME")  # by librdkafka's number of the type


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaOrigin:
    """The cluster as Kafka events describe it: ``arn`` for Amazon MSK, None for a self-managed one."""

    bootstrap_servers: str
    arn: str | None = None

    @property
    def envelope(self) -> dict[str, Any]:
        """Return the event without its records."""
        if self.arn is None:
            return {"eventSource": "SelfManagedKafka", "bootstrapServers": self.bootstrap_servers}
        return {"eventSource": "aws:kafka", "eventSourceArn": self.arn, "bootstrapServers": self.bootstrap_servers}

    def event(self, records: Sequence[Record]) -> bytes:
        """Return the event, UTF-8 JSON, with partitions in the order of their first records."""
        body = b",".join(
            compact_json(name) + b":[" + b",".join(record.entry for record in group) + b"]"
            for name, group in _by_partition(records).items()
        )
        return compact_json(self.envelope)[:-1] + b',"records":{' + body + b"}}"

    def batch_info(self, records: Sequence[Record], *, single: bool) -> dict[str, Any]:
        """Return ``KafkaBatchInfo``: the range of each partition, or with ``single`` the one record."""
        info: dict[str, Any] = {
            "batchSize": len(records),
            **({"eventSourceArn": self.arn} if self.arn else {}),
            "bootstrapServers": self.bootstrap_servers,
            "payloadSize": len(self.event(records)),
        }
        if single:
            info["recordInfo"] = {"offset": str(records[0].position), "timestamp": time_text(records[0].timestamp_ms)}
        else:
            info["recordsInfo"] = {
                name: {
                    "firstRecordOffset": str(group[0].position),
                    "lastRecordOffset": str(group[-1].position),
                    "firstRecordTimestamp": time_text(group[0].timestamp_ms),
                    "lastRecordTimestamp": time_text(group[-1].timestamp_ms),
                }
                for name, group in _by_partition(records).items()
            }
        return {"KafkaBatchInfo": info}

    def object_prefix(self, records: Sequence[Record]) -> str:  # noqa: ARG002 - the partitions are in the document
        """Return an empty prefix: a batch may have several partitions."""
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """The schema of a key or value in an event: AVRO, JSON or PROTOBUF, and the version's id."""

    data_format: str
    schema_id: str

    @property
    def entry(self) -> dict[str, str]:
        """Return the metadata in a record."""
        return {"dataFormat": self.data_format, "schemaId": self.schema_id}


def partition_name(topic: str, partition: int) -> str:
    """Return the name of a partition in events and in reports of failures."""
    return f"{topic}-{partition}"


def kafka_record(
    *,
    topic: str,
    partition: int,
    offset: int,
    timestamp_ms: int,
    timestamp_type: str,
    key: bytes | None,
    value: bytes | None,
    headers: Sequence[tuple[str, bytes | None]] = (),
    key_schema: Schema | None = None,
    value_schema: Schema | None = None,
    key_view: Any = None,
    value_view: Any = None,
) -> Record:
    """Return a record with its entry in the event. Without a key it has no ``key``; a tombstone's ``value`` is null.

    ``key_view`` and ``value_view`` are the decoded key and value for filters; None: the bytes, as JSON or text.
    """
    entry: dict[str, Any] = {
        "topic": topic,
        "partition": partition,
        "offset": offset,
        "timestamp": timestamp_ms,
        "timestampType": timestamp_type,
        "key": None if key is None else b64encode(key).decode(),
        "value": None if value is None else b64encode(value).decode(),
        "headers": [{name: _signed(data or b"")} for name, data in headers],
    }
    if key is None:
        del entry["key"]
    if key_schema is not None:
        entry["keySchemaMetadata"] = key_schema.entry
    if value_schema is not None:
        entry["valueSchemaMetadata"] = value_schema.entry
    return Record(
        partition=partition_name(topic, partition),
        position=offset,
        timestamp_ms=timestamp_ms,
        key=key,
        entry=compact_json(entry),
        view={**entry, **_view("key", key, key_view), **_view("value", value, value_view)},
    )


def _by_partition(records: Sequence[Record]) -> dict[str, list[Record]]:
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(record.partition, []).append(record)
    return groups


def _view(name: str, data: bytes | None, view: Any) -> dict[str, Any]:
    if data is None:
        return {}
    return {name: payload_view(data) if view is None else view}


def _signed(data: bytes) -> list[int]:
    return [byte - 256 if byte > 127 else byte for byte in data]
