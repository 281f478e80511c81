"""The short way of decoding gives the rows and the counts of the long way, which decodes each version by itself."""

import json
from typing import Any
from uuid import UUID, uuid4

import pytest
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from penstock.schema.version import SchemaVersion
from penstock.spark.decode.direct import DirectDecode
from penstock.spark.decode.readers import reader_definition
from penstock.spark.decode.records import decoded, good_rows
from penstock.spark.decode.versions import DecodePlan
from tests.unit.spark.test_unions import V1, V2, V3, VALUES, payload

pytestmark = [
    pytest.mark.spark,
    # py4j leaves the sockets of its callbacks to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def _version(number: int, definition: Any) -> SchemaVersion:
    return SchemaVersion(
        id=UUID(int=number),
        schema_arn="",
        registry_name="r",
        schema_name="s",
        number=number,
        definition=json.dumps(definition),
        data_format="AVRO",
    )


VERSIONS = [_version(number, definition) for number, definition in enumerate((V1, V2, V3), start=1)]


def _plan(writers: list[SchemaVersion], reader: SchemaVersion) -> DecodePlan:
    definition = reader_definition(reader.definition, [writer.definition for writer in writers])
    return DecodePlan(writers=tuple(reversed(writers)), reader=reader, reader_definition=definition)


def _records(spark: SparkSession, values: list[bytes | None]) -> DataFrame:
    return spark.createDataFrame([(None if data is None else bytearray(data),) for data in values], "value binary").select(
        F.lit(b"k").alias("key"),
        "value",
        F.lit("t").alias("topic"),
        F.lit(0).alias("partition"),
        F.lit(0).cast("bigint").alias("offset"),
        F.timestamp_millis(F.lit(5)).alias("timestamp"),
    )


def test_one_version_alone_is_read_the_same(spark: SparkSession) -> None:
    good = b"\x03\x00" + VERSIONS[0].id.bytes + payload(V1, VALUES[0])
    records = _records(spark, [good, good[:-1], None])
    plan = _plan(VERSIONS[:1], VERSIONS[2])
    counts = Observation()
    rows = DirectDecode(plan).rows(records, counts).collect()
    assert list(map(str, rows)) == [
        str(row) for row in good_rows(decoded(records, plan, branches=1, zlib=False), plan, Observation()).collect()
    ]
    assert (len(rows), rows[0]["number"], rows[0]["_schema_version"]) == (1, 1, 1)
    assert DirectDecode.found(counts.get)["v1"] == 2


@pytest.mark.parametrize("reader", [1, 3])
def test_rows_and_counts_are_those_of_the_long_way(spark: SparkSession, reader: int) -> None:
    good = [
        b"\x03\x00" + version.id.bytes + payload(definition, value)
        for version, definition, value in zip(VERSIONS, (V1, V2, V3), VALUES, strict=True)
    ]
    damaged = [good[1][:-1], good[1] + b"\x00", good[0][:10], b"\x04" + good[0][1:], b"\x03\x01" + good[0][2:], b""]
    unplanned = [b"\x03\x00" + uuid4().bytes + good[0][18:], b"\x03\x05" + good[0][2:], b"\x00" + good[0][1:]]
    records = _records(spark, [*good, *good, *damaged, *unplanned, None])
    plan = _plan(VERSIONS, VERSIONS[reader - 1])
    counts, theirs = Observation(), Observation()
    data_frame = DirectDecode(plan).rows(records, counts)
    long = good_rows(decoded(records, plan, branches=40, zlib=False), plan, theirs)
    assert data_frame.columns == long.columns
    rows = sorted(map(str, data_frame.collect()))
    assert len(rows) == (6 if reader == 3 else 4)  # version 1 has no GREEN
    assert rows == sorted(map(str, long.collect()))
    known = DirectDecode.found(counts.get)
    # The long way counts a compressed record with its version too; the batch is read again with zlib in both.
    for name in ("records", "oldest", "TOMBSTONE", "v2", "v3"):
        assert known[name] == theirs.get[name]
    assert known["v1"] == theirs.get["v1"] - 1
    for reason in ("UNKNOWN_VERSION", "NEEDS_INFLATE", "NEEDS_FRAMES"):
        assert known[reason] == 1 == min(1, theirs.get[reason])


def test_the_payload_is_decoded_once_and_columns_nobody_reads_not_at_all(spark: SparkSession) -> None:
    rows = DirectDecode(_plan(VERSIONS, VERSIONS[-1])).rows(_records(spark, [None]), Observation())
    plan: Any = rows.drop("_topic", "_schema_version")._jdf.queryExecution().executedPlan()
    assert str(plan.toString()).count("from_avro(") == 1
