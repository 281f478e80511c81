"""A Kinesis of our own for tests: it reshards as AWS does, has consumers of enhanced fan-out, and fails on order.

Closed shards end and keep their records, children have their lineage, iterators expire, PutRecords may fail in part. It has
no stored state and does not check signatures. :class:`~penstock.testing.kinesis.KinesisStandIn` is another one, moto's.
"""

import contextlib
import json
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from penstock.interpreter import python_module
from penstock.local.processes.child import Service
from penstock.local.processes.ports import answers, free_ports
from penstock.testing.kinesis import KinesisStandIn
from penstock.testing.standin import running_service

__all__ = ["KinesisServer", "running_kinesis_server"]


class KinesisServer(KinesisStandIn):
    """A running server; ``client()`` is boto3's client of it."""

    def fail(self, operation: str, code: str, count: int = 1) -> None:
        """Let the next ``count`` calls of an operation fail.

        ``PutRecordsEntry`` stands for single records of PutRecords, ``SubscribeToShardEvent`` breaks a subscription's
        connection.
        """
        self._control("TestFail", operation=operation, code=code, count=count)

    def limit(self, stream: str, *, reads: int | None = None, writes: int | None = None) -> None:
        """Limit each shard of a stream to so many reads and written records a second, as AWS does (5 and 1,000)."""
        self._control("TestLimit", StreamName=stream, reads=reads, writes=writes)

    def expire(self, stream: str, shard: str, count: int) -> None:
        """Let retention take the first ``count`` records of a shard; a closed shard without records is not listed."""
        self._control("TestExpire", StreamName=stream, ShardId=shard, count=count)

    def subscriptions(self, *, seconds: float = 300.0, takeover: float = 5.0) -> None:
        """Set how long subscriptions last, and after how long a new one takes over, in seconds."""
        self._control("TestSubscriptions", seconds=seconds, takeover=takeover)

    def counts(self, stream: str) -> dict[str, dict[str, int]]:
        """Return ``calls`` by operation, and records by shard as ``served`` by GetRecords and ``pushed`` to consumers."""
        counts: dict[str, dict[str, int]] = self._control("TestCounts", StreamName=stream)
        return counts

    def split(self, stream: str, shard: str) -> list[str]:
        """Split a shard in the middle of its hash keys; return the ids of its children."""
        client = self.client()
        shards = {item["ShardId"]: item for item in client.list_shards(StreamName=stream)["Shards"]}
        keys = shards[shard]["HashKeyRange"]
        middle = (int(keys["StartingHashKey"]) + int(keys["EndingHashKey"])) // 2 + 1
        client.split_shard(StreamName=stream, ShardToSplit=shard, NewStartingHashKey=str(middle))
        now = client.list_shards(StreamName=stream)["Shards"]
        return [item["ShardId"] for item in now if item["ShardId"] not in shards]

    def _control(self, name: str, **members: Any) -> Any:
        address = urlsplit(self.endpoint_url)
        with contextlib.closing(HTTPConnection(str(address.hostname), address.port, timeout=30)) as connection:
            connection.request("POST", "/", json.dumps(members), {"X-Amz-Target": name})
            return json.loads(connection.getresponse().read())


@contextlib.contextmanager
def running_kinesis_server() -> Iterator[KinesisServer]:
    """Run a server during the block, as a child process on a free port."""
    (port,) = free_ports(1)
    service = Service(
        name="kinesis-server",
        title="The Kinesis server of the tests",
        command=lambda: python_module("penstock.testing.kinesis_server", str(port)),
        is_ready=lambda: answers("127.0.0.1", port),
    )
    with running_service(service):
        yield KinesisServer(endpoint_url=f"http://127.0.0.1:{port}")
