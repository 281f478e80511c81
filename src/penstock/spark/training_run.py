"""The training run whose classes go into the archive: ``python -m penstock.spark.training_run ARCHIVE SCRATCH JAR...``.

It does what a batch of a pipeline does, over two versions of a schema and a handful of records, without a broker.
"""

import json
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from penstock.pipelines.decode import Decode
from penstock.schema.version import SchemaVersion
from penstock.serdes.avro.codec import AvroSchema
from penstock.serdes.codec import message_writer
from penstock.spark.decode.records import decoded, good_rows
from penstock.spark.decode.versions import SchemaVersions
from penstock.spark.session import SessionSettings, open_session, stop_jvm
from penstock.spark.sources.port import METADATA

_SECONDS = 60


def _definition(number: int) -> str:
    plain = [{"name": "id", "type": "long"}, {"name": "day", "type": "string"}]
    fields = plain + [{"name": f"v{n}", "type": ["null", "double"], "default": None} for n in range(number)]
    return json.dumps({"type": "record", "name": "Training", "fields": fields})


class _Versions:
    """A registry of two versions."""

    def __init__(self) -> None:
        self.all = [
            SchemaVersion(
                id=UUID(int=number),
                schema_arn="arn:aws:glue:us-east-1:000000000000:schema/r/r",
                registry_name="r",
                schema_name="r",
                number=number,
                definition=_definition(number),
                data_format="AVRO",
            )
            for number in (1, 2)
        ]

    def versions(self, registry: str, schema: str, *, available_only: bool = True) -> list[SchemaVersion]:  # noqa: ARG002
        return self.all

    def version(self, version_id: UUID | str) -> SchemaVersion:
        return next(version for version in self.all if str(version.id) == str(version_id))


def main(archive: Path, scratch: Path, jars: list[Path]) -> None:
    """Do the training run and end the JVM, which then writes ``archive``."""
    lake = scratch / "lake"
    (lake / "r").mkdir(parents=True)
    settings = SessionSettings(
        master="local[2]", jars=jars, log=scratch / "spark.log", lake=lake, driver_memory="512m", record=archive
    )
    spark = open_session(settings, name="training", locations=["s3://r/t"])
    versions = SchemaVersions(_Versions(), Decode(registry="r", schema="r"))
    versions.refresh()
    _batch(_records(spark, versions), 0, versions)
    _stream(spark, versions)
    spark.read.parquet("s3://r/t").groupBy("day").count().collect()
    # This only loads the source's classes, because there is no broker.
    spark.readStream.format("kafka").option("kafka.bootstrap.servers", "127.0.0.1:1").option("subscribe", "r").load()
    spark.stop()
    stop_jvm(seconds=_SECONDS * 2)


def _records(spark: SparkSession, versions: SchemaVersions) -> DataFrame:
    writers = [message_writer(version.id, AvroSchema(version.definition)) for version in versions.plan().writers]
    frames = [bytearray(writers[n % 2]({"id": n, "day": f"d{n % 3}"})) for n in range(20)] + [bytearray(b"damaged")]
    values = spark.createDataFrame([(frame,) for frame in frames], "value binary")
    return _as_kafka(values)


def _as_kafka(values: DataFrame) -> DataFrame:
    return values.select(
        F.lit(None).cast("binary").alias("key"),
        "value",
        F.lit("t").alias("topic"),
        F.lit(0).alias("partition"),
        F.monotonically_increasing_id().alias("offset"),
        F.current_timestamp().alias("timestamp"),
    )


def _batch(records: DataFrame, number: int, versions: SchemaVersions) -> None:
    plan = versions.plan()
    read, written = Observation(), Observation()
    rows = good_rows(decoded(records, plan, branches=40, zlib=False), plan, read).drop(*METADATA.values())
    rows.createOrReplaceTempView("records")
    output = rows.sparkSession.sql("SELECT *, upper(day) AS loud FROM records WHERE id >= 0")
    output = output.observe(written, F.count(F.lit(1)).alias("rows")).coalesce(1)
    output.write.mode("append").partitionBy("day").parquet(f"s3://r/t/batch={number}")
    if read.get["bad"]:
        bad = decoded(records, plan, branches=40, zlib=False).filter(F.col("_reason").isNotNull())
        bad.select("_reason", "value").write.mode("append").parquet(f"s3://r/dead/{number}")


def _stream(spark: SparkSession, versions: SchemaVersions) -> None:
    """Run two micro-batches through foreachBatch and a checkpoint."""

    def commit(records: DataFrame, number: int) -> None:
        _batch(_as_kafka(records.select(F.lit(bytearray(18)).alias("value"))), number + 1, versions)

    rate: Any = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
    query = rate.writeStream.foreachBatch(commit).option("checkpointLocation", "s3://r/checkpoint").start()
    for _ in range(_SECONDS):
        if query.awaitTermination(1) or len(query.recentProgress) >= 2:
            break
    query.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), [Path(jar) for jar in sys.argv[3:]])
