"""DynamicFrame and its transforms over a real Spark session."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F  # noqa: N812

from awsglue import DynamicFrame
from awsglue.context import GlueContext
from awsglue.transforms import (
    ApplyMapping,
    DropFields,
    DropNullFields,
    Filter,
    Map,
    RenameField,
    Repartition,
    SelectFields,
    Union,
)
from penstock.errors import InvalidInput

pytestmark = [
    pytest.mark.spark,
    # py4j leaves the sockets of its callbacks to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def glue(glue_context: GlueContext) -> GlueContext:
    return glue_context


@pytest.fixture
def people(glue: GlueContext) -> DynamicFrame:
    rows = [("1", "ana", ("x", 10)), ("two", "bea", ("y", 20))]
    frame = glue.createDataFrame(rows, "id STRING, `na.me` STRING, home STRUCT<city: STRING, Zip: INT>")
    return DynamicFrame.fromDF(frame.withColumn("nothing", F.lit(None)), glue, "people")


def rows(frame: DynamicFrame) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in frame.toDF().collect()]


def names(frame: DynamicFrame) -> list[str]:
    return frame.toDF().columns


def test_a_mapping_casts_renames_and_nests(people: DynamicFrame) -> None:
    mapped = ApplyMapping.apply(
        frame=people,
        mappings=[
            ("id", "string", "key.number", "long"),
            ("`na.me`", "string", "name", "string"),
            ("home.zip", "int", "key.zip", "string"),
            ("missing", "string", "missing", "string"),
        ],
        transformation_ctx="mapped",
    )
    assert rows(mapped) == [
        {"key": {"number": 1, "zip": "10"}, "name": "ana"},
        {"key": {"number": None, "zip": "20"}, "name": "bea"},
    ]
    with pytest.raises(InvalidInput, match="'nonsense<' is not a type"):
        people.apply_mapping([("id", "string", "id", "nonsense<")])
    with pytest.raises(InvalidInput, match="is not a path"):
        people.apply_mapping([("id.", "string", "id", "long")])


def test_fields_are_selected_dropped_and_renamed_within_structs(people: DynamicFrame) -> None:
    assert rows(SelectFields.apply(frame=people, paths=["ID", "home.city", "missing"]))[0] == {
        "id": "1",
        "home": {"city": "x"},
    }
    dropped = DropFields.apply(people, paths=["home.city", "nothing"])
    assert rows(dropped)[0] == {"id": "1", "na.me": "ana", "home": {"Zip": 10}}
    assert names(DropNullFields.apply(frame=people)) == ["id", "na.me", "home"]
    renamed = RenameField.apply(frame=people, old_name="home.city", new_name="town")
    assert rows(renamed)[0] == {"id": "1", "na.me": "ana", "town": "x", "home": {"Zip": 10}, "nothing": None}
    assert names(people.rename_field("`na.me`", "name")) == ["id", "name", "home", "nothing"]
    with pytest.raises(InvalidInput, match="no field gone"):
        people.rename_field("gone", "x")


def test_functions_see_records_as_dicts(people: DynamicFrame) -> None:
    kept = Filter.apply(frame=people, f=lambda record: record.home.city == "x" and record["home"]["Zip"] == 10)
    assert [row["id"] for row in rows(kept)] == ["1"]
    assert (kept.schema(), kept.errorsCount()) == (people.schema(), 0)

    def grown(record: dict[str, Any]) -> dict[str, Any]:
        return {"id": record["id"], "home": {**record["home"], "far": record["id"] == "two"}}

    mapped = Map.apply(frame=people, f=grown)
    assert rows(mapped)[1] == {"id": "two", "home": {"city": "y", "Zip": 20, "far": True}}
    assert Map.apply(frame=people.filter(lambda _: False), f=grown).count() == 0


def test_the_rest_of_a_frame(
    people: DynamicFrame, glue: GlueContext, spark_lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert Repartition.apply(frame=people, num_partitions=3).getNumPartitions() == 3
    assert people.repartition(4).coalesce(2).getNumPartitions() == 2
    both = Union.apply(frame1=people, frame2=people.select_fields(["id"]))
    assert (both.count(), people.count(), people.name) == (4, 2, "people")
    people.show(1)
    people.printSchema()
    said = capsys.readouterr().out
    assert '{"id": "1", "na.me": "ana", "home": {"city": "x", "Zip": 10}}\nroot\n|-- id: string\n' in said
    timed = glue.add_ingestion_time_columns(people.toDF(), "day")
    assert timed.columns[-3:] == ["ingest_year", "ingest_month", "ingest_day"]
    plain = people.drop_fields(["nothing"]).rename_field("`na.me`", "name")
    options = {"path": "s3://lk/written/", "partitionKeys": ["name"]}
    glue.write_dynamic_frame.from_options(frame=plain, connection_type="s3", connection_options=options, format="parquet")
    assert sorted(pq.read_table(spark_lake / "lk" / "written").column("name").to_pylist()) == ["ana", "bea"]
    with pytest.raises(InvalidInput, match="redshift connection needs connectionName"):
        glue.write_dynamic_frame.from_options(frame=plain, connection_type="redshift", connection_options=options)
    with pytest.raises(InvalidInput, match="enableUpdateCatalog needs a table"):
        glue.write_dynamic_frame.from_options(plain, "s3", {**options, "enableUpdateCatalog": True}, "json")
