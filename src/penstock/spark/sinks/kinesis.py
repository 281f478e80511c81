"""Rows put into a stream of Kinesis, at least once.

Spark makes key and value of each row; the driver puts them, so executors need neither Penstock nor credentials.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses
from pyspark.sql.types import StructType

from penstock.client.connection import translated_errors
from penstock.client.kinesis import StreamName
from penstock.errors import DataProblem, InvalidInput, PenstockError
from penstock.pipelines.sinks.kinesis import KinesisSink
from penstock.schema.version import SchemaText
from penstock.serdes.encoders import payload_encoder
from penstock.serdes.errors import SerdeError
from penstock.serdes.kinesis.aggregate import MAX_RECORD, Aggregator, UserRecord, check_keys
from penstock.serdes.kinesis.serdes import aggregated, open_shards, put_all
from penstock.spark.quoting import quoted
from penstock.spark.sinks.changes import written_columns
from penstock.spark.sinks.driver_rows import check_all_rows
from penstock.spark.sinks.port import Published, SinkBatch
from penstock.spark.sinks.values import PROBLEMS, ValueSchema, ValueSchemas, derived_avro, encoded
from penstock.spark.sources.kinesis.shards import Stream
from penstock.spark.sources.port import METADATA

__all__ = ["KinesisWriter"]

# Throttled records are sent again for about two minutes; then the whole batch is, within the pipeline's retries.
_ATTEMPTS = 30
_KEY, _HASH, _VALUE = "key", "hash", "value"
_ORDER = ("topic", "partition", "offset", "sequence")


class KinesisWriter:
    """One Kinesis sink in one run; a :class:`~penstock.spark.sinks.port.SinkWriter`.

    ``schemas`` None: those of the declared registry. ``client`` None: boto3's, of the declared region, endpoint and role.
    """

    def __init__(
        self, sink: KinesisSink, spark: SparkSession, schemas: ValueSchemas | None = None, *, client: Any = None
    ) -> None:
        self._sink = sink
        self._spark = spark
        self._schemas = schemas or ValueSchemas(sink.value)
        self._client = client

    @property
    def settings(self) -> KinesisSink:
        """Return what was declared."""
        return self._sink

    def check(self) -> None:
        """Describe the stream, and find the schema. Raises :class:`NotFound`, :class:`AccessDenied` and the like."""
        with translated_errors(self._opened(), f"stream {self._sink.topic} of sink {self._sink.name}"):
            self._opened().describe_stream_summary(**StreamName.of(self._sink.stream).arguments)
        if self._sink.value.frame is not None and not self._sink.value.register:
            self._schemas.find()

    def table(self) -> StructType | None:
        """Return None: a stream has no columns."""
        return None

    def publish(self, batch: SinkBatch) -> Published:
        """Put all rows, and those again that the stream refuses, until it has taken each of them.

        Rows that were put before a kill are put again. Raises :class:`DataProblem` for a row that is not a record, and
        :class:`EnvironmentProblem` if the stream refuses records for minutes.
        """
        if not batch.count:
            return Published(rows=0)
        counted = _Counter()
        records = counted.over(self._records(batch))
        entries: Iterable[Mapping[str, Any]]
        if self._sink.aggregate:
            entries = aggregated(records, Aggregator(shards=open_shards(self._opened(), self._sink.stream)))
        else:
            entries = map(_entry, records)
        with self._explained():
            put_all(self._opened(), self._sink.stream, entries, attempts=_ATTEMPTS)
        check_all_rows(self._sink.name, counted.records, batch.count)
        return Published(rows=counted.records, size=counted.size)

    def _records(self, batch: SinkBatch) -> Iterator[UserRecord]:
        columns = written_columns(batch.columns, self._sink)
        schema = self._schemas.version(partial(derived_avro, self._spark, columns))
        frame = self._frame(schema)
        for row in self._rows(batch, columns, schema).toLocalIterator(prefetchPartitions=True):
            try:
                record = UserRecord(row[_KEY] or "", frame(bytes(row[_VALUE])), row[_HASH])
                check_keys(record)
            except (InvalidInput, SerdeError) as error:
                raise DataProblem(
                    f"Sink {self._sink.name}: a row of batch {batch.number} cannot be put into stream {self._sink.topic}: "
                    f"{error.message}",
                    remedy=error.remedy or "Correct partition_key, or leave the row out with the sink's sql.",
                ) from error
            if len(record.data) + len(record.partition_key.encode()) > MAX_RECORD:
                raise DataProblem(
                    f"Sink {self._sink.name}: a row of batch {batch.number} has {len(record.data):,} bytes, more than a "
                    f"record of stream {self._sink.topic} may have ({MAX_RECORD:,}).",
                    remedy="Leave columns or such rows out with the sink's sql.",
                )
            yield record

    def _rows(self, batch: SinkBatch, columns: StructType, schema: ValueSchema | None) -> DataFrame:
        """Return the rows as partition key, explicit hash key (both strings) and value (binary), in the source's order."""
        sink, rows = self._sink, batch.rows
        body = F.struct(*(F.col(quoted(name)) for name in columns.names))
        value = encoded(body, sink.value, None if sink.value.format == "json" else schema)
        key = F.md5(value) if sink.partition_key is None else F.expr(sink.partition_key)
        hashed = F.lit(None) if sink.explicit_hash_key is None else F.expr(sink.explicit_hash_key)
        order = [METADATA[name] for name in _ORDER if METADATA[name] in rows.columns]
        if sink.partition_key is not None and order:
            rows = rows.coalesce(1).sortWithinPartitions(*order)
        try:
            return rows.select(key.cast("string").alias(_KEY), hashed.cast("string").alias(_HASH), value.alias(_VALUE))
        except AnalysisException as error:
            raise InvalidInput(
                f"Sink {sink.name}: its keys and values cannot be made of the rows: {str(error).splitlines()[0]}",
                remedy=f"The rows have the columns {', '.join(batch.rows.columns)}.",
            ) from None

    def _frame(self, schema: ValueSchema | None) -> Callable[[bytes], bytes]:
        """Return a function from a value as Spark has written it to the record's data; JSON is checked by its schema."""
        if schema is None or self._sink.value.format == "avro":
            return lambda value: value
        encode = payload_encoder(SchemaText(definition=schema.definition, data_format="JSON"))(schema.head)
        return lambda value: encode(json.loads(value))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except PenstockError:
            raise
        except Exception as error:
            text = str(error)
            for pattern, error_class, what, remedy in PROBLEMS:
                # The last cause is the most specific one.
                matching = [name.strip() for name in text.splitlines() if re.search(pattern, name)]
                if matching:
                    where, line = f"Sink {self._sink.name}: stream {self._sink.topic}", matching[-1].partition("Exception: ")
                    raise error_class(f"{where} {what}: {(line[2] or line[0])[:300].rstrip('.')}.", remedy=remedy) from error
            raise

    def _opened(self) -> Any:
        if self._client is None:
            sink = self._sink
            stream = Stream(
                name=sink.topic,
                region=sink.region or (sink.stream.split(":")[3] if sink.stream.startswith("arn:") else None),
                endpoint_url=sink.endpoint,
                role_arn=sink.role,
                role_session=f"penstock-{sink.name}",
            )
            self._client = stream.client()
        return self._client


class _Counter:
    """The number and the bytes of records that went by."""

    def __init__(self) -> None:
        self.records = self.size = 0

    def over(self, records: Iterable[UserRecord]) -> Iterator[UserRecord]:
        for record in records:
            self.records += 1
            self.size += len(record.data)
            yield record


def _entry(record: UserRecord) -> dict[str, Any]:
    entry: dict[str, Any] = {"Data": record.data, "PartitionKey": record.partition_key}
    return entry if record.explicit_hash_key is None else {**entry, "ExplicitHashKey": record.explicit_hash_key}
