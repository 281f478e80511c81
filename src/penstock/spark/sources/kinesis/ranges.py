"""A range of a shard read again by its sequence numbers: exactly the records that were planned.

It is read again if the process that planned the batch is gone, or if a task cannot read what the planner fetched.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pyarrow as pa

from penstock.errors import DataProblem
from penstock.spark.sources.kinesis.options import plain_options
from penstock.spark.sources.kinesis.prefetch import record_batch
from penstock.spark.sources.kinesis.shards import PacedFetcher, Position, ReadOptions, Stream

__all__ = ["pages_between", "range_batches"]


def range_batches(options: Mapping[str, str], shard: str, start: Position, end: Position) -> Iterator[pa.RecordBatch]:
    """Yield the records of a range as :data:`~.prefetch.ARROW_SCHEMA`; ``options`` are the source's."""
    source = plain_options(options)
    client = _task_client(source.stream)
    for page in pages_between(client, source.stream, source.reading, shard, start, end):
        yield record_batch(source.stream.name, shard, page)


def pages_between(  # noqa: PLR0917 - a range's parts
    client: Any, stream: Stream, reading: ReadOptions, shard: str, start: Position, end: Position
) -> Iterator[list[dict[str, Any]]]:
    """Yield the shard's records after ``start`` up to and including ``end``, as get_records returns them, in order.

    Records of the range that the stream has lost are left out, or raise :class:`DataProblem` with ``fail_on_data_loss``.
    """
    last = end.get("after")
    if last is None or start.get("after") == last:
        return
    fetcher = PacedFetcher(client, stream, reading, shard, start)
    while True:
        fetched = fetcher.next(reading.page)
        page = [record for record in fetched if int(record["SequenceNumber"]) <= int(last)]
        if page:
            yield page
        if fetched and int(fetched[-1]["SequenceNumber"]) >= int(last):
            if not page or page[-1]["SequenceNumber"] != last:
                _lost(stream, shard, last, reading)
            return
        if fetcher.ended or fetcher.behind_ms == 0:
            _lost(stream, shard, last, reading)
            return


def _lost(stream: Stream, shard: str, last: str, reading: ReadOptions) -> None:
    if reading.fail_on_data_loss:
        raise DataProblem(
            f"Records up to {last} of shard {shard} of stream {stream.name} were lost before they were read.",
            remedy="The stream's retention is too short. Leave failOnDataLoss out to continue without them.",
        )


@cache
def _task_client(stream: Stream) -> Any:
    """Return one client for all tasks of a worker process, because creating one takes longer than many reads."""
    return stream.client()
