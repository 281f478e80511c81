"""The dead-letter table: records that cannot become rows, with the reason, a message, and all their Kafka columns."""

from datetime import datetime
from uuid import UUID

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from penstock.spark.dead_letter_table import COLUMNS
from penstock.spark.decode.frames import SchemaPrefix, prefix_text
from penstock.spark.sources.port import OPTIONAL_COLUMNS

__all__ = ["dead_letters", "unknown_versions"]

_WITH_VERSION = ("UNKNOWN_VERSION", "UNDECODABLE", "TRAILING_BYTES", "NEEDS_INFLATE")


def dead_letters(bad: DataFrame, *, batch: int, pipeline: str, now: datetime) -> DataFrame:
    """Return ``bad`` as rows of the table of dead letters.

    These are records of :func:`~penstock.spark.decode.records.decoded` with a reason.
    """
    values = {
        "reason": F.col("_reason"),
        "message": F.coalesce(F.col("_said"), _message()) if "_said" in bad.columns else _message(),
        "kafka_timestamp": F.col("timestamp"),
        "schema_version_id": F.when(F.col("_reason").isin(*_WITH_VERSION), _version_id(bad)),
        "batch_id": F.lit(batch),
        "pipeline": F.lit(pipeline),
        "ingested_at": F.lit(now),
        "date": F.date_format("timestamp", "yyyy-MM-dd"),
        "attempt": F.col("attempt") + 1 if "attempt" in bad.columns else F.lit(0),
    }
    for name in OPTIONAL_COLUMNS:
        if name not in bad.columns:
            values[name] = F.lit(None)
    return bad.select(*(values.get(name, F.col(name)).cast(type_name).alias(name) for name, type_name in COLUMNS.items()))


def unknown_versions(spark: SparkSession, folder: str, limit: int = 1000) -> list[SchemaPrefix]:
    """Return the distinct unknown version ids, and Confluent's ids, in the dead letters in ``folder``."""
    letters = spark.read.schema("reason string, schema_version_id string").parquet(folder)
    ids = letters.filter(F.col("reason") == "UNKNOWN_VERSION").select("schema_version_id").distinct().limit(limit)
    texts = [row.schema_version_id for row in ids.collect()]
    return [int(text) if text.isdigit() else UUID(text) for text in texts]


def _message() -> Column:
    """Return the column with the message of why a record is not a row."""
    size = F.coalesce(F.length("value"), F.lit(0)).cast("string")
    first = F.hex(F.substring("value", 1, 1))
    second = F.hex(F.substring("value", 2, 1))
    number = F.col("_version").cast("string")
    reason = F.col("_reason")
    return (
        F.when(reason == "TOMBSTONE", F.lit("The value is null."))
        .when(
            reason.startswith("KEY_"),
            F.concat(F.lit("The key cannot be decoded: "), F.expr("substring(_reason, 5)"), F.lit(".")),
        )
        .when(
            reason == "SHORT_FRAME",
            F.concat(F.lit("The value has "), size, F.lit(" bytes; a frame has at least 18 (Glue), 5 or 17 (Confluent).")),
        )
        .when(
            reason == "WRONG_HEADER",
            F.concat(
                F.lit("The first byte is 0x"), first, F.lit("; a frame begins with 0x03 (Glue), 0x00 or 0x01 (Confluent).")
            ),
        )
        .when(
            reason == "WRONG_COMPRESSION",
            F.concat(F.lit("The second byte is 0x"), second, F.lit("; it can be 0x00 or 0x05.")),
        )
        .when(reason == "UNKNOWN_VERSION", F.lit("The schema has no AVAILABLE version with this id."))
        .when(
            reason == "UNDECODABLE",
            F.concat(F.lit("The payload cannot be read with version "), number, F.lit(" of the schema.")),
        )
        .otherwise(F.concat(F.lit("The payload continues after the end of a record of version "), number, F.lit(".")))
    )


def _version_id(bad: DataFrame) -> Column:
    """Return the text of what a record's frame names: a version id, or Confluent's id."""
    return prefix_text(
        F.col("_prefix") if "_prefix" in bad.columns else F.concat(F.lit(bytearray(b"\x03")), F.substring("value", 3, 16))
    )
