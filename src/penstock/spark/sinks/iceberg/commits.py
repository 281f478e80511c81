"""Publish a batch in an Iceberg table once: rows and the batch's marker become visible in one commit.

Spark's own commits to a table cannot be made to fail if another writer has committed meanwhile, which two writers of one
batch need. So a batch is written to a branch of the table, which readers do not read. One transaction then makes the
branch's snapshot the table's current one, if that is still the one that the batch was written on, and records the batch
in a property of the table. The property outlives the snapshot. The branch stays: it keeps the newest snapshot of the sink
from being expired, and the next batch needs no new one.

The summary of the snapshot has the marker, too (``penstock.marker``, ``penstock.batch``), for who reads the history, and
for a table whose properties were replaced.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from penstock.spark.sinks.port import SinkBatch

__all__ = ["MAIN", "Attempt", "BatchBranch", "Overtaken", "branch_name", "property_name"]

MAIN = "main"
_MARKER, _NUMBER, _ATTEMPT = "penstock.marker", "penstock.batch", "penstock.attempt"
_STALE = ("CommitFailedException", "ValidationException")


class Overtaken(Exception):
    """The table's current snapshot is not the one that the batch was written on: try again on the new one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try to write a batch: the snapshot that it is written on, and the summary that its own snapshot gets."""

    base: int
    summary: dict[str, str]


def branch_name(pipeline: str, sink: str) -> str:
    """Return the branch on which the batches of a sink are written."""
    digest = hashlib.sha256(json.dumps([pipeline, sink]).encode()).hexdigest()[:8]
    return f"penstock_{re.sub(r'[^a-z0-9]+', '_', pipeline.lower())[:40].strip('_')}_{digest}"


def property_name(pipeline: str, sink: str) -> str:
    """Return the table's property that says which batch of a sink was published last: query, number and snapshot."""
    return f"penstock.batch.{pipeline}.{sink}"


class BatchBranch:
    """The branch of one sink, and the marker of its batches, of the Iceberg table ``table`` (a Java object)."""

    def __init__(self, table: Any, batch: SinkBatch) -> None:
        self._table = table
        self._batch = batch
        self.name = branch_name(batch.pipeline, batch.sink)

    def published(self) -> str | None:
        """Return the id of the snapshot with which the batch was published before; None if it was not.

        A batch whose snapshot was rolled back, so that it is in the table and not in its history, was not. One whose
        snapshot was expired was.
        """
        self._table.refresh()
        ancestors = _Ancestors(self._table)
        marker = self._table.properties().get(property_name(self._batch.pipeline, self._batch.sink))
        if marker is not None and marker.split(" ")[0] == self._batch.query:
            _, number, snapshot = marker.split(" ")
            expired = self._table.snapshot(int(snapshot)) is None
            if expired or ancestors.have(int(snapshot)):
                return snapshot if int(number) >= self._batch.number else None
        return ancestors.with_batch(self._batch)

    def begin(self) -> Attempt:
        """Put the branch at the table's current snapshot, and return the attempt."""
        table = self._table
        if table.currentSnapshot() is None:
            table.newAppend().commit()  # an empty snapshot, on which a branch can be
        base = int(table.currentSnapshot().snapshotId())
        reference = table.refs().get(self.name)
        if reference is None or int(reference.snapshotId()) != base:
            manage = table.manageSnapshots()
            (manage.createBranch if reference is None else manage.replaceBranch)(self.name, base).commit()
        summary = {_MARKER: self._batch.marker, _NUMBER: str(self._batch.number), _ATTEMPT: uuid4().hex}
        return Attempt(base=base, summary=summary)

    def publish(self, attempt: Attempt) -> Any:
        """Make the attempt's snapshot on the branch the current one, with the marker; return it (a Java object).

        Raises :class:`Overtaken` if the table or the branch was changed by others since :meth:`begin`.
        """
        self._table.refresh()
        snapshot = self._table.snapshot(self.name)
        written = snapshot.snapshotId() != attempt.base
        if written and (
            snapshot.parentId() != attempt.base or snapshot.summary().get(_ATTEMPT) != attempt.summary[_ATTEMPT]
        ):
            raise Overtaken
        transaction = self._table.newTransaction()
        if transaction.table().currentSnapshot().snapshotId() != attempt.base:
            raise Overtaken
        # Unlike other changes, that of a reference is never applied to a newer state of the table than it was made for.
        transaction.manageSnapshots().replaceBranch(MAIN, snapshot.snapshotId()).commit()
        key = property_name(self._batch.pipeline, self._batch.sink)
        value = f"{self._batch.query} {self._batch.number} {snapshot.snapshotId()}"
        transaction.updateProperties().set(key, value).commit()
        try:
            transaction.commitTransaction()
        except Py4JJavaError as error:
            if error.java_exception.getClass().getSimpleName() in _STALE:
                raise Overtaken from error
            raise
        self._table.refresh()
        return snapshot


class _Ancestors:
    """The snapshots of the table's current state, the newest first, as far as they were not expired."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def _walk(self) -> Any:
        snapshot = self._table.currentSnapshot()
        while snapshot is not None:
            yield snapshot
            parent = snapshot.parentId()
            snapshot = None if parent is None else self._table.snapshot(parent)

    def have(self, snapshot: int) -> bool:
        """Return whether ``snapshot``, which was not expired, is one of them, or was before its successors were expired.

        Where the history ends in an expired snapshot, those with an earlier sequence number may have led to it; one that
        is later than the history's oldest, and not in it, was rolled back.
        """
        oldest = None
        for item in self._walk():
            if item.snapshotId() == snapshot:
                return True
            oldest = item
        if oldest is None or oldest.parentId() is None:
            return False
        return bool(self._table.snapshot(snapshot).sequenceNumber() < oldest.sequenceNumber())

    def with_batch(self, batch: SinkBatch) -> str | None:
        """Return the snapshot whose summary has the batch, or a later one of its query."""
        for snapshot in self._walk():
            summary = snapshot.summary()
            if summary.get(_MARKER) == batch.marker and int(summary.get(_NUMBER)) >= batch.number:
                return str(snapshot.snapshotId())
        return None


def load_table(spark: SparkSession, identifier: str) -> Any:
    """Return the Java object of the table ``identifier`` (quoted)."""
    jvm: Any = spark._jvm
    return jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, identifier)
