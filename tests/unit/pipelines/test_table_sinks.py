"""The sections of the Iceberg and Delta sinks, and what they need of Spark."""

from pathlib import Path

import pytest

from penstock.errors import InvalidInput
from penstock.pipelines import DeltaSink, IcebergCatalog, IcebergSink, ParquetSink, SinkSettings, parse_pipeline
from penstock.pipelines.sinks.iceberg import PartitionTransform

_START = """
name: p
source: {kafka: {brokers: "h:1", topic: t, security_protocol: PLAINTEXT}}
decode: {registry: r, schema: s}
dead_letters: {location: s3://lake/dead}
checkpoint: s3://lake/cp
"""


def _sink(text: str) -> SinkSettings:
    (sink,) = parse_pipeline(_START + text, environment={}, folder=Path("/work")).sinks
    return sink


def test_an_iceberg_table_in_glue() -> None:
    sink = _sink("""
sink:
  iceberg:
    table: shop.orders
    warehouse: s3://lake/wh
    partition_by: [days(ts), "bucket(16, id)", country]
    properties: {write.merge.mode: merge-on-read}
    mode: upsert
    keys: [id]
""")
    assert isinstance(sink, IcebergSink)
    assert sink.catalog == IcebergCatalog()
    assert sink.locations == ("s3://lake/wh/shop.db/orders",)
    assert sink.transforms == (
        PartitionTransform(name="days", column="ts"),
        PartitionTransform(name="bucket", column="id", width=16),
        PartitionTransform(name="identity", column="country"),
    )
    assert sink.properties == {"write.merge.mode": "merge-on-read"}
    assert (sink.mode, sink.keys) == ("upsert", ("id",))


def test_an_iceberg_table_of_a_rest_catalog_may_leave_its_place_to_the_catalog() -> None:
    sink = _sink("sink: {iceberg: {table: a.b, warehouse: prod, catalog: {uri: 'http://c:1', properties: {token: t0p}}}}")
    assert isinstance(sink, IcebergSink)
    assert sink.catalog == IcebergCatalog(type="rest", uri="http://c:1", properties={"token": "t0p"})
    assert (sink.warehouse, sink.locations) == ("prod", ())
    assert "t0p" not in repr(sink)


def test_a_delta_table() -> None:
    sink = _sink("sink: {delta: {location: out, partition_by: day, catalog: {database: d, table: t}}}")
    assert isinstance(sink, DeltaSink)
    assert (sink.location, sink.partition_by) == ("/work/out", ("day",))
    assert sink.catalog is not None
    assert sink.catalog.name == "d.t"


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("{table: orders, warehouse: s3://lake/w}", "'orders' is not a table's name"),
        ("{table: a.b}", "nothing says where table a.b is to be"),
        ("{table: a.b, location: s3://lake/t, catalog: {type: rest}}", "type rest goes with 'uri'"),
        ("{table: a.b, location: s3://lake/t, catalog: {type: glue, uri: 'http://c'}}", "type rest goes with 'uri'"),
        ("{table: a.b, location: s3://lake/t, partition_by: [bucket(16, id)]}", "'bucket.16' is not a partition"),
        ("{table: a.b, location: s3://lake/t, partition_by: [weeks(ts)]}", "'weeks.ts.' is not a partition"),
        ("{table: a.b, location: s3://lake/t, partition_by: [days(ts, 3)]}", "'days.ts' is not a partition"),
        ("{table: a.b, location: s3://lake/t, partition_by: ['bucket(0, id)']}", "'bucket.0, id.' is not a partition"),
        ("{table: a.b, location: s3://lake/t, partition_by: [bucket(id)]}", "'bucket.id.' is not a partition"),
    ],
)
def test_mistakes_are_named_with_the_line(section: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=rf"<text>:\d+: .*{message}"):
        _sink(f"sink:\n  iceberg: {section}")


def test_an_unquoted_comma_has_its_remedy() -> None:
    with pytest.raises(InvalidInput) as error:
        PartitionTransform.parse("bucket(16")
    assert "quotes" in (error.value.remedy or "")


def test_one_table_is_not_inside_another_sink_s_folder() -> None:
    with pytest.raises(InvalidInput, match="is inside that of"):
        parse_pipeline(
            _START + "sinks:\n  a: {delta: {location: s3://lake/x}}\n"
            "  b: {iceberg: {table: d.t, location: s3://lake/x/y}}\n",
            environment={},
        )


def test_a_parquet_sink_stays_one_of_files() -> None:
    assert isinstance(_sink("sink: {parquet: {location: s3://lake/t}}"), ParquetSink)
