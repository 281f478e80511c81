"""The operations of the stand-in, by AWS's names, and those by which tests control it."""

import base64
import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from penstock.testing.kinesis_server.model import KinesisError, Stream

__all__ = ["Operations"]

_MAX_ENTRIES = 500
_MAX_REQUEST = 5 * 1_048_576


class Operations:
    """The service. Each operation takes a request's members and returns the answer's; :class:`KinesisError` otherwise."""

    def __init__(self) -> None:
        self.lock = threading.Condition()
        self.streams: dict[str, Stream] = {}
        self.subscription_seconds = 300.0
        self.takeover_seconds = 5.0
        self.subscribed: dict[tuple[str, str], tuple[int, float]] = {}
        self._faults: list[dict[str, Any]] = []
        self._calls: Counter[str] = Counter()

    def call(self, name: str, request: dict[str, Any]) -> dict[str, Any]:
        """Return the answer of one operation."""
        with self.lock:
            if not name.startswith("Test"):
                self.begin(name)
            operation: Callable[[dict[str, Any]], dict[str, Any] | None] | None = getattr(self, name, None)
            if operation is None or not name[0].isupper():
                raise KinesisError("UnknownOperationException", f"The stand-in lacks {name}")
            answer = operation(request) or {}
            self.lock.notify_all()
            return answer

    def begin(self, name: str) -> None:
        """Count a call, and raise the error that a test has ordered for it."""
        self._calls[name] += 1
        self.fail(name)

    def fail(self, name: str) -> None:
        """Raise the next error that a test has ordered for ``name``."""
        for fault in self._faults:
            if fault["operation"] == name and fault["count"] > 0:
                fault["count"] -= 1
                raise KinesisError(fault["code"], "Rate exceeded, as the test has ordered")

    def stream(self, request: dict[str, Any]) -> Stream:
        """Return the stream of a request."""
        name = request.get("StreamName") or str(request.get("StreamARN", "")).rpartition("/")[2]
        if name not in self.streams:
            raise KinesisError("ResourceNotFoundException", f"Stream {name} under account not found.")
        return self.streams[name]

    def CreateStream(self, request: dict[str, Any]) -> None:  # noqa: N802 - AWS's names
        if request["StreamName"] in self.streams:
            raise KinesisError("ResourceInUseException", f"Stream {request['StreamName']} already exists.")
        self.streams[request["StreamName"]] = Stream(request["StreamName"], request.get("ShardCount", 1))

    def DeleteStream(self, request: dict[str, Any]) -> None:  # noqa: N802
        del self.streams[self.stream(request).name]

    def ListStreams(self, _request: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        return {"StreamNames": sorted(self.streams), "HasMoreStreams": False}

    def DescribeStream(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        stream = self.stream(request)
        shards = [shard.describe() for shard in stream.shards.values()]
        return {"StreamDescription": {**_described(stream), "Shards": shards, "HasMoreShards": False}}

    def DescribeStreamSummary(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        stream = self.stream(request)
        opened = sum(shard.ending is None for shard in stream.shards.values())
        summary = {**_described(stream), "OpenShardCount": opened, "ConsumerCount": len(stream.consumers)}
        return {"StreamDescriptionSummary": summary}

    def ListShards(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        token = json.loads(base64.b64decode(request["NextToken"])) if "NextToken" in request else None
        stream = self.stream({"StreamName": token[0]} if token else request)
        shards = [shard.describe() for shard in stream.shards.values()]
        begin, count = (token[1], token[2]) if token else (0, request.get("MaxResults", 1000))
        answer: dict[str, Any] = {"Shards": shards[begin : begin + count]}
        if begin + count < len(shards):
            following = json.dumps([stream.name, begin + count, count])
            answer["NextToken"] = base64.b64encode(following.encode()).decode()
        return answer

    def SplitShard(self, request: dict[str, Any]) -> None:  # noqa: N802
        self.stream(request).split(request["ShardToSplit"], int(request["NewStartingHashKey"]))

    def MergeShards(self, request: dict[str, Any]) -> None:  # noqa: N802
        self.stream(request).merge(request["ShardToMerge"], request["AdjacentShardToMerge"])

    def PutRecord(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        return self._put(self.stream(request), request)

    def PutRecords(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        stream, entries = self.stream(request), request["Records"]
        size = sum(len(record["Data"]) * 3 // 4 + len(record["PartitionKey"]) for record in entries)
        if not 1 <= len(entries) <= _MAX_ENTRIES or size > _MAX_REQUEST:
            raise KinesisError("ValidationException", f"{len(entries)} records of {size} bytes are too many")
        answers = []
        for entry in entries:
            try:
                self.fail("PutRecordsEntry")
                answers.append(self._put(stream, entry))
            except KinesisError as error:
                if error.code == "ValidationException":
                    raise
                answers.append({"ErrorCode": error.code, "ErrorMessage": str(error)})
        return {"Records": answers, "FailedRecordCount": sum("ErrorCode" in answer for answer in answers)}

    def GetShardIterator(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        stream = self.stream(request)
        shard = stream.shard(request["ShardId"])
        return {"ShardIterator": stream.iterator(shard, stream.position(shard, request))}

    def GetRecords(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        name, shard, number, issued = json.loads(base64.b64decode(request["ShardIterator"]))
        stream = self.stream({"StreamName": name})
        return stream.get(stream.shard(shard), number, issued, request.get("Limit", 10_000))

    def RegisterStreamConsumer(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        stream, name = self.stream(request), request["ConsumerName"]
        if name in stream.consumers:
            raise KinesisError("ResourceInUseException", f"Consumer {name} already exists.")
        now = time.time()
        arn = f"{stream.arn}/consumer/{name}:{int(now)}"
        consumer = {"ConsumerName": name, "ConsumerARN": arn, "ConsumerCreationTimestamp": now}
        # It is CREATING until it has been described once.
        stream.consumers[name] = {**consumer, "ConsumerStatus": "ACTIVE", "StreamARN": stream.arn, "described": 0}
        return {"Consumer": {**consumer, "ConsumerStatus": "CREATING"}}

    def DescribeStreamConsumer(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        stream = self.stream({"StreamARN": request.get("StreamARN") or request["ConsumerARN"].partition("/consumer/")[0]})
        for consumer in stream.consumers.values():
            if (
                request.get("ConsumerARN") == consumer["ConsumerARN"]
                or request.get("ConsumerName") == consumer["ConsumerName"]
            ):
                consumer["described"] += 1
                status = "ACTIVE" if consumer["described"] > 1 else "CREATING"
                shown = {name: value for name, value in consumer.items() if name != "described"}
                return {"ConsumerDescription": {**shown, "ConsumerStatus": status}}
        raise KinesisError("ResourceNotFoundException", f"Consumer {request.get('ConsumerName')} not found.")

    def TestFail(self, request: dict[str, Any]) -> None:  # noqa: N802
        """Order errors: ``operation``, ``code``, ``count``; PutRecordsEntry fails single records of PutRecords."""
        self._faults.append(dict(request))

    def TestLimit(self, request: dict[str, Any]) -> None:  # noqa: N802
        """Limit a stream's shards to ``reads`` and ``writes`` a second."""
        stream = self.stream(request)
        stream.reads, stream.writes = request.get("reads"), request.get("writes")

    def TestExpire(self, request: dict[str, Any]) -> None:  # noqa: N802
        """Let retention take ``count`` records of a shard."""
        self.stream(request).expire(request["ShardId"], request["count"])

    def TestSubscriptions(self, request: dict[str, Any]) -> None:  # noqa: N802
        """Set how many ``seconds`` a subscription lasts, and after how many a new one takes over."""
        self.subscription_seconds, self.takeover_seconds = request["seconds"], request["takeover"]

    def TestCounts(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        """Return calls by operation, and records of a stream by shard, as served by GetRecords and as pushed."""
        shards = self.stream(request).shards.values()
        served, pushed = {shard.id: shard.served for shard in shards}, {shard.id: shard.pushed for shard in shards}
        return {"calls": self._calls, "served": served, "pushed": pushed}

    @staticmethod
    def _put(stream: Stream, entry: dict[str, Any]) -> dict[str, Any]:
        data = base64.b64decode(entry["Data"])
        shard, number = stream.put(data, entry["PartitionKey"], entry.get("ExplicitHashKey"))
        return {"ShardId": shard, "SequenceNumber": number}


def _described(stream: Stream) -> dict[str, Any]:
    return {
        "StreamName": stream.name,
        "StreamARN": stream.arn,
        "StreamStatus": "ACTIVE",
        "RetentionPeriodHours": 24,
        "StreamCreationTimestamp": stream.created,
        "EnhancedMonitoring": [{"ShardLevelMetrics": []}],
        "EncryptionType": "NONE",
    }
