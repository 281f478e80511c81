"""A Kinesis stream by Glue's connection options: the runner's own source.

Source: "Kinesis connection option reference",
https://docs.aws.amazon.com/glue/latest/dg/aws-glue-programming-etl-connect-kinesis-home.html.
"""

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from penstock.spark.glue.options import Options
from penstock.spark.glue.payload import payload_of
from penstock.spark.glue.sources.port import Read
from penstock.spark.sources.kinesis.options import OPTION_NAMES, kinesis_options
from penstock.spark.sources.kinesis.reader import KinesisReader
from penstock.spark.sources.kinesis.source import FORMAT, KinesisDataSource

__all__ = ["GlueKinesis", "stream"]

# Credentials are those of the environment.
_WITHOUT_EFFECT = ("awsuseinstanceprofile",)
_RENAMED = {"initialposition": "startingPosition"}
_RAW = ("data", "streamName", "partitionKey", "sequenceNumber", "approximateArrivalTimestamp")


class GlueKinesis(KinesisDataSource):
    """The same source as ``spark.readStream.format("kinesis")``, with the options of Glue's connector under that name."""

    @classmethod
    def name(cls) -> str:
        """``kinesis``."""
        return "kinesis"

    def streamReader(self, schema: StructType) -> KinesisReader:  # noqa: N802 - Spark's
        """Return the stream's planner."""
        self.options = {
            _RENAMED.get(name.lower(), name): value
            for name, value in self.options.items()
            if name.lower() not in _WITHOUT_EFFECT
        }
        return super().streamReader(schema)


def stream(read: Read) -> DataFrame:
    """Return the stream that the options describe. Raises :class:`InvalidInput`."""
    options = Options("the kinesis source", read.options)
    kinesis_options(options)
    arrived = options.flag("addRecordTimestamp")
    payload = payload_of(options, "Kinesis")
    source = {name: read.options[name] for name in OPTION_NAMES if read.options.get(name) is not None}
    spark = read.session.spark
    spark.dataSource.register(KinesisDataSource)
    records = spark.readStream.format(FORMAT).options(**source).load()
    extra = {"approximateArrivalTimestamp": "__src_timestamp"} if arrived else {}
    return payload.frame(records, "data", extra=extra, raw=_RAW)
