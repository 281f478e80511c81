"""A batch that is written once, whatever happens: one that ``forEachBatch`` runs again adds nothing.

Its number identifies a batch within a checkpoint, and Spark gives a repeated batch the same records. Tables of Delta and of
databases remember the batch in the transaction of its rows, as those of pipelines do. Of files, there is a hidden folder
below the path with a file for each batch: first with the files that it will have, then, when they are in place, that it is
done. A batch that died between the two is taken back before it is written again.
"""

import hashlib
import json
from collections.abc import Sequence

from pyspark.sql import DataFrame

from penstock.client.secrets import secret_login
from penstock.errors import InvalidInput
from penstock.glue.session import in_utc
from penstock.glue.sinks.batches import persisted_batch
from penstock.glue.sinks.staging import publish
from penstock.glue.sources.listing import check_bucket
from penstock.pipelines.sinks.delta import DeltaSink
from penstock.pipelines.sinks.jdbc import JdbcSink
from penstock.spark.hadoop import HadoopFiles
from penstock.spark.sinks.delta import DeltaWriter
from penstock.spark.sinks.jdbc.writer import JdbcWriter
from penstock.spark.sinks.port import SinkWriter

__all__ = ["write_batch_once", "write_batch_once_to_database"]

_FORMATS = ("parquet", "json", "csv", "orc", "avro", "delta")


def write_batch_once(
    frame: DataFrame,
    batch_id: int,
    path: str,
    *,
    checkpoint: str,
    format: str = "parquet",
    partition_by: Sequence[str] = (),
    **options: str,
) -> bool:
    """Add a batch's rows to the files or the Delta table at ``path``, unless it has written them; return if it has now.

    ``batch_id`` and ``checkpoint`` are those of ``forEachBatch``, ``options`` those of Spark's writer of files. Several
    writes of one function need a path each. Raises :class:`InvalidInput` for another format, and
    :class:`penstock.errors.NotFound` for a bucket that does not exist.
    """
    if format not in _FORMATS:
        raise InvalidInput(f"Format {format!r} is not one of files.", remedy=f"Use one of {', '.join(_FORMATS)}.")
    check_bucket(frame.sparkSession, path)
    if format == "delta":
        if options:
            raise InvalidInput("A Delta table's batch has no options of the writer.", remedy="Leave them out.")
        sink = DeltaSink(name="delta", location=path, partition_by=tuple(partition_by))
        return _published(DeltaWriter(sink, frame.sparkSession), frame, batch_id, checkpoint, path)
    files = HadoopFiles(frame.sparkSession)
    record = f"{path.rstrip('/')}/_glue/{_stream(checkpoint, size=8)}/{batch_id:010d}"
    if files.exists(f"{record}.done"):
        return False
    if files.exists(f"{record}.begun"):
        for file in json.loads(files.read(f"{record}.begun")):
            files.delete(file)

    def save(folder: str) -> None:
        writer = frame.write.format(format).options(**options)
        (writer.partitionBy(*partition_by) if partition_by else writer).save(folder)

    def begun(planned: Sequence[str]) -> None:
        files.write(f"{record}.begun", json.dumps(list(planned)).encode())

    written = publish(files, path, save, before=begun)
    files.write(f"{record}.done", json.dumps({"files": len(written)}).encode())
    files.delete(f"{record}.begun")
    return True


def write_batch_once_to_database(frame: DataFrame, batch_id: int, table: str, *, connection: str, checkpoint: str) -> bool:
    """Add a batch's rows to a table of PostgreSQL or Redshift, unless it has written them; return if it has now.

    ``batch_id`` and ``checkpoint`` are those of ``forEachBatch``, ``connection`` is a Glue connection of type JDBC. Several
    writes of one function need a table each. The schema gets a table of markers, ``penstock_batches``. Raises as writes to
    such a table do.
    """
    writer = JdbcWriter(JdbcSink(name="jdbc", connection=connection, table=table), secret_login)
    with in_utc(frame) as rows:
        return _published(writer, rows, batch_id, checkpoint, f"{connection}/{table}")


def _published(writer: SinkWriter, frame: DataFrame, number: int, checkpoint: str, target: str) -> bool:
    writer.check()
    with persisted_batch(frame, target, query=_stream(checkpoint, size=16), number=number) as batch:
        return not writer.publish(batch).replayed


def _stream(checkpoint: str, *, size: int) -> str:
    return hashlib.blake2b(checkpoint.rstrip("/").encode(), digest_size=size).hexdigest()
