"""Lambda's event of Kinesis Data Streams.

Formats, of on-failure records too: https://docs.aws.amazon.com/lambda/latest/dg/with-kinesis.html.
"""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.client.kinesis import StreamName
from penstock.functions.events import compact_json, payload_view, time_text
from penstock.functions.records import Record
from penstock.names import parse_arn

__all__ = ["KinesisOrigin", "kinesis_record"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KinesisOrigin:
    """The stream as Kinesis events describe it: its ARN, and the role of the function."""

    arn: str
    role: str

    @property
    def region(self) -> str:
        """The stream's region."""
        return parse_arn(self.arn).region

    @property
    def stream(self) -> StreamName:
        """The stream as requests name it."""
        return StreamName(parse_arn(self.arn).resource.removeprefix("stream/"), self.arn)

    def event(self, records: Sequence[Record]) -> bytes:
        """Return the event, UTF-8 JSON."""
        return b'{"Records":[' + b",".join(record.entry for record in records) + b"]}"

    def batch_info(self, records: Sequence[Record], *, single: bool) -> dict[str, Any]:  # noqa: ARG002 - one form for all
        """Return ``KinesisBatchInfo``: the range of the records' one shard."""
        first, last = records[0], records[-1]
        return {
            "KinesisBatchInfo": {
                "shardId": first.partition,
                "startSequenceNumber": str(first.position),
                "endSequenceNumber": str(last.position),
                "approximateArrivalOfFirstRecord": time_text(first.timestamp_ms),
                "approximateArrivalOfLastRecord": time_text(last.timestamp_ms),
                "batchSize": len(records),
                "streamArn": self.arn,
            }
        }

    def object_prefix(self, records: Sequence[Record]) -> str:
        """Return the records' one shard."""
        return f"{records[0].partition}/"


def kinesis_record(
    origin: KinesisOrigin,
    *,
    shard: str,
    sequence_number: str,
    partition_key: str,
    data: bytes,
    arrival: float,
    encryption: str | None = None,
) -> Record:
    """Return a record with its entry in the event; ``arrival`` is in seconds since 1970."""
    kinesis: dict[str, Any] = {
        "kinesisSchemaVersion": "1.0",
        "partitionKey": partition_key,
        "sequenceNumber": sequence_number,
        "data": b64encode(data).decode(),
        "approximateArrivalTimestamp": round(arrival, 3),
    }
    if encryption is not None:
        kinesis["encryptionType"] = encryption
    entry = {
        "kinesis": kinesis,
        "eventSource": "aws:kinesis",
        "eventVersion": "1.0",
        "eventID": f"{shard}:{sequence_number}",
        "eventName": "aws:kinesis:record",
        "invokeIdentityArn": origin.role,
        "awsRegion": origin.region,
        "eventSourceARN": origin.arn,
    }
    return Record(
        partition=shard,
        position=int(sequence_number),
        timestamp_ms=round(arrival * 1000),
        key=partition_key.encode(),
        entry=compact_json(entry),
        # Patterns name the data at the top level ({"data": ...}), unlike the event.
        view={**entry, "kinesis": {**kinesis, "data": payload_view(data)}, **kinesis, "data": payload_view(data)},
    )
