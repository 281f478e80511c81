"""Files of a batch that are written once, whatever happens: a batch that ``forEachBatch`` runs again adds nothing.

Its number identifies a batch within a checkpoint, and Spark gives a repeated batch the same records. Below the path is a
hidden folder with a file for each batch: first with the files that it will have, then, when they are in place, that it is
done. A batch that died between the two is taken back before it is written again.
"""

import hashlib
import json
from collections.abc import Sequence

from pyspark.sql import DataFrame

from penstock.errors import InvalidInput
from penstock.spark.glue.sinks.staging import publish
from penstock.spark.glue.sources.listing import check_bucket
from penstock.spark.hadoop import HadoopFiles

__all__ = ["write_batch_once"]

_FORMATS = ("parquet", "json", "csv", "orc", "avro")


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
    """Add a batch's rows to the files below ``path``, unless it has written them; return whether it has written now.

    ``batch_id`` and ``checkpoint`` are those of ``forEachBatch``, ``options`` those of Spark's writer. Several writes of one
    function need a path each. Raises :class:`InvalidInput` for a format that is not of files, and
    :class:`penstock.errors.NotFound` for a bucket that does not exist.
    """
    if format not in _FORMATS:
        raise InvalidInput(f"Format {format!r} is not one of files.", remedy=f"Use one of {', '.join(_FORMATS)}.")
    check_bucket(frame.sparkSession, path)
    files = HadoopFiles(frame.sparkSession)
    stream = hashlib.blake2b(checkpoint.rstrip("/").encode(), digest_size=8).hexdigest()
    place = f"{path.rstrip('/')}/_glue/{stream}/{batch_id:010d}"
    if files.exists(f"{place}.done"):
        return False
    if files.exists(f"{place}.begun"):
        for file in json.loads(files.read(f"{place}.begun")):
            files.delete(file)

    def save(folder: str) -> None:
        writer = frame.write.format(format).options(**options)
        (writer.partitionBy(*partition_by) if partition_by else writer).save(folder)

    def begun(planned: Sequence[str]) -> None:
        files.write(f"{place}.begun", json.dumps(list(planned)).encode())

    written = publish(files, path, save, before=begun)
    files.write(f"{place}.done", json.dumps({"files": len(written)}).encode())
    files.delete(f"{place}.begun")
    return True
