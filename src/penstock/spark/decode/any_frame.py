"""Decode frames of every kind and format; slower than :mod:`penstock.spark.decode.records` for Avro in AWS's frame."""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses
from pyspark.sql.types import StructType

from penstock.pipelines.decode import MAX_BRANCHES
from penstock.spark.decode.formats.port import GOOD, Payloads
from penstock.spark.decode.frames import KEY, VALUE, FrameSite, has_confluent_frame, is_compressed, with_payloads
from penstock.spark.decode.versions import DecodePlan

__all__ = ["decoded_frames"]


def decoded_frames(records: DataFrame, plan: DecodePlan, *, branches: int, zlib: bool, site: FrameSite = VALUE) -> DataFrame:
    """Return ``records`` with ``prefix``, ``version``, ``reason`` and ``row``, each after ``site.name``.

    They are as of :func:`penstock.spark.decode.records.decoded`. Avro versions beyond ``branches`` take passes of their own.
    """
    name = site.name
    rows = with_payloads(records, plan.prefixes, frames=plan.frames, unframed=plan.unframed, zlib=zlib, site=site)
    version = F.col(f"{name}version")
    payloads = Payloads(payload=F.col(f"{name}payload"), version=version, index=F.col(f"{name}index"))
    size = branches if plan.data_format == "AVRO" else max(1, len(plan.writers))
    parts = [plan.writers[start : start + size] for start in range(0, len(plan.writers), size)] or [()]
    passes = []
    for number, part in enumerate(parts):
        mine = F.coalesce(version.isin([schema_version.number for schema_version in part]), F.lit(False))
        later = F.coalesce(version.isin([writer.number for writer in plan.writers[size:]]), F.lit(False))
        some = rows if len(parts) == 1 else rows.filter(~later if number == 0 else mine)
        passes.append(some.withColumn(f"{name}row", plan.format.rows(payloads, part, plan.reader_definition)))
    reason = _reason(records, plan, site, zlib=zlib)
    decoded = reduce(DataFrame.unionByName, passes).withColumn(f"{name}reason", reason)
    decoded = decoded.drop(f"{name}payload", f"{name}index", f"{name}flaw")
    return decoded if plan.key is None else _with_keys(decoded, plan.key, plan.key_prefix)


def _with_keys(rows: DataFrame, plan: DecodePlan, prefix: str) -> DataFrame:
    """Return ``rows`` with ``_key_row``, the key's columns with their names. A bad key makes the record a dead letter."""
    decoded = decoded_frames(rows, plan, branches=MAX_BRANCHES, zlib=plan.zlib, site=KEY)
    data_type = decoded.select("_key_row.body").schema[0].dataType
    body = F.col("_key_row.body")
    if isinstance(data_type, StructType):
        columns = [body.getField(name).alias(prefix + name) for name in data_type.names]
    else:
        columns = [body.alias(prefix.rstrip("_") or "key")]
    reason = F.col("_key_reason")
    waits = reason.isin("NEEDS_INFLATE", "NEEDS_FRAMES") | (F.lit(plan.learning) & (reason == "UNKNOWN_VERSION"))
    mine = F.when(reason == "TOMBSTONE", None).when(waits, "NEEDS_FRAMES").otherwise(F.concat(F.lit("KEY_"), reason))
    return (
        decoded.withColumn("_key_row", F.struct(*columns))
        .withColumn("_reason", F.coalesce(F.col("_reason"), mine))
        .drop("_key_reason", "_key_prefix", "_key_version")
    )


def _reason(records: DataFrame, plan: DecodePlan, site: FrameSite, *, zlib: bool) -> Column:
    name = site.name
    tail = F.col(f"{name}row.tail")
    reason = F.when(tail == F.lit(GOOD), F.lit(None).cast("string")).when(F.col(site.column).isNull(), "TOMBSTONE")
    if plan.frames == "any" and not plan.mixed:
        reason = reason.when(has_confluent_frame(records, site), "NEEDS_FRAMES")
    reason = reason.when(F.col(f"{name}flaw").isNotNull(), F.col(f"{name}flaw"))
    reason = reason.when(F.col(f"{name}version").isNull(), "UNKNOWN_VERSION")
    if not zlib and plan.frames in ("any", "glue"):
        reason = reason.when(is_compressed(site), "NEEDS_INFLATE")
    if plan.inferred and plan.learning:
        reason = reason.when(tail.isNull(), "NEEDS_FRAMES")
    return reason.when(tail.isNull(), "UNDECODABLE").otherwise("TRAILING_BYTES")
