"""What a task does with a partition: returns the records that the planner has fetched for it.

Spark ships this module's class to executors by value (see :meth:`.reader.KinesisReader.__reduce__`), so it imports only
what every PySpark worker has. A partition's value has the members ``inline`` (an Arrow stream as bytes, or None), ``file``
(its path, or None), ``shard``, ``start``, ``end`` and ``options``.
"""

import os
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

__all__ = ["PartitionReader"]


class PartitionReader:
    """Reads one partition."""

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """Yield the partition's records as Arrow batches.

        They were sent with the partition, or are in a file on this machine or a shared folder. Where neither is so, they
        are read from Kinesis again, which needs Penstock on this machine.
        """
        part = partition.value
        if part["inline"] is not None:
            with pa.ipc.open_stream(part["inline"]) as batches:
                yield from batches
        elif part["file"] is not None and os.path.exists(part["file"]):  # noqa: PTH110 - shipped without pathlib
            with pa.OSFile(part["file"]) as file, pa.ipc.open_stream(file) as batches:
                yield from batches
        else:
            yield from self._again(part)

    def _again(self, part: dict[str, Any]) -> Iterator[pa.RecordBatch]:
        try:
            from penstock.spark.sources.kinesis.ranges import range_batches  # noqa: PLC0415 - only where it is installed
        except ImportError:
            raise RuntimeError(
                f"Records of shard {part['shard']} were fetched on the driver's machine, into {part['file']}, which this "
                "machine cannot read. Set the source's option prefetchLocation to a folder that all machines share, raise "
                "maxInlineBytes, or install 'penstock[spark,kinesis]' on the executors, which then read the records again."
            ) from None
        yield from range_batches(part["options"], part["shard"], part["start"], part["end"])
