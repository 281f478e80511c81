"""The rows of decoded records: the reader's fields beside the records' metadata, with counts of all records."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from penstock.spark.decode.records import body_columns
from penstock.spark.decode.versions import DecodePlan
from penstock.spark.sources.port import shown_metadata

__all__ = ["ASKED", "good_rows", "reason_counts"]

ASKED = ("TOMBSTONE", "UNKNOWN_VERSION", "NEEDS_INFLATE", "NEEDS_FRAMES")
"""Reasons that decide the next step. Each count costs time for every record; dead letters have the other counts."""


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
        *reason_counts(ASKED),
        *(F.count(F.when(F.col("_version") == each.number, 1)).alias(f"v{each.number}") for each in plan.writers),
    ]
