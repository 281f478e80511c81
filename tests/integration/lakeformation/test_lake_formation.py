"""Grants by boto3's client of Lake Formation, and what callers then see and read through Glue and Athena."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from botocore.exceptions import ClientError

from penstock.retries import wait_until
from penstock.testing.server import RunningServer, running_server

POLICY = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": ["glue:*", "athena:*", "s3:*", "lakeformation:*"], "Resource": "*"}],
}
STORAGE = {
    "Columns": [
        {"Name": "id", "Type": "bigint"},
        {"Name": "country", "Type": "string"},
        {"Name": "card", "Type": "string"},
    ],
    "Location": "s3://lk/orders/",
    "InputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
    "OutputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
    "SerdeInfo": {"SerializationLibrary": "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"},
}
DATABASE = {"Database": {"Name": "shop"}}
TABLE = {"Table": {"DatabaseName": "shop", "Name": "orders"}}


@dataclass
class World:
    """A server, its root's clients, and users with all of IAM's permissions."""

    server: RunningServer
    users: dict[str, tuple[str, dict[str, str]]] = field(default_factory=dict)

    def user(self, name: str) -> str:
        """Make a user once; return its ARN."""
        if name not in self.users:
            iam = self.server.client("iam")
            arn = iam.create_user(UserName=name)["User"]["Arn"]
            iam.put_user_policy(UserName=name, PolicyName="all", PolicyDocument=json.dumps(POLICY))
            key = iam.create_access_key(UserName=name)["AccessKey"]
            keys = {"access_key_id": key["AccessKeyId"], "secret_access_key": key["SecretAccessKey"]}
            self.users[name] = (arn, keys)
        return self.users[name][0]

    def client(self, service: str, user: str) -> Any:
        self.user(user)
        return self.server.client(service, **self.users[user][1])

    def grant(self, user: str, resource: dict[str, Any], *permissions: str, **more: Any) -> None:
        self.server.client("lakeformation").grant_permissions(
            Principal={"DataLakePrincipalIdentifier": self.user(user)},
            Resource=resource,
            Permissions=list(permissions),
            **more,
        )

    def sql(self, user: str, text: str) -> list[list[str]] | str:
        """Return the rows of a statement, or why it failed."""
        athena = self.client("athena", user)
        started = athena.start_query_execution(
            QueryString=text,
            QueryExecutionContext={"Database": "shop"},
            ResultConfiguration={"OutputLocation": "s3://lk/results/"},
        )["QueryExecutionId"]

        def done() -> Any:
            status = athena.get_query_execution(QueryExecutionId=started)["QueryExecution"]["Status"]
            return status if status["State"] not in {"QUEUED", "RUNNING"} else None

        status = wait_until(done, seconds=30)
        assert status is not None, "it has not ended"
        if status["State"] != "SUCCEEDED":
            return str(status["StateChangeReason"])
        found = athena.get_query_results(QueryExecutionId=started)["ResultSet"]["Rows"]
        return [[each.get("VarCharValue", "") for each in row["Data"]] for row in found[1:]]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with running_server() as server:
        folder = server.lake / "lk" / "orders"
        folder.mkdir(parents=True)
        rows = {"id": [1, 2, 3], "country": ["US", "DE", "US"], "card": ["11", "22", "33"]}
        pq.write_table(pa.table(rows), folder / "rows.parquet")
        glue, lake = server.client("glue"), server.client("lakeformation")
        found = lake.get_data_lake_settings()["DataLakeSettings"]
        assert found["CreateTableDefaultPermissions"][0]["Principal"] == {
            "DataLakePrincipalIdentifier": "IAM_ALLOWED_PRINCIPALS"
        }
        made = World(server)
        glue.create_database(DatabaseInput={"Name": "open"})
        settings: dict[str, Any] = {"CreateDatabaseDefaultPermissions": [], "CreateTableDefaultPermissions": []}
        lake.put_data_lake_settings(
            DataLakeSettings={"DataLakeAdmins": [{"DataLakePrincipalIdentifier": made.user("admin")}], **settings}
        )
        glue.create_database(DatabaseInput={"Name": "shop", "LocationUri": "s3://lk/shop"})
        glue.create_table(
            DatabaseName="shop", TableInput={"Name": "orders", "StorageDescriptor": STORAGE, "TableType": "EXTERNAL_TABLE"}
        )
        yield made


def _refused(call: Callable[[], Any]) -> str:
    with pytest.raises(ClientError) as caught:
        call()
    assert caught.value.response["Error"]["Code"] == "AccessDeniedException"
    return str(caught.value.response["Error"]["Message"])


def test_what_was_there_before_is_not_restricted_and_what_is_new_is(world: World) -> None:
    glue = world.client("glue", "nobody")
    assert glue.get_database(Name="open")["Database"]["Name"] == "open"
    message = _refused(lambda: glue.get_database(Name="shop"))
    assert "Insufficient Lake Formation permission(s): Required DESCRIBE on database shop" in message
    _refused(lambda: glue.get_table(DatabaseName="shop", Name="orders"))
    assert [each["Name"] for each in glue.get_databases()["DatabaseList"]] == ["open"]
    assert "Insufficient Lake Formation" in world.sql("nobody", "SELECT * FROM orders")
    assert world.client("glue", "admin").get_table(DatabaseName="shop", Name="orders")["Table"]["Name"] == "orders"


def test_columns_are_what_was_granted_until_it_is_revoked(world: World) -> None:
    columns = {
        "TableWithColumns": {"DatabaseName": "shop", "Name": "orders", "ColumnWildcard": {"ExcludedColumnNames": ["card"]}}
    }
    world.grant("clerk", columns, "SELECT")
    assert world.sql("clerk", "SELECT * FROM orders ORDER BY id") == [["1", "US"], ["2", "DE"], ["3", "US"]]
    assert "card" in world.sql("clerk", "SELECT card FROM orders")
    _refused(lambda: world.client("glue", "clerk").delete_table(DatabaseName="shop", Name="orders"))
    lake = world.server.client("lakeformation")
    listed = lake.list_permissions(Principal={"DataLakePrincipalIdentifier": world.user("clerk")})[
        "PrincipalResourcePermissions"
    ]
    assert [each["Permissions"] for each in listed] == [["SELECT"]]
    assert listed[0]["Resource"]["TableWithColumns"]["ColumnWildcard"] == {"ExcludedColumnNames": ["card"]}
    lake.revoke_permissions(
        Principal={"DataLakePrincipalIdentifier": world.user("clerk")}, Resource=columns, Permissions=["SELECT"]
    )
    assert "Insufficient Lake Formation" in world.sql("clerk", "SELECT id FROM orders")
    with pytest.raises(ClientError, match="has no such permission"):
        lake.revoke_permissions(
            Principal={"DataLakePrincipalIdentifier": world.user("clerk")}, Resource=columns, Permissions=["SELECT"]
        )


def test_rows_and_columns_of_a_data_cells_filter(world: World) -> None:
    lake = world.server.client("lakeformation")
    data = {
        "TableCatalogId": world.server.account,
        "DatabaseName": "shop",
        "TableName": "orders",
        "Name": "us",
        "RowFilter": {"FilterExpression": "country = 'US'"},
        "ColumnNames": ["id", "country"],
    }
    lake.create_data_cells_filter(TableData=data)
    names = {key: data[key] for key in ("TableCatalogId", "DatabaseName", "TableName", "Name")}
    world.grant("american", {"DataCellsFilter": names}, "SELECT")
    assert world.sql("american", "SELECT * FROM orders ORDER BY id") == [["1", "US"], ["3", "US"]]
    assert world.sql("american", "SELECT count(*) FROM orders WHERE id < 3") == [["1"]]
    found = lake.get_data_cells_filter(**names)["DataCellsFilter"]
    assert (found["RowFilter"], found["VersionId"]) == ({"FilterExpression": "country = 'US'"}, "1")
    lake.update_data_cells_filter(TableData={**data, "RowFilter": {"AllRowsWildcard": {}}})
    wait_until(lambda: world.sql("american", "SELECT count(*) FROM orders") == [["3"]], seconds=10)
    with pytest.raises(ClientError, match="has no column nothing"):
        lake.create_data_cells_filter(TableData={**data, "Name": "x", "ColumnNames": ["nothing"]})
    assert [each["Name"] for each in lake.list_data_cells_filter()["DataCellsFilters"]] == ["us"]


def test_tags_and_expressions_of_them(world: World) -> None:
    lake = world.server.client("lakeformation")
    lake.create_lf_tag(TagKey="Team", TagValues=["sales", "ops"])
    assert lake.get_lf_tag(TagKey="team")["TagValues"] == ["sales", "ops"]
    lake.add_lf_tags_to_resource(Resource=DATABASE, LFTags=[{"TagKey": "team", "TagValues": ["sales"]}])
    secret = {"TableWithColumns": {"DatabaseName": "shop", "Name": "orders", "ColumnNames": ["card"]}}
    lake.add_lf_tags_to_resource(Resource=secret, LFTags=[{"TagKey": "team", "TagValues": ["ops"]}])
    policy = {"LFTagPolicy": {"ResourceType": "TABLE", "Expression": [{"TagKey": "team", "TagValues": ["sales"]}]}}
    world.grant("seller", policy, "SELECT", "DESCRIBE")
    assert world.sql("seller", "SELECT * FROM orders WHERE id = 1") == [["1", "US"]]
    tags = lake.get_resource_lf_tags(Resource=TABLE)
    assert tags["LFTagsOnTable"][0]["TagValues"] == ["sales"]
    assert {each["Name"]: each["LFTags"][0]["TagValues"] for each in tags["LFTagsOnColumns"]}["card"] == ["ops"]
    found = lake.search_tables_by_lf_tags(Expression=[{"TagKey": "team", "TagValues": ["sales"]}])["TableList"]
    assert [each["Table"]["Name"] for each in found] == ["orders"]
    failed = lake.add_lf_tags_to_resource(Resource=TABLE, LFTags=[{"TagKey": "team", "TagValues": ["art"]}])["Failures"]
    assert "has no value art" in failed[0]["Error"]["ErrorMessage"]
    with pytest.raises(ClientError, match="are assigned"):
        lake.update_lf_tag(TagKey="team", TagValuesToDelete=["sales"])


def test_the_grants_of_the_first_article_are_needed_and_enough(world: World) -> None:
    """The job: DESCRIBE and CREATE_TABLE on the database, SELECT, ALTER, DESCRIBE, INSERT on its tables. Readers: two."""
    glue = world.client("glue", "job")
    table = {
        "Name": "flights",
        "StorageDescriptor": {**STORAGE, "Location": "s3://lk/flights/"},
        "TableType": "EXTERNAL_TABLE",
    }
    _refused(lambda: glue.create_table(DatabaseName="shop", TableInput=table))
    world.grant("job", DATABASE, "DESCRIBE", "CREATE_TABLE")
    glue.create_table(DatabaseName="shop", TableInput=table)
    orders = {"Name": "orders", "StorageDescriptor": STORAGE, "TableType": "EXTERNAL_TABLE"}
    _refused(lambda: glue.update_table(DatabaseName="shop", TableInput=orders))
    world.grant("job", TABLE, "SELECT", "ALTER", "DESCRIBE", "INSERT")
    glue.update_table(DatabaseName="shop", TableInput=orders)
    assert world.sql("job", "SELECT count(*) FROM orders") == [["3"]]
    _refused(lambda: glue.delete_table(DatabaseName="shop", Name="orders"))
    world.grant("reader", TABLE, "DESCRIBE")
    assert "Insufficient Lake Formation" in world.sql("reader", "SELECT 1 FROM orders")
    world.grant("reader", TABLE, "SELECT")
    assert world.sql("reader", "SELECT max(card) FROM orders") == [["33"]]
    seen = world.client("glue", "reader").get_tables(DatabaseName="shop")["TableList"]
    assert [each["Name"] for each in seen] == ["orders"], "flights is its creator's alone"


def test_who_may_grant(world: World) -> None:
    lake = world.client("lakeformation", "clerk")
    mine = {"DataLakePrincipalIdentifier": world.user("clerk")}
    _refused(lambda: lake.grant_permissions(Principal=mine, Resource=TABLE, Permissions=["SELECT"]))
    _refused(lambda: lake.put_data_lake_settings(DataLakeSettings={"DataLakeAdmins": [mine]}))
    world.grant("deputy", TABLE, "SELECT", PermissionsWithGrantOption=["SELECT"])
    deputy = world.client("lakeformation", "deputy")
    entry = {"Id": "1", "Principal": mine, "Resource": TABLE, "Permissions": ["SELECT"]}
    answer = deputy.batch_grant_permissions(Entries=[entry, {**entry, "Id": "2", "Permissions": ["DROP"]}])
    assert [each["RequestEntry"]["Id"] for each in answer["Failures"]] == ["2"]
    assert world.sql("clerk", "SELECT count(*) FROM orders") == [["3"]]
    with pytest.raises(ClientError, match="cannot be granted on Database"):
        world.server.client("lakeformation").grant_permissions(Principal=mine, Resource=DATABASE, Permissions=["SELECT"])


def test_what_is_not_an_administrators_is_refused_or_hidden(world: World) -> None:
    lake, admin = world.client("lakeformation", "nobody"), world.client("lakeformation", "admin")
    pair = [{"TagKey": "team", "TagValues": ["sales"]}]
    for call in (
        lambda: lake.create_lf_tag(TagKey="mine", TagValues=["x"]),
        lambda: lake.add_lf_tags_to_resource(Resource=TABLE, LFTags=pair),
        lambda: lake.get_resource_lf_tags(Resource=TABLE),
        lambda: lake.delete_data_cells_filter(DatabaseName="shop", TableName="orders", Name="us"),
        lambda: lake.register_resource(ResourceArn="arn:aws:s3:::lk/x"),
    ):
        _refused(call)
    assert lake.list_permissions()["PrincipalResourcePermissions"] == []
    assert lake.search_tables_by_lf_tags(Expression=pair)["TableList"] == []
    assert len(admin.search_tables_by_lf_tags(Expression=pair)["TableList"]) == 2


def test_locations_and_what_is_not_served(world: World) -> None:
    lake = world.server.client("lakeformation")
    lake.register_resource(ResourceArn="arn:aws:s3:::lk/orders", UseServiceLinkedRole=True)
    assert lake.describe_resource(ResourceArn="arn:aws:s3:::lk/orders")["ResourceInfo"]["RoleArn"].endswith("DataAccess")
    assert len(lake.list_resources()["ResourceInfoList"]) == 1
    lake.deregister_resource(ResourceArn="arn:aws:s3:::lk/orders")
    with pytest.raises(ClientError, match="does not serve yet"):
        lake.start_transaction()
