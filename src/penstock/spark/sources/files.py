"""Files that arrive in a folder as a stream, on Spark's own file source: its checkpoint has the files of each batch."""

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses
from pyspark.sql.streaming.readwriter import DataStreamReader

from penstock.errors import InvalidInput, NotFound
from penstock.lake.ledger import Batch
from penstock.pipelines.sources.files import FileSource
from penstock.spark.hadoop import HadoopFiles
from penstock.spark.session import mount_bucket
from penstock.spark.sources.port import OPTIONAL_COLUMNS, RECORD_COLUMNS

__all__ = ["FileStream"]

_UNKNOWN_COUNT = 1_000_000
"""The records of a batch are not known from its offsets; this many let all files be written by tasks of their own."""

_WHOLE = "path string, modificationTime timestamp, length bigint, content binary"
"""The columns of Spark's binaryFile format."""

_EVER = "36500d"
"""Spark ignores files that are a week older than the newest one, unless it is configured otherwise."""


class FileStream:
    """One folder in one run; a :class:`~penstock.spark.sources.port.StreamSource`."""

    available_now = True

    def __init__(self, source: FileSource) -> None:
        self._source = source

    @property
    def description(self) -> str:
        """Return format and folder, for messages."""
        return self._source.description

    def check(self) -> None:
        """Nothing is connected to; :meth:`read` looks for the folder."""

    def read(self, spark: SparkSession, *, starting: str | None) -> DataFrame:
        """Return the records as RECORD_COLUMNS and ``sequence``, with ``headers`` where the files can have them.

        ``sequence`` distinguishes a record without an offset from the others of its batch.

        Raises :class:`NotFound` without the folder, and :class:`InvalidInput` for ``starting``: files have no offsets that
        hold without their checkpoint.
        """
        source = self._source
        if starting is not None:
            raise InvalidInput(
                f"The ledger's offsets do not say which files of {source.location} were read.",
                remedy="Restore the checkpoint, or move the files that were read out of the folder and name a new pipeline.",
            )
        mount_bucket(spark, source.location)
        if not HadoopFiles(spark).exists(source.location):
            raise NotFound(
                f"The folder {source.location} does not exist.", remedy="Create it, or correct source.files.location."
            )
        reader = self._reader(spark)
        match source.format:
            case "json":
                lines = reader.format("text").load(source.location).filter(F.length(F.trim("value")) > 0)
                return _records(lines, value=F.col("value").cast("binary"))
            case "binary":
                whole = reader.schema(_WHOLE).format("binaryFile").load(source.location)
                return _records(whole, value=F.col("content"))
            case _:
                return self._rows(reader)

    def _reader(self, spark: SparkSession) -> DataStreamReader:
        options: dict[str, object] = {
            "recursiveFileLookup": "true",
            "maxFileAge": _EVER,
            "pathGlobFilter": self._source.glob,
            "maxFilesPerTrigger": self._source.max_files_per_trigger,
            "maxBytesPerTrigger": self._source.max_bytes_per_trigger,
        }
        return spark.readStream.options(**{name: str(value) for name, value in options.items() if value is not None})

    def _rows(self, reader: DataStreamReader) -> DataFrame:
        """Return the records that are rows of files; columns that a file lacks are null."""
        source = self._source
        columns = {name: type_name for name, type_name in RECORD_COLUMNS.items() if name not in {"key", "value"}}
        columns |= {source.key: "binary", source.value: "binary", "kafka_timestamp": "timestamp"}
        columns |= {"headers": OPTIONAL_COLUMNS["headers"]}
        schema = ", ".join(f"`{name}` {type_name}" for name, type_name in columns.items())
        rows = reader.schema(schema).format(source.format).load(source.location)
        moment = F.coalesce("timestamp", "kafka_timestamp", "_metadata.file_modification_time")
        return _records(
            rows,
            key=F.col(f"`{source.key}`"),
            value=F.col(f"`{source.value}`"),
            topic=F.when(F.col("offset").isNotNull(), F.col("topic")),
            partition=F.coalesce("partition", F.lit(0)),
            offset=F.col("offset"),
            timestamp=moment,
            headers=F.col("headers"),
        )

    def count(self, batch: Batch) -> int:  # noqa: ARG002
        """Return a large number: Spark's offsets of files do not count records."""
        return _UNKNOWN_COUNT

    def lost(self, batch: Batch, records: int) -> list[str]:  # noqa: ARG002
        """Return nothing: a file of a batch that is gone is an error of Spark's."""
        return []


def _records(files: DataFrame, **columns: Column) -> DataFrame:
    """Return ``files`` with the columns of records; those that are not given are of the file."""
    available = {
        "key": F.lit(None),
        "partition": F.lit(0),
        "offset": F.lit(None),
        "timestamp": F.col("_metadata.file_modification_time"),
        **columns,
    }
    # Another topic's name would say less than the file, and would not tell two files' records apart.
    available["topic"] = F.coalesce(columns.get("topic", F.lit(None)), F.col("_metadata.file_path"))
    # Spark plans a batch once, with a seed for its UUIDs, so that they are the same in all reads of the batch.
    available["sequence"] = F.when(available["offset"].isNull(), F.expr("uuid()"))
    types = {**RECORD_COLUMNS, **OPTIONAL_COLUMNS}
    names = [*RECORD_COLUMNS, "sequence", *(["headers"] if "headers" in columns else [])]
    return files.select(*(available[name].cast(types[name]).alias(name) for name in names))
