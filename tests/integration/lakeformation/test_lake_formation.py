"""Grants by boto3's client of Lake Formation, and what callers then see and read through Glue and Athena."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
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

        status = wait_until(done, seconds=240)
        assert status is not None, "it has not ended"
        if status["State"] != "SUCCEEDED":
            return str(status["StateChangeReason"])
        result = athena.get_query_results(QueryExecutionId=started)["ResultSet"]["Rows"]
        return [[item.get("VarCharValue", "") for item in row["Data"]] for row in result[1:]]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with running_server() as server:
        folder = server.lake / "lk" / "orders"
        folder.mkdir(parents=True)
        rows = {"id": [1, 2, 3], "country": ["US", "DE", "US"], "card": ["11", "22", "33"]}
        pq.write_table(pa.table(rows), folder / "rows.parquet")
        glue, lake = server.client("glue"), server.client("lakeformation")
        data_lake_setting = lake.get_data_lake_settings()["DataLakeSettings"]
        assert data_lake_setting["CreateTableDefaultPermissions"][0]["Principal"] == {
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
    assert [database["Name"] for database in glue.get_databases()["DatabaseList"]] == ["open"]
    assert "Insufficient Lake Formation" in world.sql("nobody", "SELECT * FROM orders")
    assert world.client("glue", "admin").get_table(DatabaseName="shop", Name="orders")["Table"]["Name"] == "orders"


def test_columns_are_what_was_granted_until_it_is_revoked(world: World) -> None:
    columns = {
        "TableWithColumns": {"DatabaseName": "shop", "Name": "orders", "ColumnWildcard": {"ExcludedColumnNames": ["card"]}}
    }
    world.grant("clerk", columns, "SELECT")
    assert world.sql("clerk", "SELECT * FROM orders ORDER BY id") == [["1", "US"], ["2", "DE"], ["3", "US"]]
    assert "card" in world.sql("clerk", "SELECT card FROM orders")
    assert shown_columns(world, "clerk") == {"id country"}, "the catalog shows what may be read"
    assert shown_columns(world, "admin") == {"id country card"}
    _refused(lambda: world.client("glue", "clerk").delete_table(DatabaseName="shop", Name="orders"))
    lake = world.server.client("lakeformation")
    listed = lake.list_permissions(Principal={"DataLakePrincipalIdentifier": world.user("clerk")})[
        "PrincipalResourcePermissions"
    ]
    assert [item["Permissions"] for item in listed] == [["SELECT"]]
    assert listed[0]["Resource"]["TableWithColumns"]["ColumnWildcard"] == {"ExcludedColumnNames": ["card"]}
    lake.revoke_permissions(
        Principal={"DataLakePrincipalIdentifier": world.user("clerk")}, Resource=columns, Permissions=["SELECT"]
    )
    assert "Insufficient Lake Formation" in world.sql("clerk", "SELECT id FROM orders")
    with pytest.raises(ClientError, match="has no such permission"):
        lake.revoke_permissions(
            Principal={"DataLakePrincipalIdentifier": world.user("clerk")}, Resource=columns, Permissions=["SELECT"]
        )


def shown_columns(world: World, user: str) -> set[str]:
    """Return the columns of orders, as each operation shows them to the user."""
    glue, athena = (world.client(service, user) for service in ("glue", "athena"))
    named = {"DatabaseName": "shop", "TableName": "orders"}
    tables = [
        glue.get_table(DatabaseName="shop", Name="orders")["Table"],
        *glue.get_tables(DatabaseName="shop", Expression="orders")["TableList"],
        *glue.search_tables(SearchText="orders")["TableList"],
        glue.get_table_version(**named)["TableVersion"]["Table"],
        *(table_version["Table"] for table_version in glue.get_table_versions(**named)["TableVersions"]),
    ]
    shown = [table["StorageDescriptor"]["Columns"] for table in tables]
    asked = {"CatalogName": "AwsDataCatalog", "DatabaseName": "shop"}
    shown.append(athena.get_table_metadata(**asked, TableName="orders")["TableMetadata"]["Columns"])
    shown += [table_metadata["Columns"] for table_metadata in athena.list_table_metadata(**asked)["TableMetadataList"]]
    return {" ".join(column["Name"] for column in columns) for columns in shown}


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
    result = lake.get_data_cells_filter(**names)["DataCellsFilter"]
    assert (result["RowFilter"], result["VersionId"]) == ({"FilterExpression": "country = 'US'"}, "1")
    lake.update_data_cells_filter(TableData={**data, "RowFilter": {"AllRowsWildcard": {}}})
    wait_until(lambda: world.sql("american", "SELECT count(*) FROM orders") == [["3"]], seconds=240)
    with pytest.raises(ClientError, match="has no column nothing"):
        lake.create_data_cells_filter(TableData={**data, "Name": "x", "ColumnNames": ["nothing"]})
    assert [data_cells_filter["Name"] for data_cells_filter in lake.list_data_cells_filter()["DataCellsFilters"]] == ["us"]


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
    assert {
        lf_tags_on_column["Name"]: lf_tags_on_column["LFTags"][0]["TagValues"]
        for lf_tags_on_column in tags["LFTagsOnColumns"]
    }["card"] == ["ops"]
    search_tables_by_lf_tag = lake.search_tables_by_lf_tags(Expression=[{"TagKey": "team", "TagValues": ["sales"]}])[
        "TableList"
    ]
    assert [item["Table"]["Name"] for item in search_tables_by_lf_tag] == ["orders"]
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
    assert [item["Name"] for item in seen] == ["orders"], "flights is its creator's alone"


def test_who_may_grant(world: World) -> None:
    lake = world.client("lakeformation", "clerk")
    mine = {"DataLakePrincipalIdentifier": world.user("clerk")}
    _refused(lambda: lake.grant_permissions(Principal=mine, Resource=TABLE, Permissions=["SELECT"]))
    _refused(lambda: lake.put_data_lake_settings(DataLakeSettings={"DataLakeAdmins": [mine]}))
    world.grant("deputy", TABLE, "SELECT", PermissionsWithGrantOption=["SELECT"])
    deputy = world.client("lakeformation", "deputy")
    entry = {"Id": "1", "Principal": mine, "Resource": TABLE, "Permissions": ["SELECT"]}
    answer = deputy.batch_grant_permissions(Entries=[entry, {**entry, "Id": "2", "Permissions": ["DROP"]}])
    assert [failure["RequestEntry"]["Id"] for failure in answer["Failures"]] == ["2"]
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


def test_rows_are_written_with_insert_and_deleted_with_delete(world: World) -> None:
    made = "CREATE TABLE shop.ledger (id bigint) LOCATION 's3://lk/ledger/' TBLPROPERTIES ('table_type' = 'ICEBERG')"
    world.grant("maker", DATABASE, "CREATE_TABLE", "DESCRIBE")
    assert world.sql("maker", made) == []
    ledger = {"Table": {"DatabaseName": "shop", "Name": "ledger"}}
    for table in (TABLE, ledger):
        world.grant("writer", table, "SELECT", "ALTER")
    hive, iceberg = "INSERT INTO orders VALUES (4, 'FR', '44')", "INSERT INTO ledger VALUES (1), (2)"
    changes = ["DELETE FROM ledger WHERE id = 1", "UPDATE ledger SET id = 3 WHERE id = 2"]
    for text in (hive, iceberg):
        assert "Required INSERT on table shop." in world.sql("writer", text)
    assert "Required DELETE on table shop.ledger" in world.sql("writer", changes[0])
    assert "Required INSERT, DELETE on table shop.ledger" in world.sql("writer", changes[1])
    world.grant("writer", ledger, "INSERT")
    assert world.sql("writer", iceberg) == []
    assert "Required DELETE on table shop.ledger" in world.sql("writer", changes[1])
    world.grant("writer", ledger, "DELETE")
    for text in changes:
        assert world.sql("writer", text) == []
    assert world.sql("writer", "SELECT id FROM ledger") == [["3"]]
    world.grant("writer", ledger, "DROP")
    world.grant("writer", DATABASE, "CREATE_TABLE")
    rename = "ALTER TABLE ledger RENAME TO book"
    assert "Required ALL on table shop.ledger" in world.sql("writer", rename), "its new entry would have no grants"
    assert world.sql("maker", rename) == []
    assert "Required DESCRIBE" in world.sql("writer", "SELECT id FROM book")


def test_what_crawlers_and_statements_make_is_restricted_and_forgotten_when_it_goes(world: World) -> None:
    glue = world.server.client("glue")
    role = world.server.client("iam").create_role(
        RoleName="crawler",
        AssumeRolePolicyDocument=json.dumps(
            {
                "Version": "2012-10-17",
                "Statement": [
                    {"Effect": "Allow", "Principal": {"Service": "glue.amazonaws.com"}, "Action": "sts:AssumeRole"}
                ],
            }
        ),
    )["Role"]["Arn"]
    targets = {"S3Targets": [{"Path": "s3://lk/orders/"}]}
    glue.create_crawler(Name="lk", Role=role, DatabaseName="crawled", Targets=targets)
    glue.start_crawler(Name="lk")
    assert wait_until(lambda: glue.get_crawler(Name="lk")["Crawler"]["State"] == "READY", seconds=240)
    assert [table["Name"] for table in glue.get_tables(DatabaseName="crawled")["TableList"]] == ["orders"]
    stranger = world.client("glue", "stranger")
    assert "Required DESCRIBE on table crawled.orders" in _refused(
        lambda: stranger.get_table(DatabaseName="crawled", Name="orders")
    )
    world.grant("author", DATABASE, "CREATE_TABLE", "DESCRIBE")
    view = "CREATE VIEW shop.mine AS SELECT 1 AS x"
    assert world.sql("author", view) == []
    assert "Required DESCRIBE on table shop.mine" in _refused(lambda: stranger.get_table(DatabaseName="shop", Name="mine"))
    world.grant("stranger", {"Table": {"DatabaseName": "shop", "Name": "mine"}}, "DESCRIBE")
    stranger.get_table(DatabaseName="shop", Name="mine")
    assert world.sql("author", "DROP VIEW shop.mine") == []
    assert world.sql("author", view) == []
    _refused(lambda: stranger.get_table(DatabaseName="shop", Name="mine"))


def test_credentials_for_the_files_of_a_table(world: World) -> None:
    admin = world.server.client("lakeformation")
    arn = f"arn:aws:glue:us-east-1:{world.server.account}:table/shop/orders"
    world.grant("engine", TABLE, "SELECT")
    engine = world.client("lakeformation", "engine")
    with pytest.raises(ClientError, match="s3://lk/orders is not registered with Lake Formation"):
        engine.get_temporary_glue_table_credentials(TableArn=arn)
    admin.register_resource(ResourceArn="arn:aws:s3:::lk/orders", UseServiceLinkedRole=True)
    result = engine.get_temporary_glue_table_credentials(
        TableArn=arn, Permissions=["SELECT"], DurationSeconds=900, SupportedPermissionTypes=["COLUMN_PERMISSION"]
    )
    assert result["VendedS3Path"] == ["s3://lk/orders"]
    assert result["Expiration"] - datetime.now(UTC) < timedelta(seconds=901)
    within = engine.get_temporary_glue_table_credentials(TableArn=arn, S3Path="s3://lk/orders/day=1/")
    assert within["VendedS3Path"] == ["s3://lk/orders/day=1"]
    for path in ("s3://lk/orders-2/", "s3://lk/"):
        with pytest.raises(ClientError, match="is not within the table's location"):
            engine.get_temporary_glue_table_credentials(TableArn=arn, S3Path=path)
    # They are a session of the caller that may do this and no more: none of Glue, and of S3 the table's files.
    session = {name: result[name] for name in ("AccessKeyId", "SecretAccessKey", "SessionToken")}
    keys = {"access_key_id": session["AccessKeyId"], "secret_access_key": session["SecretAccessKey"]}
    narrowed = world.server.client("glue", **keys, aws_session_token=session["SessionToken"])
    _refused(narrowed.get_databases)
    denied: list[Callable[[], Any]] = [
        lambda: engine.get_temporary_glue_table_credentials(TableArn=arn, Permissions=["INSERT"]),
        lambda: world.client("lakeformation", "clerk2").get_temporary_glue_table_credentials(TableArn=arn),
    ]
    columns = {"TableWithColumns": {"DatabaseName": "shop", "Name": "orders", "ColumnNames": ["id"]}}
    world.grant("clerk2", columns, "SELECT")
    for ask in denied:
        assert "Insufficient Lake Formation permission(s): Required" in _refused(ask)
    for wrong in (arn.replace(world.server.account, "999999999999"), arn.replace("table/", "database/"), "x"):
        with pytest.raises(
            ClientError, match=r"not the ARN of a table|not a table's ARN|is not this account's|not authorized"
        ):
            engine.get_temporary_glue_table_credentials(TableArn=wrong)
    partition = {"Values": ["1"]}
    with pytest.raises(ClientError, match="EntityNotFoundException"):
        engine.get_temporary_glue_partition_credentials(TableArn=arn, Partition=partition)
    admin.deregister_resource(ResourceArn="arn:aws:s3:::lk/orders")


def test_a_resource_link_is_read_with_permissions_on_its_target(world: World) -> None:
    glue = world.server.client("glue")
    lake = world.server.client("lakeformation")
    target = {"CatalogId": world.server.account, "DatabaseName": "Shop"}
    glue.create_database(DatabaseInput={"Name": "links"})
    glue.create_database(DatabaseInput={"Name": "shop_link", "TargetDatabase": target})
    for name, expected in (
        ("to_orders", {**target, "Name": "Orders"}),
        ("to_link", {"DatabaseName": "links", "Name": "to_orders"}),
        ("to_nothing", {**target, "Name": "nothing"}),
        ("to_others", {**target, "CatalogId": "999999999999", "Name": "orders"}),
    ):
        glue.create_table(DatabaseName="links", TableInput={"Name": name, "TargetTable": expected})
    everyone = {"DataLakePrincipalIdentifier": "IAM_ALLOWED_PRINCIPALS"}
    for name in ("links", "shop_link"):
        lake.grant_permissions(Principal=everyone, Resource={"Database": {"Name": name}}, Permissions=["ALL"])
    for name in ("to_orders", "to_link", "to_nothing", "to_others"):
        table = {"Table": {"DatabaseName": "links", "Name": name}}
        lake.grant_permissions(Principal=everyone, Resource=table, Permissions=["ALL"])
    assert "Required DESCRIBE on table shop.orders" in world.sql("visitor", "SELECT id FROM links.to_orders")
    columns = {"TableWithColumns": {"DatabaseName": "shop", "Name": "orders", "ColumnNames": ["id"]}}
    world.grant("visitor", columns, "SELECT")
    for name in ("links.to_orders", "shop_link.orders"):
        assert world.sql("visitor", f"SELECT * FROM {name} ORDER BY 1") == [["1"], ["2"], ["3"]]
    assert "resource link to a link" in world.sql("visitor", "SELECT * FROM links.to_link")
    assert "links.to_nothing' does not exist" in world.sql("visitor", "SELECT * FROM links.to_nothing")
    assert "account 999999999999" in world.sql("visitor", "SELECT * FROM links.to_others")
    # What is dropped is the link.
    assert world.sql("visitor", "DROP TABLE links.to_orders") == []
    assert glue.get_table(DatabaseName="shop", Name="orders")["Table"]["Name"] == "orders"


def test_tables_at_a_registered_location_need_access_to_it(world: World) -> None:
    lake, glue = world.server.client("lakeformation"), world.client("glue", "builder")
    lake.register_resource(ResourceArn="arn:aws:s3:::lk/vault", UseServiceLinkedRole=True)
    world.grant("builder", DATABASE, "DESCRIBE", "CREATE_TABLE")

    def create(name: str, location: str, database: str = "shop") -> None:
        storage = {**STORAGE, "Location": location}
        glue.create_table(DatabaseName=database, TableInput={"Name": name, "StorageDescriptor": storage})

    create("elsewhere", "s3://lk/vaults/")
    for ask in (
        lambda: create("kept", "s3://lk/vault/kept/"),
        lambda: create("open", "s3://lk/vault/", database="open"),
        lambda: glue.update_table(
            DatabaseName="shop",
            TableInput={"Name": "elsewhere", "StorageDescriptor": {**STORAGE, "Location": "s3a://lk/vault/kept"}},
        ),
        lambda: glue.create_partition(
            DatabaseName="shop",
            TableName="elsewhere",
            PartitionInput={"Values": ["1"], "StorageDescriptor": {**STORAGE, "Location": "s3://lk/vault/1/"}},
        ),
    ):
        assert "Required DATA_LOCATION_ACCESS on arn:aws:s3:::lk/vault" in _refused(ask)
    assert "Required DATA_LOCATION_ACCESS" in world.sql(
        "builder", "CREATE TABLE shop.made WITH (external_location = 's3://lk/vault/made/') AS SELECT 1 AS x"
    )
    place = {"DataLocation": {"ResourceArn": "arn:aws:s3:::lk/vault/kept"}}
    world.grant("builder", place, "DATA_LOCATION_ACCESS")
    create("kept", "s3://lk/vault/kept/")
    assert "DATA_LOCATION_ACCESS" in _refused(lambda: create("beside", "s3://lk/vault/kept-not/"))
    # A table that stays where it is, and one below its own database's location, need no more.
    storage = {**STORAGE, "Location": "s3://lk/vault/kept/"}
    glue.update_table(
        DatabaseName="shop", TableInput={"Name": "kept", "StorageDescriptor": storage, "Parameters": {"a": "b"}}
    )
    world.client("glue", "admin").create_database(
        DatabaseInput={"Name": "vaulted", "LocationUri": "s3://lk/vault/db", "CreateTableDefaultPermissions": []}
    )
    world.grant("builder", {"Database": {"Name": "vaulted"}}, "CREATE_TABLE")
    create("within", "s3://lk/vault/db/within/", database="vaulted")
    lake.deregister_resource(ResourceArn="arn:aws:s3:::lk/vault")
    create("beside", "s3://lk/vault/kept-not/")
