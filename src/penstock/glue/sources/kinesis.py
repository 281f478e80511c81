"""A Kinesis stream by Glue's connection options: the runner's own source.

Source: "Kinesis connection option reference",
https://docs.aws.amazon.com/glue/latest/dg/aws-glue-programming-etl-connect-kinesis-home.html.
"""

import os
import re
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from penstock.glue.options import Options
from penstock.glue.payload import payload_of
from penstock.glue.sources.port import Read
from penstock.spark.sources.kinesis.options import OPTION_NAMES, kinesis_options
from penstock.spark.sources.kinesis.reader import KinesisReader
from penstock.spark.sources.kinesis.source import FORMAT, KinesisDataSource

__all__ = ["GlueKinesis", "redirected", "stream"]

_AWS = re.compile(r"https?://(?:[\w-]+\.)?kinesis(?:-fips)?\.(?P<region>[a-z0-9-]+)\.(?:amazonaws\.com(?:\.cn)?|api\.aws)/?")

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
        options_given = {
            _RENAMED.get(name.lower(), name): value
            for name, value in self.options.items()
            if name.lower() not in _WITHOUT_EFFECT
        }
        self.options = redirected(options_given)
        return super().streamReader(schema)


def redirected(script_options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options without an ``endpointUrl`` of AWS where AWS_ENDPOINT_URL_KINESIS says that Kinesis is elsewhere.

    Scripts, and the tables that AWS's console makes, name AWS's own endpoint. Its region stays.
    """
    name = next((script_option for script_option in script_options if script_option.lower() == "endpointurl"), None)
    if name is None or not os.environ.get("AWS_ENDPOINT_URL_KINESIS"):
        return dict(script_options)
    match = _AWS.fullmatch(str(script_options[name]))
    if match is None:
        return dict(script_options)
    regions = (
        {}
        if any(script_option.lower() in {"region", "streamarn"} for script_option in script_options)
        else {"region": match["region"]}
    )
    return {**{script_option: value for script_option, value in script_options.items() if script_option != name}, **regions}


def stream(read: Read) -> DataFrame:
    """Return the stream that the options describe. Raises :class:`InvalidInput`."""
    script_options = redirected(read.options)
    options = Options("the kinesis source", script_options)
    kinesis_options(options)
    arrived = options.flag("addRecordTimestamp")
    payload = payload_of(options, "Kinesis")
    source = {name: script_options[name] for name in OPTION_NAMES if script_options.get(name) is not None}
    spark = read.session.spark
    spark.dataSource.register(KinesisDataSource)
    records = spark.readStream.format(FORMAT).options(**source).load()
    extra = {"approximateArrivalTimestamp": "__src_timestamp"} if arrived else {}
    return payload.frame(records, "data", extra=extra, raw=_RAW)
