"""A Kinesis stand-in for tests: moto's server in a child process, on a free port, empty.

It has streams, shards and their splitting, sequence numbers, put_record(s) and all kinds of shard iterators. It does not
limit the size of a record and does not check signatures. Needs the packages ``moto``, ``flask`` and ``flask-cors``.
"""

import contextlib
import importlib.util
from collections.abc import Iterator, Sequence
from typing import Any

from penstock.client.kinesis import StreamName, list_shards
from penstock.errors import EnvironmentProblem
from penstock.interpreter import python_module
from penstock.local.processes.child import Service
from penstock.local.processes.ports import answers, free_ports
from penstock.testing.standin import StandIn, running_service

__all__ = ["KinesisStandIn", "running_kinesis"]

_PACKAGES = ("moto", "flask", "flask_cors")
_WAIT = {"Delay": 1, "MaxAttempts": 30}


class KinesisStandIn(StandIn):
    """A stand-in that answers at ``endpoint_url``, whatever the credentials."""

    service = "kinesis"

    def create_stream(self, name: str, *, shards: int = 1) -> list[str]:
        """Create a stream and wait until it is ACTIVE. Return the ids of its shards."""
        client = self.client()
        client.create_stream(StreamName=name, ShardCount=shards)
        client.get_waiter("stream_exists").wait(StreamName=name, WaiterConfig=_WAIT)
        return [shard["ShardId"] for shard in list_shards(client, StreamName(name))]

    def records(self, stream: str) -> list[dict[str, Any]]:
        """Return all records of a stream, shard by shard, as get_records gives them."""
        client = self.client()
        records: list[dict[str, Any]] = []
        for shard in list_shards(client, StreamName(stream)):
            iterator = client.get_shard_iterator(
                StreamName=stream, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
            )["ShardIterator"]
            while True:
                page = client.get_records(ShardIterator=iterator)
                records.extend(page["Records"])
                iterator = page.get("NextShardIterator")
                if not page["Records"] or not iterator:
                    break
        return records


@contextlib.contextmanager
def running_kinesis() -> Iterator[KinesisStandIn]:
    """Run a stand-in during the block.

    Raises :class:`EnvironmentProblem` if moto is not installed, or, with moto's message, if it does not start.
    """
    missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise EnvironmentProblem(
            f"The Kinesis stand-in needs {', '.join(missing)}.", remedy="pip install moto flask flask-cors"
        )
    (port,) = free_ports(1)
    service = Service(
        name="kinesis",
        title="The Kinesis stand-in",
        command=lambda: _command(port),
        is_ready=lambda: answers("127.0.0.1", port),
    )
    with running_service(service):
        yield KinesisStandIn(endpoint_url=f"http://127.0.0.1:{port}")


def _command(port: int) -> Sequence[str]:
    return python_module("moto.server", "-H", "127.0.0.1", "-p", str(port))
