"""The table of dead letters: its columns, and how it is read without Spark, by reason and letter by letter."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.fs as pafs

from penstock.errors import EnvironmentProblem, NotFound
from penstock.lake.locations import LakeFolder, parse_uri
from penstock.types import arrow, hive

__all__ = ["COLUMNS", "LETTER_COLUMNS", "PARTITION_KEYS", "LetterColumn", "LetterGroup", "LetterTable"]


@dataclass(frozen=True, slots=True)
class LetterColumn:
    """A column of the table: its Hive type, and what it has."""

    type: str
    meaning: str


LETTER_COLUMNS: Mapping[str, LetterColumn] = {
    "reason": LetterColumn("string", "why the record is not a row, in a word"),
    "message": LetterColumn("string", "the same in a sentence"),
    "topic": LetterColumn("string", "the topic, stream or file"),
    "partition": LetterColumn("int", "the partition"),
    "offset": LetterColumn("bigint", "the record's place in the partition; null for streams"),
    "kafka_timestamp": LetterColumn("timestamp", "the record's time, of every source"),
    "key": LetterColumn("binary", "the record's key"),
    "value": LetterColumn("binary", "the record's value, frame and payload"),
    "schema_version_id": LetterColumn("string", "the version that the frame names, or Confluent's id"),
    "batch_id": LetterColumn("bigint", "the micro-batch"),
    "pipeline": LetterColumn("string", "the pipeline's name"),
    "ingested_at": LetterColumn("timestamp", "when the batch ran"),
    "headers": LetterColumn("array<struct<key:string,value:binary>>", "Kafka's headers, where the pipeline keeps them"),
    "sequence": LetterColumn("string", "the sequence number in a stream of Kinesis"),
    "attempt": LetterColumn("int", "how often the letter was replayed before"),
    "date": LetterColumn("string", "the day of the record's time in UTC: the partition key"),
}
"""The columns of the table, which its writer, its readers and the documentation have from here.

Tables of earlier releases lack ``headers``, ``sequence`` and ``attempt``, which are null there.
"""
COLUMNS: Mapping[str, str] = {name: column.type for name, column in LETTER_COLUMNS.items()}
"""Names and Hive types."""
PARTITION_KEYS = ("date",)

_INSTANT = pa.timestamp("us", tz="UTC")
_SCHEMA = pa.schema(
    [(name, _INSTANT if text == "timestamp" else arrow.render(hive.parse(text))) for name, text in COLUMNS.items()]
)
_ROWS = 10_000  # letters in memory at once


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterGroup:
    """Letters of one day and reason: their number, and the first and last time of their records (UTC)."""

    date: str
    pipeline: str
    reason: str
    attempt: int
    letters: int
    first: datetime | None
    last: datetime | None


class LetterTable:
    """The letters below a location: ``s3://`` in the embedded ``lake`` or S3, or a path."""

    def __init__(self, location: str, lake: Path | None) -> None:
        self.location = location
        folder, files = _resolve(location, lake)
        partitioning = ds.partitioning(pa.schema([("date", pa.string())]), flavor="hive")
        try:
            # Files of a batch that is being written are below a folder whose name begins with an underscore.
            self._data = ds.dataset(
                folder,
                schema=_SCHEMA,
                filesystem=files,
                format="parquet",
                partitioning=partitioning,
                exclude_invalid_files=False,
            )
        except FileNotFoundError:
            raise NotFound(f"There are no dead letters in {location}.") from None
        except OSError as error:
            raise EnvironmentProblem(f"The dead letters in {location} cannot be read: {error}.") from None
        if not self._data.files:
            raise NotFound(f"There are no dead letters in {location}.")

    def groups(self) -> list[LetterGroup]:
        """Return the letters by day, pipeline, reason and attempt, the newest day first."""
        counts: dict[tuple[Any, ...], list[Any]] = {}
        columns = ["date", "pipeline", "reason", "attempt", "kafka_timestamp"]
        for batch in self._data.to_batches(columns=columns, batch_size=_ROWS):
            table = pa.Table.from_batches([batch])
            groups = table.group_by(columns[:4]).aggregate(
                [("kafka_timestamp", "count"), ("kafka_timestamp", "min"), ("kafka_timestamp", "max"), ([], "count_all")]
            )
            for row in groups.to_pylist():
                key = (row["date"] or "", row["pipeline"] or "", row["reason"] or "", row["attempt"] or 0)
                group = counts.setdefault(key, [0, None, None])
                group[0] += row["count_all"]
                group[1] = min((time for time in (group[1], row["kafka_timestamp_min"]) if time), default=None)
                group[2] = max((time for time in (group[2], row["kafka_timestamp_max"]) if time), default=None)
        ordered = sorted(counts.items(), key=lambda item: (item[0][1:], item[0][0]))
        ordered.sort(key=lambda item: item[0][0], reverse=True)
        return [
            LetterGroup(date=key[0], pipeline=key[1], reason=key[2], attempt=key[3], letters=count, first=first, last=last)
            for key, (count, first, last) in ordered
        ]

    def letters(self, *, reasons: Sequence[str] = (), dates: Sequence[str] = (), count: int) -> Iterator[Mapping[str, Any]]:
        """Yield up to ``count`` letters of the reasons and days (all if empty), in the order of the files."""
        selected = None
        for column, values in (("reason", reasons), ("date", dates)):
            if values:
                part = pc.field(column).isin(list(values))
                selected = part if selected is None else selected & part
        remaining = count
        for batch in self._data.to_batches(filter=selected, batch_size=min(_ROWS, count)):
            for row in batch.to_pylist()[:remaining]:
                yield row
                remaining -= 1
            if remaining <= 0:
                return


def _resolve(location: str, lake: Path | None) -> tuple[str, pafs.FileSystem]:
    if "://" not in location:
        return location, pafs.LocalFileSystem()
    if location.startswith("file://"):
        return location.removeprefix("file://"), pafs.LocalFileSystem()
    if lake is not None:
        return str(LakeFolder(lake.absolute()).path(location)), pafs.LocalFileSystem()
    where = parse_uri(location)
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    return f"{where.bucket}/{where.key}", pafs.S3FileSystem(endpoint_override=endpoint, region=region)
