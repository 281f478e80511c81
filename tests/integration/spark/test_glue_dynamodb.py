"""Glue scripts over DynamoDB Local: items with types, exports' JSON, and writes."""

import gzip
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from awsglue.context import GlueContext
from awsglue.dynamicframe import DynamicFrame
from penstock.client.connection import open_client
from penstock.errors import AccessDenied, InvalidInput, NotFound
from penstock.glue.sources import dynamodb as source
from penstock.testing.dynamodb import DynamoDBLocal
from penstock.testing.server import RunningServer

pytestmark = [
    pytest.mark.spark,
    # py4j leaves the sockets of its callbacks to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

ITEMS: list[dict[str, Any]] = [
    {"id": {"S": "a"}, "n": {"N": "7"}, "x": {"N": "1"}, "tags": {"SS": ["p", "q"]}, "raw": {"B": b"\x00\xff"},
     "at": {"M": {"lat": {"N": "47.5"}, "names": {"L": [{"S": "ZRH"}]}}}},
    {"id": {"S": "b"}, "n": {"N": "1.5"}, "x": {"S": "one"}, "on": {"BOOL": True}, "gone": {"NULL": True}},
]  # fmt: skip


@pytest.fixture
def glue(spark: SparkSession, dynamodb: DynamoDBLocal, monkeypatch: pytest.MonkeyPatch) -> GlueContext:
    keys = {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION": "us-east-1"}
    for name, value in {**keys, **dynamodb.environment()}.items():
        monkeypatch.setenv(name, value)
    return GlueContext(spark.sparkContext)


def table(dynamodb: DynamoDBLocal, name: str) -> Any:
    client = dynamodb.client()
    client.create_table(
        TableName=name, BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
    )  # fmt: skip
    return client


def read(glue: GlueContext, **options: Any) -> DynamicFrame:
    given = {name.replace("_", ".", 1): value for name, value in options.items()}
    return glue.create_dynamic_frame_from_options("dynamodb", {**given, "dynamodb.region": "us-east-1"})


def test_items_are_read_and_written(glue: GlueContext, dynamodb: DynamoDBLocal, monkeypatch: pytest.MonkeyPatch) -> None:
    client = table(dynamodb, "glue-items")
    for item in ITEMS:
        client.put_item(TableName="glue-items", Item=item)
    options = {"dynamodb.input.tableName": "glue-items", "dynamodb.throughput.read.percent": "1.0", "dynamodb.splits": "3"}
    frame = glue.create_dynamic_frame.from_options(connection_type="dynamodb", connection_options=options)
    rows = {row["id"]: row.asDict(recursive=True) for row in frame.resolveChoice(choice="cast:string").toDF().collect()}
    assert rows["a"] == {
        "id": "a", "n": 7.0, "x": "1", "tags": ["p", "q"], "raw": bytearray(b"\x00\xff"),
        "at": {"lat": 47.5, "names": ["ZRH"]}, "on": None, "gone": None,
    }  # fmt: skip
    assert (rows["b"]["n"], rows["b"]["x"], rows["b"]["on"]) == (1.5, "one", True)
    exported = read(glue, dynamodb_export="ddb", dynamodb_tableArn="arn:aws:dynamodb:us-east-1:1:table/glue-items")
    assert exported.toDF().select("Item.n.N").where("N = '7'").count() == 1
    arn = {"dynamodb.export": "ddb", "dynamodb.tableArn": "arn:aws:dynamodb:us-east-1:1:table/glue-items"}
    simple = glue.create_dynamic_frame.from_options("dynamodb", {**arn, "dynamodb.simplifyDDBJson": True})
    result = simple.toDF().where("id = 'a'").select("n", "at", "tags").collect()
    assert [tuple(row) for row in result] == [("7", (("47.5"), ["ZRH"]), ["p", "q"])]
    unnested = glue.create_dynamic_frame.from_options("dynamodb", {**arn, "dynamodb.unnestDDBJson": "true"})
    assert set(unnested.toDF().columns) == {"id", "n", "x", "tags", "raw", "at", "on", "gone"}

    # A table's ARN says its region, too.
    regions: list[str | None] = []

    def recorded(service: str, **given: Any) -> Any:
        regions.append(given.get("region"))
        return open_client(service, **given)

    monkeypatch.setattr(source, "open_client", recorded)
    far = {**arn, "dynamodb.tableArn": "arn:aws:dynamodb:eu-west-1:1:table/glue-items"}
    assert glue.create_dynamic_frame.from_options("dynamodb", far).count() == 2
    assert regions == ["eu-west-1"]

    target = table(dynamodb, "glue-out")
    target.put_item(TableName="glue-out", Item={"id": {"S": "1"}, "old": {"S": "x"}})
    made = glue.createDataFrame(
        [("1", 2.5, None), ("2", None, ["a"]), ("2", None, ["a"])], "id STRING, n DOUBLE, l ARRAY<STRING>"
    )
    written = DynamicFrame.fromDF(made, glue, "f")
    to = {"dynamodb.output.tableName": "glue-out", "dynamodb.throughput.write.percent": "1.0", "dynamodb.output.retry": "30"}
    assert glue.write_dynamic_frame.from_options(written, "dynamodb", to) is written
    items = sorted(target.scan(TableName="glue-out")["Items"], key=lambda item: str(item["id"]))
    assert items == [{"id": {"S": "1"}, "n": {"N": "2.5"}}, {"id": {"S": "2"}, "l": {"L": [{"S": "a"}]}}]
    in_catalog = {
        "Parameters": {"classification": "dynamodb"},
        "StorageDescriptor": {"Location": target.describe_table(TableName="glue-out")["Table"]["TableArn"]},
    }
    catalog: Any = SimpleNamespace(table=lambda _database, _name: in_catalog)
    session = replace(glue._session, catalog=lambda _id: catalog)
    monkeypatch.setattr(glue, "_session", session)
    glue.write_dynamic_frame.from_catalog(written.filter(lambda row: row["id"] == "1"), "any", "out")
    assert glue.create_dynamic_frame.from_catalog("any", "out").count() == 2
    with pytest.raises(InvalidInput, match="lack id, of the keys"):
        glue.write_dynamic_frame.from_options(written.drop_fields(["id"]), "dynamodb", to)


def test_an_export_in_s3_is_read(glue: GlueContext, spark_lake: Path) -> None:
    # The layout of AWS's page "DynamoDB table export output format".
    folder = spark_lake / "lk" / "exports" / "AWSDynamoDB" / "01693685827463-2d8752fd"
    (folder / "data").mkdir(parents=True, exist_ok=True)
    (folder / "manifest-summary.json").write_text('{"version": "2023-08-01", "itemCount": 2}')
    for name, key in (("a", "1"), ("b", "2")):
        item = {"Item": {"id": {"S": name}, "n": {"N": key}, "in": {"M": {"x": {"L": [{"S": "y"}]}}}}}
        (folder / "data" / f"{name}.json.gz").write_bytes(gzip.compress(json.dumps(item).encode() + b"\n"))
    options = {"dynamodb.export": "s3", "dynamodb.s3.bucket": "lk", "dynamodb.s3.prefix": "exports/"}
    assert glue.create_dynamic_frame.from_options("dynamodb", options).toDF().columns == ["Item"]
    simple = glue.create_dynamic_frame.from_options("dynamodb", {**options, "dynamodb.simplifyDDBJson": True}).toDF()
    assert sorted(tuple(row) for row in simple.select("id", "n", "in.x").collect()) == [("a", "1", ["y"]), ("b", "2", ["y"])]
    (folder.parent / "02" / "data").mkdir(parents=True, exist_ok=True)
    (folder.parent / "02" / "data" / "c.json.gz").write_bytes(gzip.compress(b"{}"))
    with pytest.raises(InvalidInput, match=r"There are 2 exports.*s3://lk/exports"):
        glue.create_dynamic_frame.from_options("dynamodb", options)


def test_a_role_is_assumed(
    glue: GlueContext, dynamodb: DynamoDBLocal, penstock_server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in penstock_server.environment().items():
        monkeypatch.setenv(name, value)
    iam = penstock_server.client("iam")
    trust = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": "*"}}
    made = iam.create_role(
        RoleName="items", AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": trust})
    )
    table(dynamodb, "glue-other")
    frame = DynamicFrame.fromDF(glue.createDataFrame([("1",)], "id STRING"), glue, "f")
    role = {"dynamodb.sts.roleArn": made["Role"]["Arn"], "dynamodb.sts.roleSessionName": "job"}
    glue.write_dynamic_frame.from_options(frame, "dynamodb", {"dynamodb.output.tableName": "glue-other", **role})
    source = {"dynamodb.input.tableName": "glue-other", **role}
    assert [tuple(row) for row in glue.create_dynamic_frame.from_options("dynamodb", source).toDF().collect()] == [("1",)]
    nobody = {"dynamodb.sts.roleArn": made["Role"]["Arn"].replace("items", "nobody")}
    with pytest.raises(AccessDenied, match="AssumeRole"):
        glue.create_dynamic_frame.from_options("dynamodb", {**source, **nobody})
    with pytest.raises(AccessDenied, match="AssumeRole"):
        glue.write_dynamic_frame.from_options(frame, "dynamodb", {"dynamodb.output.tableName": "glue-other", **nobody})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs dynamodb.input.tableName"),
        ({"dynamodb.export": "s3", "dynamodb.tableArn": "t"}, "dynamodb.s3.bucket is missing"),
        ({"dynamodb.export": "s3", "dynamodb.s3.bucket": "lk", "dynamodb.s3.prefix": "no"}, "There are no exports"),
        ({"dynamodb.input.tableName": "t", "dynamodb.throughput.read.percent": "9"}, "from 0.1 to 1.5"),
        ({"dynamodb.input.tableName": "t", "dynamodb.sts.roleSessionName": "r"}, "goes with dynamodb.sts.roleArn"),
        ({"dynamodb.input.tableName": "t", "dynamodb.unnestDDBJson": True}, "need dynamodb.export"),
        ({"dynamodb.input.tableName": "t", "dynamodb.exportTime": "1"}, "dynamodb.exportTime of the dynamodb source is not"),
    ],
)
def test_what_is_not_served_is_refused_by_name(glue: GlueContext, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        glue.create_dynamic_frame.from_options("dynamodb", options)


def test_a_table_that_is_not_there_is_named(glue: GlueContext) -> None:
    with pytest.raises(NotFound, match="no DynamoDB table nowhere"):
        glue.create_dynamic_frame.from_options("dynamodb", {"dynamodb.input.tableName": "nowhere"})


def test_moments_are_put_in_utc_whatever_the_time_zone_of_the_session_is(glue: GlueContext, dynamodb: DynamoDBLocal) -> None:
    conf = glue.spark_session.conf
    before = str(conf.get("spark.sql.session.timeZone"))
    target = table(dynamodb, "glue-moments")
    conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        frame = glue.sql("SELECT '1' AS id, timestamp_seconds(1767261600) AS at, array(timestamp_seconds(1767261600)) AS l")
        to = {"dynamodb.output.tableName": "glue-moments", "dynamodb.throughput.write.percent": "1.0"}
        glue.write_dynamic_frame.from_options(DynamicFrame.fromDF(frame, glue, "f"), "dynamodb", to)
    finally:
        conf.set("spark.sql.session.timeZone", before)
    moment = {"S": "2026-01-01T10:00:00Z"}
    assert target.scan(TableName="glue-moments")["Items"] == [{"id": {"S": "1"}, "at": moment, "l": {"L": [moment]}}]
