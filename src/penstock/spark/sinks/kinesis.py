"""Rows put into a stream of Kinesis, at least once.

Spark makes key and value of each row; the driver frames and puts them, so executors need neither Penstock nor credentials.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Protocol

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.avro.functions import to_avro
from pyspark.sql.types import StructType

from penstock.client.connection import translated_errors
from penstock.client.registry import RegistryClient
from penstock.errors import DataProblem, InvalidInput
from penstock.pipelines.sinks.kinesis import KinesisSink
from penstock.schema.version import SchemaText, SchemaVersion
from penstock.serdes.encoders import payload_encoder
from penstock.serdes.errors import SerdeError
from penstock.serdes.frame import header
from penstock.serdes.kinesis.aggregate import MAX_RECORD, Aggregator, UserRecord, check_keys
from penstock.serdes.kinesis.serdes import aggregated, open_shards, put_all
from penstock.spark.sinks.changes import written_columns
from penstock.spark.sinks.port import Published, SinkBatch
from penstock.spark.sources.kinesis.shards import Stream

__all__ = ["KinesisWriter"]

# Throttled records are sent again for about two minutes; then the whole batch is, within the pipeline's retries.
_ATTEMPTS = 30
_KEY, _HASH, _VALUE = "key", "hash", "value"

Frame = Callable[[bytes], bytes]


class LatestVersion(Protocol):
    """What the writer needs of a registry."""

    def latest(self, registry: str, schema: str) -> SchemaVersion:
        """Return the latest AVAILABLE version of a schema."""
        ...


class KinesisWriter:
    """One Kinesis sink in one run; a :class:`~penstock.spark.sinks.port.SinkWriter`."""

    def __init__(self, sink: KinesisSink, registry: LatestVersion | None = None) -> None:
        self._sink = sink
        self._registry = registry
        self._client: Any = None

    @property
    def settings(self) -> KinesisSink:
        """Return what was declared."""
        return self._sink

    def check(self) -> None:
        """Describe the stream, and find the schema. Raises :class:`NotFound`, :class:`AccessDenied` and the like."""
        with translated_errors(self._opened(), f"stream {self._sink.topic} of sink {self._sink.name}"):
            self._opened().describe_stream_summary(StreamName=self._sink.topic)
        self._version()

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
        version = self._version()
        counted = _Counter()
        records = counted.over(self._records(batch, version))
        entries: Iterable[Mapping[str, Any]]
        if self._sink.aggregate:
            entries = aggregated(records, Aggregator(shards=open_shards(self._opened(), self._sink.topic)))
        else:
            entries = map(_entry, records)
        put_all(self._opened(), self._sink.topic, entries, attempts=_ATTEMPTS)
        return Published(rows=counted.records, size=counted.size)

    def _records(self, batch: SinkBatch, version: SchemaVersion | None) -> Iterator[UserRecord]:
        frame = _frame(version)
        for row in self._rows(batch, version).toLocalIterator(prefetchPartitions=True):
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

    def _rows(self, batch: SinkBatch, version: SchemaVersion | None) -> DataFrame:
        """Return the rows as partition key, explicit hash key (both strings) and value (binary)."""
        names = written_columns(batch.columns, self._sink).names
        value = self._value(names, version)
        key = F.md5(value) if self._sink.partition_key is None else F.expr(self._sink.partition_key)
        hashed = F.lit(None) if self._sink.explicit_hash_key is None else F.expr(self._sink.explicit_hash_key)
        try:
            return batch.rows.select(key.cast("string").alias(_KEY), hashed.cast("string").alias(_HASH), value.alias(_VALUE))
        except AnalysisException as error:
            raise InvalidInput(
                f"Sink {self._sink.name}: its keys and values cannot be made of the rows: {str(error).splitlines()[0]}",
                remedy=f"The rows have the columns {', '.join(batch.rows.columns)}.",
            ) from None

    def _value(self, names: list[str], version: SchemaVersion | None) -> Column:
        if version is None or version.data_format == "JSON":
            record = F.struct(*(F.col(f"`{name}`") for name in names))
            return F.to_json(record, {"ignoreNullFields": "false"}).cast("binary")
        fields = [field["name"] for field in json.loads(version.definition)["fields"]]
        unknown = [name for name in names if name not in fields]
        if unknown:
            raise InvalidInput(
                f"Sink {self._sink.name}: version {version.number} of schema {self._sink.schema} has no field "
                f"{', '.join(unknown)}.",
                remedy="Leave these columns out with the sink's sql, or register a version that has them.",
            )
        record = F.struct(*(F.col(f"`{name}`") for name in fields if name in names))
        return to_avro(record, version.definition)

    def _version(self) -> SchemaVersion | None:
        sink = self._sink
        if sink.registry is None or sink.schema is None:
            return None
        if self._registry is None:
            self._registry = RegistryClient(attempts=2)
        found = self._registry.latest(sink.registry, sink.schema)
        if found.data_format not in {"AVRO", "JSON"}:
            raise InvalidInput(
                f"Sink {sink.name}: schema {sink.schema} is of format {found.data_format}, which is not written to streams.",
                remedy="Use a schema of format AVRO or JSON.",
            )
        return found

    def _opened(self) -> Any:
        if self._client is None:
            sink = self._sink
            place = Stream(
                name=sink.topic,
                region=sink.region or (sink.stream.split(":")[3] if sink.stream.startswith("arn:") else None),
                endpoint_url=sink.endpoint,
                role_arn=sink.role,
                role_session=f"penstock-{sink.name}",
            )
            self._client = place.client()
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
    found: dict[str, Any] = {"Data": record.data, "PartitionKey": record.partition_key}
    return found if record.explicit_hash_key is None else {**found, "ExplicitHashKey": record.explicit_hash_key}


def _frame(version: SchemaVersion | None) -> Frame:
    """Return a function from a value as Spark has written it to the record's data."""
    if version is None:
        return lambda value: value
    head = header(version.id)
    if version.data_format == "AVRO":
        return lambda value: head + value
    encode = payload_encoder(SchemaText(definition=version.definition, data_format=version.data_format))(head)
    return partial(_checked, encode)


def _checked(encode: Callable[[Any], bytes], value: bytes) -> bytes:
    return encode(json.loads(value))
