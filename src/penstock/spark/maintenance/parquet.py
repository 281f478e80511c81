"""Compaction of a partitioned Parquet table while a stream writes to it and queries read it.

For each partition: freeze the list of its committed files, write them anew into their own folder, verify it, send the
stream there (:mod:`penstock.lake.compaction`) and then the readers, by the partition's location in the catalog. What the
stream put into the old folder in between is moved. The old files go after the grace time, in a later run or this one.
Every step is journalled, and a run first completes what an earlier one left.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from penstock.errors import InvalidInput
from penstock.lake.compaction import COMPACTED, Compaction, Journal
from penstock.lake.files import FileSystem
from penstock.lake.visible import CommittedBatches
from penstock.spark.maintenance.settings import CompactionSettings, PartitionReport

__all__ = ["ParquetCompactor", "PartitionPlace", "Rewriter"]

_SMALL = 0.75
"""A file is small below this part of the target size."""


class Rewriter(Protocol):
    """Writes a partition's rows anew; :class:`penstock.spark.maintenance.rewrite.SparkRewriter` does."""

    def rewrite(self, inputs: Sequence[str], folder: str, *, files: int, compression: str) -> int:
        """Write the rows of ``inputs`` to about ``files`` files in ``folder``, which is empty; return how many rows.

        Raises :class:`DataProblem` if what was written is not what was read.
        """
        ...


class Partitions(Protocol):
    """A table's partitions in the catalog."""

    def all(self) -> Sequence["PartitionPlace"]:
        """Return all partitions."""
        ...

    def move(self, partition: "PartitionPlace", *, source: str, target: str) -> None:
        """Change a partition's location, if it is at ``source``; at ``target`` it stays. Raises ConcurrentModification."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionPlace:
    """A partition: its values, its folder's name (``day=2013-01-01``), where it is, and when it was added."""

    values: tuple[str, ...]
    folder: str
    location: str
    created: datetime | None


class ParquetCompactor:
    """Compacts one table at ``location``. ``before`` is called before each change of catalog or files, to keep the lease."""

    def __init__(
        self,
        name: str,
        location: str,
        *,
        files: FileSystem,
        partitions: Partitions,
        rewriter: Rewriter,
        settings: CompactionSettings,
        before: Callable[[], None] = lambda: None,
        now: Callable[[], float] = time.time,
    ) -> None:
        if settings.target_file_size <= 0:
            raise InvalidInput("The target size of files has to be positive.")
        self._name = name
        self._location = location.rstrip("/")
        self._files = files
        self._partitions = partitions
        self._rewriter = rewriter
        self._settings = settings
        self._before = before
        self._now = now
        self._journal = Journal(files, self._location)

    def run(self, *, dry_run: bool = False) -> list[PartitionReport]:
        """Complete earlier compactions, then compact the closed partitions with small files; return what was done.

        ``dry_run`` changes nothing and reports what a run would begin with.
        """
        reports = [] if dry_run else self._complete()
        open_ones = {last.partition for last in self._journal.all() if last.state != "deleted"}
        for partition in self._partitions.all():
            if partition.folder in open_ones or not self._is_closed(partition):
                continue
            inputs = self._committed(partition.location)
            if not self._is_worthwhile(inputs):
                continue
            report = PartitionReport(
                table=self._name,
                partition=partition.folder,
                done="planned",
                files_before=len(inputs),
                bytes_before=sum(inputs.values()),
            )
            reports.append(report if dry_run else self._compact(partition, inputs, report))
        return reports

    def _is_closed(self, partition: PartitionPlace) -> bool:
        created = partition.created
        return created is not None and created.timestamp() <= self._now() - self._settings.older_than

    def _is_worthwhile(self, inputs: Mapping[str, int]) -> bool:
        small = [size for size in inputs.values() if size < _SMALL * self._settings.target_file_size]
        return len(small) >= self._settings.min_files and self._file_count(inputs) < len(inputs)

    def _file_count(self, inputs: Mapping[str, int]) -> int:
        return max(1, round(sum(inputs.values()) / self._settings.target_file_size))

    def _committed(self, location: str) -> dict[str, int]:
        """Return the files of committed batches below ``location``, to bytes."""
        committed = CommittedBatches(
            self._location, names=self._files.names, read=lambda path: self._files.read(path).decode()
        )
        return {path: size for path, size in self._data(location).items() if committed.counts(path.rpartition("/")[2])}

    def _data(self, location: str) -> dict[str, int]:
        """Return the data files below ``location``, to bytes, without hidden ones."""
        folder = location.rstrip("/") + "/"
        files = self._files.walk(folder.rstrip("/"))
        return {
            path: size
            for path, size in files.items()
            if size and not any(part.startswith(("_", ".")) for part in path[len(folder) :].split("/"))
        }

    def _compact(self, partition: PartitionPlace, inputs: Mapping[str, int], report: PartitionReport) -> PartitionReport:
        last = self._journal.last(partition.folder)
        number = 0 if last is None else last.number + 1
        planned = Compaction(
            partition=partition.folder,
            number=number,
            state="planned",
            source=partition.location.rstrip("/"),
            target=f"{self._location}/{COMPACTED}/{number:06d}/{partition.folder}",
            inputs=inputs,
        )
        # 1. Freeze the list of files.
        self._before()
        self._journal.write(planned)
        return self._report(self._go_on(planned, partition), report)

    def _complete(self) -> list[PartitionReport]:
        """Go on with the compactions that an earlier run left, and delete old files whose grace time is over."""
        partitions = {partition.folder: partition for partition in self._partitions.all()}
        reports = []
        for last in self._journal.all():
            partition = partitions.get(last.partition)
            if last.state == "deleted" or partition is None:
                continue
            report = PartitionReport(
                table=self._name,
                partition=last.partition,
                done=last.state,
                files_before=len(last.inputs),
                bytes_before=sum(last.inputs.values()),
            )
            after = self._go_on(last, partition)
            if after.state != last.state:
                reports.append(self._report(after, report))
        return reports

    def _go_on(self, compaction: Compaction, partition: PartitionPlace) -> Compaction:
        """Take a compaction through its next states, as far as the grace time allows."""
        if compaction.state == "planned":
            compaction = self._write(compaction)
        if compaction.state == "written":
            compaction = self._swap(compaction)
        # 4. Send the readers there, and move what the stream put into the old folder; again after a kill.
        self._before()
        self._partitions.move(partition, source=compaction.source, target=compaction.target)
        self._move_stragglers(compaction)
        swapped_at = compaction.swapped_at or 0.0
        if self._now() >= swapped_at + self._settings.grace:
            compaction = self._delete(compaction)
        return compaction

    def _write(self, compaction: Compaction) -> Compaction:
        """Write and verify the new files. Nobody reads them until the swap."""
        # 2. Write the new files.
        self._files.delete(compaction.target)
        rows = self._rewriter.rewrite(
            sorted(compaction.inputs),
            compaction.target,
            files=self._file_count(compaction.inputs),
            compression=self._settings.compression,
        )
        outputs = self._data(compaction.target)
        self._files.sync(outputs, below=self._location)
        written = compaction.at("written", outputs=outputs, rows=rows)
        self._journal.write(written)
        return written

    def _swap(self, compaction: Compaction) -> Compaction:
        # 3. Send the stream to the new folder. Readers follow at once: the moment between is that of a late row.
        self._before()
        swapped = compaction.at("swapped", swapped_at=self._now())
        self._journal.write(swapped)
        return swapped

    def _move_stragglers(self, compaction: Compaction) -> None:
        """Move files that came into the old folder after its list was frozen."""
        folder = compaction.source + "/"
        moved = []
        for path in self._data(compaction.source):
            if path not in compaction.inputs:
                with suppress(FileNotFoundError):  # the stream moved it
                    self._files.move(path, f"{compaction.target}/{path[len(folder) :]}")
                    moved.append(f"{compaction.target}/{path[len(folder) :]}")
        self._files.sync(moved, below=self._location)

    def _delete(self, compaction: Compaction) -> Compaction:
        # 5. Delete the old files, only those of the frozen list.
        for path in compaction.inputs:
            self._before()
            self._files.delete(path)
        self._files.sync([compaction.source], below=self._location)
        deleted = compaction.at("deleted")
        self._journal.write(replace(deleted, inputs={}))
        return deleted

    def _report(self, compaction: Compaction, report: PartitionReport) -> PartitionReport:
        size = sum(compaction.outputs.values())
        return replace(report, done=compaction.state, files_after=len(compaction.outputs), bytes_after=size)
