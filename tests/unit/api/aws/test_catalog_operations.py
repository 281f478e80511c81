"""Glue's catalog operations as boto3 calls them: its serialiser and parser, our dispatcher, no socket between."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import botocore.session
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.model import ListShape, MapShape, Shape, StringShape, StructureShape

from penstock.api.aws.catalog import crawlers
from penstock.api.aws.catalog import operations as catalog
from penstock.api.aws.protocol.dispatch import AwsApp
from penstock.api.aws.protocol.endpoints import EndpointTable
from penstock.api.observer import CompletedRequest
from penstock.catalog.service import CatalogService
from penstock.crawl.service import CrawlService
from penstock.lake.locations import LakeFolder
from penstock.store.sql.catalog.crawl import SqlCrawlStore
from penstock.store.sql.catalog.store import SqlCatalogStore
from penstock.store.sql.database import Database

ACCOUNT = "000000000000"
MODEL = botocore.session.get_session().get_service_model("glue")


class _Silent:
    def started(self) -> None:
        pass

    def finished(self, request: CompletedRequest) -> None:
        pass


class _Body:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def stream(self) -> Iterator[bytes]:
        yield self._data


class _Loopback:
    """Answers boto3's prepared requests from an ASGI application."""

    def __init__(self, app: AwsApp) -> None:
        self._app = app

    def __call__(self, request: Any, **_kwargs: Any) -> AWSResponse:
        sent: list[dict[str, Any]] = []
        body = request.body or b""
        headers = [
            (str(k).lower().encode(), v if isinstance(v, bytes) else str(v).encode()) for k, v in request.headers.items()
        ]
        scope = {
            "type": "http",
            "method": request.method,
            "path": "/",
            "raw_path": b"/",
            "query_string": b"",
            "headers": [*headers, (b"host", b"localhost")],
            "client": ("127.0.0.1", 1),
        }

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body.encode() if isinstance(body, str) else body, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        asyncio.run(self._app(scope, receive, send))
        status = next(each["status"] for each in sent if each["type"] == "http.response.start")
        found: Any = {k.decode(): v.decode() for each in sent if "headers" in each for k, v in each["headers"]}
        data = b"".join(each.get("body", b"") for each in sent)
        return AWSResponse(request.url, status, found, _Body(data))


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    (tmp_path / "buckets/lake").mkdir(parents=True)
    return tmp_path / "buckets"


@pytest.fixture(scope="module")
def client() -> Any:
    return boto3.client(
        "glue",
        region_name="us-east-1",
        endpoint_url="http://localhost",
        aws_access_key_id="a",
        aws_secret_access_key="b",
        config=Config(retries={"max_attempts": 1}),
    )


@pytest.fixture
def glue(client: Any, tmp_path: Path, lake: Path) -> Iterator[Any]:
    sql = Database(f"sqlite:///{tmp_path / 'store.db'}")
    sql.create_all()
    tables = CatalogService(SqlCatalogStore(sql))
    crawls = CrawlService(SqlCrawlStore(sql), tables, LakeFolder(lake))
    endpoints = EndpointTable([catalog.operations(tables), crawlers.operations(crawls)])
    app = AwsApp(endpoints, authenticator=None, account=ACCOUNT, region="us-east-1", observer=_Silent())
    loopback = _Loopback(app)
    client.meta.events.register("before-send.glue", loopback)
    yield client
    client.meta.events.unregister("before-send.glue", loopback)
    crawls.close()
    app.close()
    sql.close()


@pytest.fixture
def flights(glue: Any) -> Any:
    glue.create_database(DatabaseInput={"Name": "air"})
    keys = [{"Name": "year", "Type": "int"}, {"Name": "origin", "Type": "string"}]
    glue.create_table(DatabaseName="air", TableInput={"Name": "flights", "PartitionKeys": keys, "StorageDescriptor": {}})
    return glue


def sample(shape: Shape, depth: int = 0) -> Any:
    """A value with every member that ``shape`` has."""
    if isinstance(shape, StructureShape):
        return {name: sample(each, depth + 1) for name, each in shape.members.items()} if depth < 8 else {}
    if isinstance(shape, ListShape):
        return [sample(shape.member, depth + 1)]
    if isinstance(shape, MapShape):
        return {sample(shape.key, depth + 1): sample(shape.value, depth + 1)}
    if isinstance(shape, StringShape) and shape.enum:
        return shape.enum[0]
    plain = {"timestamp": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "boolean": True, "integer": 1, "long": 1}
    special = {
        "SchemaVersionIdString": "12345678-1234-1234-1234-123456789012",
        "GlueResourceArn": "arn:aws:glue:us-east-1:000000000000:schema/r/s",
        "ArnString": "arn:aws:iam::000000000000:role/x",
    }
    return plain.get(shape.type_name, special.get(shape.name, shape.name.lower()[:20]))


def code(error: pytest.ExceptionInfo[ClientError]) -> str:
    return str(error.value.response["Error"]["Code"])


def test_every_member_of_a_database_comes_back(glue: Any) -> None:
    wanted = sample(MODEL.shape_for("DatabaseInput"))
    del wanted["FederatedDatabase"]  # refused, as test_input_members.py has it
    (permission,) = wanted["CreateTableDefaultPermissions"]
    with pytest.raises(glue.exceptions.InvalidInputException, match="no Lake Formation"):
        glue.create_database(DatabaseInput=wanted)
    permission["Principal"]["DataLakePrincipalIdentifier"] = "IAM_ALLOWED_PRINCIPALS"
    glue.create_database(DatabaseInput=wanted)
    found = glue.get_database(Name=wanted["Name"])["Database"]
    assert {name: found[name] for name in wanted} == wanted
    assert set(found) - set(wanted) == {"CreateTime", "CatalogId"}


def test_every_member_of_a_table_comes_back(glue: Any) -> None:
    glue.create_database(DatabaseInput={"Name": "air"})
    wanted = sample(MODEL.shape_for("TableInput"))
    del wanted["StorageDescriptor"]["SchemaReference"], wanted["FederatedTable"], wanted["ViewDefinition"]
    glue.create_table(DatabaseName="air", TableInput=wanted)
    found = glue.get_table(DatabaseName="air", Name=wanted["Name"])["Table"]
    assert {name: found[name] for name in wanted} == wanted
    assert found["VersionId"] == "0"
    assert found["DatabaseName"] == "air"
    glue.update_table(DatabaseName="air", TableInput={**wanted, "Owner": "other"}, VersionId="0")
    versions = glue.get_table_versions(DatabaseName="air", TableName=wanted["Name"])["TableVersions"]
    assert [(each["VersionId"], each["Table"]["Owner"]) for each in versions] == [("1", "other"), ("0", wanted["Owner"])]


def test_every_member_of_a_partition_comes_back(glue: Any) -> None:
    glue.create_database(DatabaseInput={"Name": "air"})
    glue.create_table(DatabaseName="air", TableInput={"Name": "t", "PartitionKeys": [{"Name": "k", "Type": "string"}]})
    wanted = sample(MODEL.shape_for("PartitionInput"))
    del wanted["StorageDescriptor"]["SchemaReference"]["SchemaId"]
    glue.create_partition(DatabaseName="air", TableName="t", PartitionInput=wanted)
    found = glue.get_partition(DatabaseName="air", TableName="t", PartitionValues=wanted["Values"])["Partition"]
    assert {name: found[name] for name in wanted} == wanted
    listed = glue.get_partitions(DatabaseName="air", TableName="t", ExcludeColumnSchema=True)["Partitions"]
    assert "Columns" not in listed[0]["StorageDescriptor"]


def test_errors_carry_aws_codes(flights: Any) -> None:
    with pytest.raises(flights.exceptions.EntityNotFoundException):
        flights.get_table(DatabaseName="air", Name="x")
    with pytest.raises(flights.exceptions.AlreadyExistsException):
        flights.create_database(DatabaseInput={"Name": "AIR"})
    with pytest.raises(flights.exceptions.InvalidInputException, match="number of partition keys"):
        flights.create_partition(DatabaseName="air", TableName="flights", PartitionInput={"Values": ["1"]})
    with pytest.raises(flights.exceptions.EntityNotFoundException, match="Catalog 1 not found"):
        flights.get_databases(CatalogId="1")
    assert flights.get_databases(CatalogId=ACCOUNT)["DatabaseList"][0]["Name"] == "air"


def test_icebergs_commit_is_refused_when_stale(flights: Any) -> None:
    table = flights.get_table(DatabaseName="air", Name="flights")["Table"]
    wanted = {"Name": "flights", "TableType": "EXTERNAL_TABLE", "Parameters": {"metadata_location": "s3://lake/v2.json"}}
    wanted["PartitionKeys"] = table["PartitionKeys"]
    flights.update_table(DatabaseName="air", TableInput=wanted, SkipArchive=True, VersionId=table["VersionId"])
    with pytest.raises(flights.exceptions.ConcurrentModificationException):
        flights.update_table(DatabaseName="air", TableInput=wanted, SkipArchive=True, VersionId=table["VersionId"])
    assert len(flights.get_table_versions(DatabaseName="air", TableName="flights")["TableVersions"]) == 1


def test_partitions_in_batches(flights: Any) -> None:
    wanted = [{"Values": [str(year), origin]} for year in range(2000, 2040) for origin in ("EWR", "JFK")]
    home = {"DatabaseName": "air", "TableName": "flights"}
    assert flights.batch_create_partition(**home, PartitionInputList=wanted)["Errors"] == []
    errors = flights.batch_create_partition(**home, PartitionInputList=[{"Values": ["2000", "JFK"]}, {"Values": ["1"]}])[
        "Errors"
    ]
    assert {each["ErrorDetail"]["ErrorCode"] for each in errors} == {"AlreadyExistsException", "InvalidInputException"}
    pages = flights.get_paginator("get_partitions").paginate(
        **home, Expression="year >= 2010 AND origin = 'JFK'", PaginationConfig={"PageSize": 7}
    )
    assert [each["Values"][0] for page in pages for each in page["Partitions"]] == [str(year) for year in range(2010, 2040)]
    shares = [
        flights.get_partitions(**home, Segment={"SegmentNumber": number, "TotalSegments": 3})["Partitions"]
        for number in range(3)
    ]
    assert sum(len(share) for share in shares) == 80
    got = flights.batch_get_partition(**home, PartitionsToGet=[{"Values": ["2001", "JFK"]}, {"Values": ["1", "x"]}])
    assert [each["Values"] for each in got["Partitions"]] == [["2001", "JFK"]]
    entry = {"PartitionInput": {"Parameters": {"a": "b"}}}
    errors = flights.batch_update_partition(
        **home,
        Entries=[{"PartitionValueList": ["2001", "JFK"], **entry}, {"PartitionValueList": ["1", "x"], **entry}],
    )["Errors"]
    assert [each["PartitionValueList"] for each in errors] == [["1", "x"]]
    errors = flights.batch_delete_partition(
        **home, PartitionsToDelete=[{"Values": ["2001", "JFK"]}, {"Values": ["1", "x"]}]
    )["Errors"]
    assert [each["PartitionValues"] for each in errors] == [["1", "x"]]
    with pytest.raises(flights.exceptions.InvalidInputException, match="not a partition key"):
        flights.get_partitions(**home, Expression="gate = 1")


def test_tables_are_paged_and_chosen(flights: Any) -> None:
    for name in ("a", "b", "c"):
        flights.create_table(DatabaseName="air", TableInput={"Name": name, "TableType": "EXTERNAL_TABLE"})
    pages = flights.get_paginator("get_tables").paginate(DatabaseName="air", PaginationConfig={"PageSize": 1})
    assert [each["Name"] for page in pages for each in page["TableList"]] == ["a", "b", "c", "flights"]
    chosen = flights.get_tables(DatabaseName="air", Expression="[ab]", AttributesToGet=["NAME"])["TableList"]
    assert chosen == [{"Name": "a", "DatabaseName": "air"}, {"Name": "b", "DatabaseName": "air"}]
    errors = flights.batch_delete_table(DatabaseName="air", TablesToDelete=["a", "x"])["Errors"]
    assert [each["TableName"] for each in errors] == ["x"]
    errors = flights.batch_delete_table_version(DatabaseName="air", TableName="b", VersionIds=["0", "7"])["Errors"]
    assert [each["VersionId"] for each in errors] == ["0", "7"]


def test_tables_are_searched_and_chosen_as_awswrangler_does(flights: Any) -> None:
    flights.create_database(DatabaseInput={"Name": "sea"})
    for name in ("air_raw", "ports"):
        flights.create_table(DatabaseName="sea", TableInput={"Name": name, "Description": "of the sea"})
    first = flights.search_tables(SearchText="air", MaxResults=1)
    rest = flights.search_tables(SearchText="air", MaxResults=1, NextToken=first["NextToken"])
    assert [table["Name"] for table in (*first["TableList"], *rest["TableList"])] == ["flights", "air_raw"]
    assert "NextToken" not in rest
    chosen = flights.search_tables(
        Filters=[{"Key": "DatabaseName", "Value": "sea"}], SortCriteria=[{"FieldName": "Name", "Sort": "DESC"}]
    )
    assert [table["Name"] for table in chosen["TableList"]] == ["ports", "air_raw"]
    assert flights.search_tables(ResourceShareType="FOREIGN")["TableList"] == []
    assert [table["Name"] for table in flights.get_tables(DatabaseName="sea", Expression="*r*w")["TableList"]] == ["air_raw"]


def test_attributes_and_shares_are_heeded(flights: Any) -> None:
    table = flights.get_table(DatabaseName="air", Name="flights", AttributesToGet=["NAME"])["Table"]
    assert table == {"Name": "flights", "DatabaseName": "air"}
    with pytest.raises(flights.exceptions.InvalidInputException, match="LATEST_ICEBERG_METADATA"):
        flights.get_table(DatabaseName="air", Name="flights", AttributesToGet=["LATEST_ICEBERG_METADATA"])
    assert flights.get_databases(ResourceShareType="FOREIGN")["DatabaseList"] == []
    assert len(flights.get_databases(ResourceShareType="ALL")["DatabaseList"]) == 1


def test_a_schema_reference_names_its_version_in_one_way(flights: Any) -> None:
    both = sample(MODEL.shape_for("SchemaReference"))
    with pytest.raises(flights.exceptions.InvalidInputException, match="One of schemaId or schemaVersionId"):
        flights.create_table(DatabaseName="air", TableInput={"Name": "t", "StorageDescriptor": {"SchemaReference": both}})


def test_an_empty_schema_reference_is_refused_by_its_name(flights: Any) -> None:
    wanted = {"Name": "t", "StorageDescriptor": {"SchemaReference": {}}}
    with pytest.raises(ClientError, match=r"The SchemaReference of table air\.t does not name a schema") as refused:
        flights.create_table(DatabaseName="air", TableInput=wanted)
    assert code(refused) == "InvalidInputException"


def test_what_is_not_served_says_so(flights: Any) -> None:
    with pytest.raises(ClientError, match=r"OpenTableFormatInput .* is a member of CreateTable that") as error:
        flights.create_table(
            DatabaseName="air",
            TableInput={"Name": "x"},
            OpenTableFormatInput={"IcebergInput": {"MetadataOperation": "CREATE"}},
        )
    assert code(error) == "ValidationException"
    with pytest.raises(flights.exceptions.InvalidInputException, match="TableInput is missing"):
        flights.update_table(DatabaseName="air", Name="flights")
    with pytest.raises(flights.exceptions.InvalidInputException, match="cannot be renamed"):
        flights.update_table(DatabaseName="air", Name="flights", TableInput={"Name": "x"})


def test_a_crawler_from_creation_to_metrics(glue: Any, lake: Path) -> None:
    folder = lake / "lake/flights/year=2013"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"id": [1]}), folder / "a.parquet")
    targets = {"S3Targets": [{"Path": "s3://lake/flights/", "Exclusions": ["x/**"], "SampleSize": 5}]}
    glue.create_crawler(Name="c", Role="r", DatabaseName="air", Targets=targets, TablePrefix="p_", Tags={"team": "a"})
    made = glue.get_crawler(Name="c")["Crawler"]
    assert made["State"] == "READY"
    assert made["Targets"]["S3Targets"] == targets["S3Targets"]
    assert made["SchemaChangePolicy"] == {"UpdateBehavior": "UPDATE_IN_DATABASE", "DeleteBehavior": "DEPRECATE_IN_DATABASE"}
    assert "LastCrawl" not in made
    glue.update_crawler(Name="c", SchemaChangePolicy={"DeleteBehavior": "LOG"}, Description="d")
    made = glue.get_crawler(Name="c")["Crawler"]
    assert made["SchemaChangePolicy"] == {"UpdateBehavior": "UPDATE_IN_DATABASE", "DeleteBehavior": "LOG"}
    assert (made["Version"], made["Description"], made["TablePrefix"]) == (2, "d", "p_")
    glue.start_crawler(Name="c")
    deadline = datetime.now(UTC).timestamp() + 30
    while (crawler := glue.get_crawler(Name="c")["Crawler"])["State"] != "READY":
        assert datetime.now(UTC).timestamp() < deadline
    assert crawler["LastCrawl"]["Status"] == "SUCCEEDED"
    assert glue.get_partitions(DatabaseName="air", TableName="p_flights")["Partitions"][0]["Values"] == ["2013"]
    metrics = glue.get_crawler_metrics(CrawlerNameList=["c"])["CrawlerMetricsList"][0]
    assert (metrics["TablesCreated"], metrics["StillEstimating"]) == (1, False)
    assert glue.list_crawlers(Tags={"team": "a"})["CrawlerNames"] == ["c"]
    assert glue.list_crawlers(Tags={"team": "b"})["CrawlerNames"] == []
    several = glue.batch_get_crawlers(CrawlerNames=["c", "x"])
    assert ([each["Name"] for each in several["Crawlers"]], several["CrawlersNotFound"]) == (["c"], ["x"])
    assert [each["Name"] for each in glue.get_crawlers()["Crawlers"]] == ["c"]
    with pytest.raises(glue.exceptions.CrawlerNotRunningException):
        glue.stop_crawler(Name="c")
    with pytest.raises(glue.exceptions.AlreadyExistsException):
        glue.create_crawler(Name="c", Role="r", Targets=targets)
    glue.delete_crawler(Name="c")
    with pytest.raises(glue.exceptions.EntityNotFoundException):
        glue.start_crawler(Name="c")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"Schedule": "cron(0 * * * ? *)"}, r"Schedule \(at .* CreateCrawler"),
        ({"Targets": {"JdbcTargets": [{"ConnectionName": "x"}]}}, "JdbcTargets .* S3Targets are served"),
        ({"Targets": {}}, "has no target"),
        ({"Targets": {"S3Targets": [{}]}}, "no Path"),
        ({"Targets": {"S3Targets": [{"Path": "lake"}]}}, "not an S3 location"),
        ({"RecrawlPolicy": {"RecrawlBehavior": "CRAWL_EVENT_MODE"}}, "S3 events"),
    ],
)
def test_crawlers_that_would_never_do_what_was_asked_are_refused(glue: Any, changes: dict[str, Any], message: str) -> None:
    wanted = {"Name": "c", "Role": "r", "Targets": {"S3Targets": [{"Path": "s3://lake/x/"}]}, **changes}
    with pytest.raises(ClientError, match=message):
        glue.create_crawler(**wanted)


def test_statistics_indexes_and_functions_come_back_over_the_wire(flights: Any) -> None:
    home = {"DatabaseName": "air", "TableName": "flights"}
    columns = [
        {"Name": kind, "Type": "string"} for kind in ("binary", "boolean", "date", "decimal", "double", "long", "string")
    ]
    keys = flights.get_table(DatabaseName="air", Name="flights")["Table"]["PartitionKeys"]
    table = {"Name": "flights", "PartitionKeys": keys, "StorageDescriptor": {"Columns": columns}}
    flights.update_table(DatabaseName="air", TableInput=table)
    given = []
    for column in columns:
        member = f"{column['Name'].capitalize()}ColumnStatisticsData"
        shape: Any = MODEL.shape_for(member)
        # Not the sample's: a decimal's digits are bytes, of two's complement.
        number = {"UnscaledValue": b"\xff\x00", "Scale": 2}
        numbers = {"MinimumValue": number, "MaximumValue": number} if column["Name"] == "decimal" else {}
        plain = {name: 1.5 if each.type_name == "double" else sample(each) for name, each in shape.members.items()}
        data = {"Type": column["Name"].upper(), member: {**plain, **numbers}}
        time = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
        given.append({"ColumnName": column["Name"], "ColumnType": "t", "AnalyzedTime": time, "StatisticsData": data})
    assert flights.update_column_statistics_for_table(**home, ColumnStatisticsList=given)["Errors"] == []
    found = flights.get_column_statistics_for_table(**home, ColumnNames=[column["Name"] for column in columns])
    assert (found["ColumnStatisticsList"], found["Errors"]) == (given, [])
    with pytest.raises(flights.exceptions.EntityNotFoundException):
        flights.delete_column_statistics_for_table(**home, ColumnName="x")

    flights.create_partition_index(**home, PartitionIndex={"IndexName": "i", "Keys": ["origin"]})
    pages = flights.get_paginator("get_partition_indexes").paginate(**home)
    (described,) = [each for page in pages for each in page["PartitionIndexDescriptorList"]]
    assert described == {"IndexName": "i", "Keys": [{"Name": "origin", "Type": "string"}], "IndexStatus": "ACTIVE"}

    function = sample(MODEL.shape_for("UserDefinedFunctionInput")) | {"GovernanceMode": "IAM_ONLY"}
    flights.create_user_defined_function(DatabaseName="air", FunctionInput=function)
    pages = flights.get_paginator("get_user_defined_functions").paginate(Pattern="*", PaginationConfig={"PageSize": 1})
    (made,) = [each for page in pages for each in page["UserDefinedFunctions"]]
    assert function.items() <= made.items()
    assert set(made) - set(function) == {"DatabaseName", "CreateTime", "CatalogId"}
