"""A Kinesis mapping at work: a reader for each shard, children after their parents, records dispatched by partition key.

https://docs.aws.amazon.com/streams/latest/dev/kinesis-record-processor-scaling.html for resharding; Lambda polls each shard
once a second (https://docs.aws.amazon.com/lambda/latest/dg/with-kinesis.html).
"""

import hashlib
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from penstock.client.connection import calls, open_client
from penstock.errors import EnvironmentProblem, LimitExceeded, NotFound, PenstockError
from penstock.functions.delivery.dispatcher import DispatcherFactory
from penstock.functions.kinesis.checkpoints import Checkpoint, Checkpoints
from penstock.functions.kinesis.event import KinesisOrigin, kinesis_record
from penstock.functions.mapping_metrics import MappingMetrics
from penstock.functions.model import KinesisSource, SourceMapping
from penstock.functions.records import Progress, Record
from penstock.functions.thread_group import ThreadGroup

__all__ = ["KinesisMapping", "ShardReader", "dispatcher_of", "ready_shards"]

_TICK = 0.02  # seconds between two looks at several dispatchers
_POLL_SECONDS = 1.0  # between two reads of a shard that has nothing
_LIST_SECONDS = 10.0  # between two looks at the stream's shards
_LIMIT = 1000  # records a read
_PAUSES = (1.0, 30.0)  # seconds, first and longest, between two tries at a shard that does not let itself be read
# What a service says that may be asked again, beside throttling under the names that all services have.
_PASSING = frozenset({"ProvisionedThroughputExceededException", "LimitExceededException", "KMSThrottlingException"})
_EXPIRED = "ExpiredIteratorException"


def dispatcher_of(key: bytes, dispatchers: int) -> int:
    """The number of the dispatcher for a partition key; the same one in every run."""
    return int.from_bytes(hashlib.md5(key, usedforsecurity=False).digest()[:4]) % dispatchers


def ready_shards(shards: Sequence[Mapping[str, Any]], known: Mapping[str, Checkpoint]) -> list[str]:
    """The shards that may be read now: not ended, and their parents are read to the end or gone from the stream."""
    listed = {shard["ShardId"] for shard in shards}
    ready = []
    for shard in shards:
        parents = [str(shard.get(name)) for name in ("ParentShardId", "AdjacentParentShardId")]
        waiting = [each for each in parents if each in listed and not _ended(known, each)]
        if not waiting and not _ended(known, shard["ShardId"]):
            ready.append(shard["ShardId"])
    return ready


def _ended(known: Mapping[str, Checkpoint], shard: str) -> bool:
    checkpoint = known.get(shard)
    return checkpoint is not None and bool(checkpoint.get("ended"))


class ShardReader:
    """Reads one shard into its dispatchers and keeps the checkpoint behind what is done. A worker of a thread group."""

    def __init__(
        self,
        shard: str,
        *,
        client: Any,
        mapping: SourceMapping,
        origin: KinesisOrigin,
        checkpoints: Checkpoints,
        make_dispatcher: DispatcherFactory,
        report: Callable[[str], None],
    ) -> None:
        assert isinstance(mapping.source, KinesisSource)
        self._client = client
        self._mapping = mapping
        self._origin = origin
        self._shard = shard
        self._checkpoints = checkpoints
        self._report = report
        self._dispatchers = [make_dispatcher(self._on_done) for _ in range(mapping.source.parallelization_factor)]
        self._progress = Progress()
        self._reached: int | None = None
        self._iterator: str | None = None  # None: one has to be asked for, behind self._place
        self._place: Checkpoint = {}  # behind the last record that was read, which may be before what is done
        self._tries = 0  # reads in a row that failed
        self._read_at = 0.0
        self._pause = 0.0
        self._exhausted = False
        self._stop = threading.Event()
        self.behind_ms = 1  # how far the last read was behind the shard's tip; above 0 until it was reached

    @property
    def caught_up(self) -> bool:
        """Whether all that an open shard has is read and done with; a closed one is when its checkpoint says so."""
        return self.behind_ms == 0 and not self._exhausted and len(self._progress) == 0

    def stop(self) -> None:
        """Ask :meth:`run` to end after the invocations in hand."""
        self._stop.set()

    def run(self) -> None:
        """Read until stopped, or until the shard has ended and all its records are done with."""
        try:
            self._place = self._checkpoints.known()[self._shard]
            while True:
                if self._stop.is_set():
                    for each in self._dispatchers:
                        each.stop()
                    if all(each.finished for each in self._dispatchers):
                        return
                elif self._exhausted and len(self._progress) == 0:
                    # What was filtered out as it was read is noted, and would be kept in place of the end.
                    self._reached = None
                    self._checkpoints.set(self._shard, {"ended": True})
                    return
                self._poll_once()
        finally:
            for each in self._dispatchers:
                each.close()
            self._save()

    def _poll_once(self) -> None:
        for each in self._dispatchers:
            each.advance()
        self._save()
        now = time.monotonic()
        room = not any(each.full for each in self._dispatchers)
        if room and not self._exhausted and not self._stop.is_set() and now >= self._read_at + self._pause:
            self._read()
            return
        busy = [each for each in self._dispatchers if each.busy]
        if len(busy) == len(self._dispatchers) == 1:
            busy[0].wait()
        elif busy or self._stop.is_set() or any(each.idle_for is not None for each in self._dispatchers):
            time.sleep(_TICK)
        else:
            self._stop.wait(min(_POLL_SECONDS, max(_TICK, self._read_at + self._pause - now)))

    def _iterator_behind(self, place: Checkpoint) -> str:
        how: dict[str, Any] = {"ShardIteratorType": "TRIM_HORIZON"}
        if after := place.get("after"):
            how = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "StartingSequenceNumber": after}
        elif (moment := place.get("from_ms")) is not None:
            how = {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": datetime.fromtimestamp(moment / 1000, UTC)}
        with calls(self._client, f"shard {self._shard} of {self._origin.stream}"):
            answer = self._client.get_shard_iterator(**self._origin.names, ShardId=self._shard, **how)
        return str(answer["ShardIterator"])

    def _read(self) -> None:
        self._read_at = time.monotonic()
        self._pause = _POLL_SECONDS
        try:
            if self._iterator is None:
                self._iterator = self._iterator_behind(self._place)
            with calls(self._client, f"records of shard {self._shard} of {self._origin.stream}"):
                answer = self._client.get_records(ShardIterator=self._iterator, Limit=_LIMIT)
        except PenstockError as error:
            self._recover(error)
            return
        self._tries = 0
        for each in answer["Records"]:
            self._offer(each)
        self.behind_ms = int(answer.get("MillisBehindLatest", 0))
        self._iterator = answer.get("NextShardIterator")
        if not self._iterator:
            self._exhausted = True
        elif answer["Records"]:
            # There may be more: five reads a second are what a shard allows.
            self._pause = 0.2

    def _recover(self, error: PenstockError) -> None:
        """Go on after an error that passes: too many calls, or an iterator that is older than five minutes."""
        cause = error.__cause__
        code = cause.response.get("Error", {}).get("Code", "") if isinstance(cause, ClientError) else ""
        if code == _EXPIRED:
            self._iterator = None
        elif code not in _PASSING and not isinstance(error, EnvironmentProblem | LimitExceeded):
            raise error
        first, longest = _PAUSES
        spread = random.uniform(0.5, 1.0)  # noqa: S311 -- keeps readers apart, decides nothing
        self._pause = min(longest, first * 2.0 ** min(self._tries, 10)) * spread
        self._tries += 1
        self._report(f"{error} Shard {self._shard} is read again.")

    def _offer(self, each: Mapping[str, Any]) -> None:
        record = kinesis_record(
            self._origin,
            shard=self._shard,
            sequence_number=each["SequenceNumber"],
            partition_key=each["PartitionKey"],
            data=each["Data"],
            arrival=each["ApproximateArrivalTimestamp"].timestamp(),
            encryption=each.get("EncryptionType") if each.get("EncryptionType") not in {None, "NONE"} else None,
        )
        self._place = {"after": each["SequenceNumber"]}
        self._progress.begin(record.position)
        self._dispatchers[dispatcher_of(record.key or b"", len(self._dispatchers))].offer(record)

    def _on_done(self, records: Sequence[Record]) -> None:
        reached = self._progress.finish(record.position for record in records)
        if reached is not None:
            self._reached = reached

    def _save(self) -> None:
        if self._reached is not None:
            reached, self._reached = self._reached, None
            self._checkpoints.set(self._shard, {"after": str(reached)})


class KinesisMapping:
    """Runs the readers of one stream. With ``once`` it ends when every shard's tip was reached and is done with."""

    def __init__(
        self,
        mapping: SourceMapping,
        origin: KinesisOrigin,
        make_dispatcher: DispatcherFactory,
        metrics: MappingMetrics,
        *,
        state: Path,
        report: Callable[[str], None],
        once: bool = False,
    ) -> None:
        self._mapping = mapping
        self._origin = origin
        self._make_dispatcher = make_dispatcher
        self._metrics = metrics
        self._state = state
        self._report = report
        self._once = once
        self._listed = False  # whether this run has listed the stream's shards

    def run(self, stop: threading.Event) -> None:
        """Read until ``stop`` is set. Raises what cannot be mended."""
        try:
            self._run(stop)
        except NotFound as error:
            raise EnvironmentProblem(error.message, remedy="Create the stream, or correct EventSourceArn.") from None

    def _run(self, stop: threading.Event) -> None:
        checkpoints = Checkpoints(self._state, self._mapping.uuid)
        client = open_client("kinesis", region=self._origin.region)
        threads: ThreadGroup[ShardReader] = ThreadGroup("shard")
        readers: dict[str, ShardReader] = {}
        looked = -_LIST_SECONDS
        try:
            if not checkpoints.known():
                self._begin_stream(client, checkpoints)
            while True:
                threads.check()
                ended = [shard for shard in readers if _ended(checkpoints.known(), shard)]
                for shard in ended:
                    del readers[shard]
                if ended or time.monotonic() - looked >= _LIST_SECONDS:
                    looked = time.monotonic()
                    for reader in self._new_readers(client, checkpoints, readers):
                        threads.start(reader)
                if self._once and all(reader.caught_up for reader in readers.values()):
                    return
                if stop.wait(0.1):
                    return
        finally:
            threads.stop()
            checkpoints.close()
            threads.check()

    def _new_readers(self, client: Any, checkpoints: Checkpoints, readers: dict[str, ShardReader]) -> list[ShardReader]:
        """Readers for shards that may be read now and have none in ``readers``, which gets them."""
        try:
            ready = ready_shards(self._shards(client), checkpoints.known())
        except (EnvironmentProblem, LimitExceeded) as error:
            if not self._listed:
                raise
            self._report(f"{error} The stream's shards are asked for again.")
            return []
        self._listed = True
        fresh = [shard for shard in ready if shard not in readers]
        readers.update({shard: self._reader(client, shard, checkpoints) for shard in fresh})
        return [readers[shard] for shard in fresh]

    def _begin_stream(self, client: Any, checkpoints: Checkpoints) -> None:
        """Keep where a mapping's first run begins, so that one that is stopped before its first batch skips nothing.

        All shards at once: a run that dies here has begun everywhere or nowhere.
        """
        now = int(time.time() * 1000)
        checkpoints.update({shard["ShardId"]: self._start_of(shard, now) for shard in self._shards(client)})

    def _start_of(self, shard: Mapping[str, Any], now: int) -> Checkpoint:
        if self._mapping.start == "AT_TIMESTAMP":
            return {"from_ms": self._mapping.start_at or 0}
        if self._mapping.start == "TRIM_HORIZON":
            return {}
        if shard["SequenceNumberRange"].get("EndingSequenceNumber"):
            # What a resharding has closed holds nothing that is the latest.
            return {"ended": True}
        return {"from_ms": now}

    def _reader(self, client: Any, shard: str, checkpoints: Checkpoints) -> ShardReader:
        if shard not in checkpoints.known():
            # A shard that comes to a known stream is a child: all it holds came after its parents' records.
            checkpoints.set(shard, {})
        return ShardReader(
            shard,
            client=client,
            mapping=self._mapping,
            origin=self._origin,
            checkpoints=checkpoints,
            make_dispatcher=self._make_dispatcher,
            report=self._report,
        )

    def _shards(self, client: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        asked: dict[str, Any] = self._origin.names
        with calls(client, f"the shards of {self._origin.stream}"):
            while True:
                page = client.list_shards(**asked)
                found.extend(page["Shards"])
                if not page.get("NextToken"):
                    return found
                # A token names the stream, and AWS refuses it beside the name.
                asked = {"NextToken": page["NextToken"]}
