"""Runs a Kinesis mapping: a reader for each shard, children after their parents, records dispatched by partition key.

https://docs.aws.amazon.com/streams/latest/dev/kinesis-record-processor-scaling.html for resharding; Lambda polls each shard
once a second (https://docs.aws.amazon.com/lambda/latest/dg/with-kinesis.html).
"""

import hashlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from penstock.client.connection import open_client, translated_errors
from penstock.client.kinesis import ShardFetcher, first_position, list_shards, may_pass, readable_shards
from penstock.errors import EnvironmentProblem, LimitExceeded, NotFound, PenstockError
from penstock.functions.delivery.dispatcher import DispatcherFactory
from penstock.functions.kinesis.checkpoints import Checkpoints, checkpoint_of, position_of
from penstock.functions.kinesis.event import KinesisOrigin, kinesis_record
from penstock.functions.model import EventSourceMapping, KinesisSource
from penstock.functions.records import Progress, Record
from penstock.functions.thread_group import ThreadGroup
from penstock.retries import KINESIS_READ, Backoff

__all__ = ["KinesisMapping", "ShardReader", "dispatcher_of"]

_TICK = 0.02  # seconds between two checks of several dispatchers
_POLL_SECONDS = 1.0  # between two reads of a shard without new records
_LIST_SECONDS = 10.0  # between two lists of the stream's shards
_LIMIT = 1000  # records per read


def dispatcher_of(key: bytes, dispatchers: int) -> int:
    """Return the number of the dispatcher for a partition key, which is the same in every run."""
    return int.from_bytes(hashlib.md5(key, usedforsecurity=False).digest()[:4]) % dispatchers


class ShardReader:
    """Reads one shard into its dispatchers, and stores a checkpoint after finished records. A worker of a thread group."""

    def __init__(
        self,
        shard: str,
        *,
        client: Any,
        mapping: EventSourceMapping,
        origin: KinesisOrigin,
        checkpoints: Checkpoints,
        make_dispatcher: DispatcherFactory,
        report: Callable[[str], None],
    ) -> None:
        assert isinstance(mapping.source, KinesisSource)
        self._origin = origin
        self._shard = shard
        self._checkpoints = checkpoints
        self._report = report
        self._dispatchers = [make_dispatcher(self._on_done) for _ in range(mapping.source.parallelization_factor)]
        self._progress = Progress()
        self._reached: int | None = None
        # After the last record that was read; finished records may be further back.
        self._fetcher = ShardFetcher(client, origin.stream, shard, position_of(checkpoints.all()[shard]))
        self._backoff = Backoff(KINESIS_READ)
        self._read_at = 0.0
        self._pause = 0.0
        self._at_tip = False  # whether all records of the shard so far were read and offered
        self._stop = threading.Event()

    @property
    def caught_up(self) -> bool:
        """Whether all records of an open shard are finished; for a closed one the checkpoint says so."""
        return self._at_tip and not self._fetcher.ended and len(self._progress) == 0

    def stop(self) -> None:
        """Make :meth:`run` end after the current invocations."""
        self._stop.set()

    def run(self) -> None:
        """Read until stopped, or until the shard has ended and all its records are finished."""
        try:
            while True:
                if self._stop.is_set():
                    for dispatcher in self._dispatchers:
                        dispatcher.stop()
                    if all(dispatcher.finished for dispatcher in self._dispatchers):
                        return
                elif self._fetcher.ended and len(self._progress) == 0:
                    # The progress of filtered records would be stored in place of the end.
                    self._reached = None
                    self._checkpoints.set(self._shard, {"ended": True})
                    return
                self._poll_once()
        finally:
            for dispatcher in self._dispatchers:
                dispatcher.close()
            self._save()

    def _poll_once(self) -> None:
        for dispatcher in self._dispatchers:
            dispatcher.advance()
        self._save()
        now = time.monotonic()
        room = not any(dispatcher.full for dispatcher in self._dispatchers)
        if room and not self._fetcher.ended and not self._stop.is_set() and now >= self._read_at + self._pause:
            self._read()
            return
        busy = [dispatcher for dispatcher in self._dispatchers if dispatcher.busy]
        if len(busy) == len(self._dispatchers) == 1:
            busy[0].wait()
        elif busy or self._stop.is_set() or any(dispatcher.due_in is not None for dispatcher in self._dispatchers):
            time.sleep(_TICK)
        else:
            self._stop.wait(min(_POLL_SECONDS, max(_TICK, self._read_at + self._pause - now)))

    def _read(self) -> None:
        self._read_at = time.monotonic()
        try:
            records = self._fetcher.fetch(_LIMIT)
        except PenstockError as error:
            if not may_pass(error):
                raise
            self._pause = self._backoff.failed()
            self._report(f"{error} The read of shard {self._shard} is retried.")
            return
        self._backoff.succeeded()
        for record in records:
            self._offer(record)
        self._at_tip = self._fetcher.behind_ms == 0
        # There may be more: a shard allows five reads a second.
        self._pause = 0.2 if records and not self._fetcher.ended else _POLL_SECONDS

    def _offer(self, entry: Mapping[str, Any]) -> None:
        record = kinesis_record(
            self._origin,
            shard=self._shard,
            sequence_number=entry["SequenceNumber"],
            partition_key=entry["PartitionKey"],
            data=entry["Data"],
            arrival=entry["ApproximateArrivalTimestamp"].timestamp(),
            encryption=entry.get("EncryptionType") if entry.get("EncryptionType") not in {None, "NONE"} else None,
        )
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
    """Runs the readers of one stream. With ``once`` it ends when all records of every shard so far are finished."""

    def __init__(
        self,
        mapping: EventSourceMapping,
        origin: KinesisOrigin,
        make_dispatcher: DispatcherFactory,
        *,
        state: Path,
        report: Callable[[str], None],
        once: bool = False,
    ) -> None:
        self._mapping = mapping
        self._origin = origin
        self._make_dispatcher = make_dispatcher
        self._state = state
        self._report = report
        self._once = once
        self._stop = threading.Event()
        self._listed = False  # whether this run has listed the stream's shards

    def stop(self) -> None:
        """Make :meth:`run` end after the current invocations."""
        self._stop.set()

    def run(self) -> None:
        """Read until stopped. Raises errors that cannot be retried."""
        try:
            self._run()
        except NotFound as error:
            raise EnvironmentProblem(error.message, remedy="Create the stream, or correct EventSourceArn.") from None

    def _run(self) -> None:
        checkpoints = Checkpoints(self._state, self._mapping.uuid)
        client = open_client("kinesis", region=self._origin.region)
        readers: dict[str, ShardReader] = {}
        looked = -_LIST_SECONDS
        with closing(checkpoints), ThreadGroup[ShardReader]("shard") as threads:
            if not checkpoints.all():
                self._begin_stream(client, checkpoints)
            while True:
                threads.check()
                ended = [shard for shard in readers if shard in checkpoints.ended()]
                for shard in ended:
                    del readers[shard]
                if ended or time.monotonic() - looked >= _LIST_SECONDS:
                    looked = time.monotonic()
                    for reader in self._new_readers(client, checkpoints, readers):
                        threads.start(reader)
                if self._once and all(reader.caught_up for reader in readers.values()):
                    return
                if self._stop.wait(0.1):
                    return

    def _new_readers(self, client: Any, checkpoints: Checkpoints, readers: dict[str, ShardReader]) -> list[ShardReader]:
        """Return new readers, added to ``readers``, for shards that may be read now and have none."""
        try:
            readable = readable_shards(self._shards(client), checkpoints.ended())
        except (EnvironmentProblem, LimitExceeded) as error:
            if not self._listed:
                raise
            self._report(f"{error} The list of the stream's shards is retried.")
            return []
        self._listed = True
        ended = checkpoints.ended()
        fresh = [shard for shard in readable if shard not in readers and shard not in ended]
        readers.update({shard: self._reader(client, shard, checkpoints) for shard in fresh})
        return [readers[shard] for shard in fresh]

    def _begin_stream(self, client: Any, checkpoints: Checkpoints) -> None:
        """Store where a mapping's first run begins, so that a stop before its first batch skips nothing.

        All shards are in one write: a run that dies here has begun all or none.
        """
        mapping = self._mapping
        at_ms = int(time.time() * 1000) if mapping.start == "LATEST" else mapping.start_at or 0
        shards = self._shards(client)
        checkpoints.update(
            {shard["ShardId"]: checkpoint_of(first_position(shard, mapping.start, at_ms)) for shard in shards}
        )

    def _reader(self, client: Any, shard: str, checkpoints: Checkpoints) -> ShardReader:
        if shard not in checkpoints.all():
            # A new shard of a known stream is a child: all its records came after its parents'.
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
        with translated_errors(client, f"the shards of {self._origin.stream.name}"):
            return list_shards(client, self._origin.stream)
