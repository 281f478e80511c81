"""Decode frames to rows in the JVM: each record by its version id, every writer resolved to one reader.

A frame (AWS's): byte 3, compression byte (0 none, 5 zlib), 16 bytes of version id, payload. If a frame cannot be read,
the row keeps its bytes and gets a reason; see :data:`REASONS`.
"""

from collections.abc import Sequence
from functools import reduce
from uuid import UUID

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses
from pyspark.sql.avro.functions import from_avro

from penstock.errors import InvalidInput
from penstock.schema.version import SchemaVersion
from penstock.spark.decode.any_frame import decoded_frames
from penstock.spark.decode.frames import has_confluent_frame
from penstock.spark.decode.inflate import inflate
from penstock.spark.decode.readers import HEADER, MARK, MARK_VALUE, framed
from penstock.spark.decode.versions import DecodePlan
from penstock.spark.sources.port import shown_metadata

__all__ = ["COUNTED_REASONS", "REASONS", "body_columns", "decoded", "good_rows", "reason_counts", "version_ids"]

_NONE, _ZLIB = b"\x00", b"\x05"

REASONS = (
    "TOMBSTONE",
    "SHORT_FRAME",
    "WRONG_HEADER",
    "WRONG_COMPRESSION",
    "UNKNOWN_VERSION",
    "NEEDS_INFLATE",
    "NEEDS_FRAMES",
    "UNDECODABLE",
    "TRAILING_BYTES",
    "KEY_SHORT_FRAME",
    "KEY_WRONG_HEADER",
    "KEY_WRONG_COMPRESSION",
    "KEY_UNKNOWN_VERSION",
    "KEY_UNDECODABLE",
    "KEY_TRAILING_BYTES",
)
"""Why a record is not a row. TOMBSTONE is not an error; NEEDS_INFLATE and NEEDS_FRAMES request a second pass, with
zlib and with Confluent's frames."""

COUNTED_REASONS = ("TOMBSTONE", "UNKNOWN_VERSION", "NEEDS_INFLATE", "NEEDS_FRAMES")
"""Those that decide the next step. Each count costs time for every record; dead letters have the other counts."""


def _frame_id() -> Column:
    return F.substring("value", 3, 16)


def _is(column: Column, value: bytes) -> Column:
    return column == F.lit(bytearray(value))


def _framed() -> Column:
    """Return the column of whether a record is a frame."""
    compression = F.substring("value", 2, 1)
    return (
        (F.length("value") >= HEADER)
        & _is(F.substring("value", 1, 1), b"\x03")
        & (_is(compression, _NONE) | _is(compression, _ZLIB))
    )


def decoded(records: DataFrame, plan: DecodePlan, *, branches: int, zlib: bool) -> DataFrame:
    """Return Kafka's columns, ``_version`` (int), ``_reason`` (one of REASONS or null) and ``_row`` (struct).

    ``_version`` is the writer's number. Versions beyond ``branches`` are decoded in separate passes over their records.
    With ``zlib``, compressed payloads go through Python in Arrow batches. What is not Avro in AWS's frame alone takes the
    way of :mod:`penstock.spark.decode.any_frame`, and then there is also ``_prefix``, what the frame names.
    """
    if not plan.plain:
        return decoded_frames(records, plan, branches=branches, zlib=zlib)
    parts = [plan.writers[start : start + branches] for start in range(0, len(plan.writers), branches)] or [()]
    passes = [_one_pass(_part(records, parts, number), part, plan, zlib=zlib) for number, part in enumerate(parts)]
    return reduce(DataFrame.unionByName, passes)


def _part(records: DataFrame, parts: Sequence[tuple[SchemaVersion, ...]], number: int) -> DataFrame:
    """Return the records of one pass; the first pass also has those of no other pass."""
    if len(parts) == 1:
        return records
    ids = [bytearray(version.id.bytes) for part in (parts[1:] if number == 0 else [parts[number]]) for version in part]
    mine = F.coalesce(_frame_id().isin(ids), F.lit(False))
    return records.filter(~mine if number == 0 else mine)


def _one_pass(records: DataFrame, writers: Sequence[SchemaVersion], plan: DecodePlan, *, zlib: bool) -> DataFrame:
    """Return one decoded part. A good record costs a comparison for each version, a copy (the mark) and one of its tail."""
    head = F.col("_head")
    plain = [(_is(head, b"\x03" + _NONE + version.id.bytes), F.lit(version.number)) for version in writers]
    any_way = [(_is(_frame_id(), version.id.bytes), F.lit(version.number)) for version in writers]
    compressed = _is(F.substring("value", 2, 1), _ZLIB)
    # Separate columns, because Spark merges projections only if that repeats no work.
    rows = records.withColumn("_head", F.substring("value", 1, HEADER)).withColumn("_plain", _case(plain))
    frame, ready = F.col("value"), F.col("_plain")
    if zlib:
        payload = F.substring(F.col("value"), F.lit(HEADER + 1), F.length("value"))
        rows = rows.withColumn("_inflated", inflate(F.when(compressed, payload)))
        frame = F.when(F.col("_plain").isNull(), F.concat(head, F.col("_inflated"))).otherwise(frame)
        ready = F.col("_version")
    rows = rows.withColumn("_version", F.coalesce(F.col("_plain"), F.when(_framed(), _case(any_way))))
    marked = F.concat(frame, F.lit(bytearray(MARK)))
    reader = framed(plan.reader_definition)
    options = {"avroSchema": reader, "mode": "PERMISSIVE"}
    branches = [
        (ready == version.number, from_avro(marked, framed(version.definition, header=True), options)) for version in writers
    ]
    # Without a writer there is nothing to decode, and the reader only determines the row's type.
    rows = rows.withColumn("_row", _case(branches or [(F.lit(False), from_avro(marked, reader, options))]))
    other = has_confluent_frame(records) if plan.frames == "any" else None
    return rows.withColumn("_reason", _reason(compressed, other, zlib=zlib)).drop("_head", "_plain", "_inflated")


def _case(branches: Sequence[tuple[Column, Column]]) -> Column:
    if not branches:
        return F.lit(None).cast("int")
    return reduce(lambda case, branch: case.when(*branch), branches[1:], F.when(*branches[0]))


def _reason(compressed: Column, other: Column | None, *, zlib: bool) -> Column:
    compression = F.substring("value", 2, 1)
    tail = F.col("_row.tail")
    reason = (
        # Most records are good: this case comes first, and the others are not evaluated for them.
        F.when(tail == F.lit(MARK_VALUE), F.lit(None).cast("string")).when(F.col("value").isNull(), "TOMBSTONE")
    )
    if other is not None:
        reason = reason.when(other, "NEEDS_FRAMES")
    reason = (
        reason.when(F.length("value") < HEADER, "SHORT_FRAME")
        .when(~_is(F.substring("value", 1, 1), b"\x03"), "WRONG_HEADER")
        .when(~(_is(compression, _NONE) | _is(compression, _ZLIB)), "WRONG_COMPRESSION")
        .when(F.col("_version").isNull(), "UNKNOWN_VERSION")
    )
    if not zlib:
        reason = reason.when(compressed, "NEEDS_INFLATE")
    return reason.when(tail.isNull(), "UNDECODABLE").otherwise("TRAILING_BYTES")


def version_ids(records: DataFrame, versions: Sequence[SchemaVersion] = (), *, limit: int = 1000) -> list[UUID]:
    """Return the distinct version ids in the frames of ``records``, without those of ``versions``; reads the source."""
    ids = records.filter(_framed()).select(_frame_id().alias("id"))
    if versions:
        ids = ids.filter(~F.col("id").isin([bytearray(version.id.bytes) for version in versions]))
    return [UUID(bytes=bytes(row.id)) for row in ids.distinct().limit(limit).collect()]


def body_columns(frame: DataFrame) -> list[Column]:
    """Return the reader's fields as columns, then the key's; a schema that is not a record has one column, ``value``.

    Raises :class:`InvalidInput` if a key's column is named as one of the value's.
    """
    body = frame.select("_row.body").schema[0].dataType
    names: list[str] | None = getattr(body, "names", None)
    columns = [F.col("_row.body").getField(name).alias(name) for name in names or ()]
    if names is None:
        columns = [F.col("_row.body").alias("value")]
    if "_key_row" not in frame.columns:
        return columns
    keys: list[str] = frame.select("_key_row.*").columns
    both = {name.lower() for name in names or ("value",)} & {name.lower() for name in keys}
    if both:
        raise InvalidInput(
            f"Column '{min(both)}' of the keys is also one of the values.",
            remedy="Set decode.key.prefix to another beginning.",
        )
    return [*columns, *(F.col("_key_row").getField(name).alias(name) for name in keys)]


def good_rows(frame: DataFrame, plan: DecodePlan, counts: Observation) -> DataFrame:
    """Return the rows of a decoded ``frame``: the reader's fields and the metadata. ``counts`` gets the counts.

    The counting also keeps Spark from pushing the filter below the decode, which would then run twice.
    """
    shown = shown_metadata(frame)
    fields = body_columns(frame)
    flat = [field.alias(f"_field{number}") for number, field in enumerate(fields)]  # one level less for Spark to copy
    names = [field.name for field in frame.select(*fields).schema.fields]
    rows = frame.select(*flat, *shown, "_reason").observe(counts, *_read_counts(plan)).filter(F.col("_reason").isNull())
    metadata = [F.col(name).alias(alias) for name, alias in shown.items()]
    return rows.select(*(F.col(f"_field{number}").alias(name) for number, name in enumerate(names)), *metadata)


def reason_counts(reasons: Sequence[str]) -> list[Column]:
    """Return a count of each of ``reasons``, named by it."""
    return [F.count(F.when(F.col("_reason") == reason, 1)).alias(reason) for reason in reasons]


def _read_counts(plan: DecodePlan) -> list[Column]:
    return [
        F.count(F.lit(1)).alias("records"),
        F.min(F.unix_millis("timestamp")).alias("oldest"),
        F.count("_reason").alias("bad"),
        *reason_counts(COUNTED_REASONS),
        *(F.count(F.when(F.col("_version") == writer.number, 1)).alias(f"v{writer.number}") for writer in plan.writers),
    ]
