"""Records as a source gives them, and what decoding makes of them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import NotFound
from penstock.pipelines.decode import Decode
from penstock.schema.version import SchemaVersion
from penstock.spark.decode.records import decoded
from penstock.spark.decode.versions import DecodePlan, SchemaVersions

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
DECODE = Decode(registry="tests", schema="things")


def version(number: int, definition: Any, data_format: str) -> SchemaVersion:
    """Version ``number``, whose id tells the number; a definition that is not text is written as JSON."""
    return SchemaVersion(
        id=UUID(int=(0xBEEF << 96) + number),
        schema_arn="arn:aws:glue:us-east-1:000000000000:schema/tests/things",
        registry_name="tests",
        schema_name="things",
        number=number,
        definition=definition if isinstance(definition, str) else json.dumps(definition),
        data_format=data_format,
    )


@dataclass
class Listed:
    """A registry's list of versions."""

    listed: Sequence[SchemaVersion] = field(default_factory=list)

    def versions(self, registry: str, schema: str, *, available_only: bool = True) -> Sequence[SchemaVersion]:
        return self.listed

    def version(self, version_id: UUID | str) -> SchemaVersion:
        raise NotFound(f"No version {version_id}.")


def glue(of: SchemaVersion, payload: bytes, *, compression: int = 0) -> bytes:
    """A payload in AWS's frame."""
    return bytes((3, compression)) + of.id.bytes + payload


@dataclass(frozen=True)
class Result:
    """A decoded record: the writer's number, why it is not a row, and the row."""

    version: int | None
    reason: str | None
    row: Mapping[str, Any] | None


def decode(
    spark: SparkSession,
    values: Sequence[bytes | None],
    versions: Sequence[SchemaVersion],
    settings: Decode = DECODE,
    *,
    zlib: bool = False,
    headers: Sequence[Mapping[str, bytes]] = (),
    keys: Sequence[bytes | None] = (),
    known: SchemaVersions | None = None,
) -> list[Result]:
    """Decode values (with record headers, if any) as one batch, in their order."""
    if known is None:
        known = SchemaVersions(Listed(versions), settings)
        known.refresh()
    with TemporaryDirectory() as folder:
        records = write_records(spark, Path(folder) / "records.parquet", values, headers=headers, keys=keys)
        return _decoded(records, known.plan(), settings, zlib=zlib)


def write_records(
    spark: SparkSession,
    file: Path,
    values: Sequence[bytes | None],
    *,
    headers: Sequence[Mapping[str, bytes]] = (),
    keys: Sequence[bytes | None] = (),
) -> DataFrame:
    """Write records as a source gives them to a Parquet file, and return them from there."""
    now = datetime(2026, 1, 2, tzinfo=UTC)
    columns: dict[str, Any] = {
        "key": pa.array(keys or [None] * len(values), pa.binary()),
        "value": pa.array(values, pa.binary()),
        "topic": pa.array(["t"] * len(values)),
        "partition": pa.array([0] * len(values), pa.int32()),
        "offset": pa.array(range(len(values)), pa.int64()),
        "timestamp": pa.array([now] * len(values), pa.timestamp("us", "UTC")),
    }
    if headers:
        pairs = [[{"key": name, "value": value} for name, value in header.items()] for header in headers]
        columns["headers"] = pa.array(pairs, HEADERS)
    pq.write_table(pa.table(columns), file)
    return spark.read.parquet(f"file://{file}")


def _decoded(records: DataFrame, plan: DecodePlan, settings: Decode, *, zlib: bool) -> list[Result]:
    frame = decoded(records, plan, branches=settings.max_branches, zlib=zlib)
    rows = frame.select("offset", "_version", "_reason", "_row.body").orderBy("offset").collect()
    return [
        Result(row._version, row._reason, None if row._reason or row.body is None else row.body.asDict(recursive=True))
        for row in rows
    ]
