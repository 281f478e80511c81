"""Decode frames of every kind and format; slower than :mod:`penstock.spark.decode.records` for Avro in AWS's frame."""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from penstock.spark.decode.formats.port import GOOD, Payloads
from penstock.spark.decode.frames import VALUE, FrameSite, has_confluent_frame, is_compressed, with_payloads
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
        mine = F.coalesce(version.isin([each.number for each in part]), F.lit(False))
        later = F.coalesce(version.isin([each.number for each in plan.writers[size:]]), F.lit(False))
        some = rows if len(parts) == 1 else rows.filter(~later if number == 0 else mine)
        passes.append(some.withColumn(f"{name}row", plan.format.rows(payloads, part, plan.reader_definition)))
    reason = _reason(records, plan, site, zlib=zlib)
    done = reduce(DataFrame.unionByName, passes).withColumn(f"{name}reason", reason)
    return done.drop(f"{name}payload", f"{name}index", f"{name}flaw")


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
    return reason.when(tail.isNull(), "UNDECODABLE").otherwise("TRAILING_BYTES")
