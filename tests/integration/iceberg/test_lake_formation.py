"""Lake Formation on the REST catalog: what is new is restricted, and files are only for who may select all of a table."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pyarrow as pa
import pytest
from botocore.exceptions import ClientError

from tests.integration.iceberg.requests_to import Client, get_token
from tests.integration.iceberg.world import World, open_world

ROWS = pa.table({"id": [1, 2], "card": ["11", "22"]})
EVERYTHING = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
PATH = "/namespaces/shop/tables/orders"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A world whose lake restricts what is new."""
    with open_world(tmp_path_factory.mktemp("restricted")) as opened:
        settings: dict[str, Any] = {"CreateDatabaseDefaultPermissions": [], "CreateTableDefaultPermissions": []}
        opened.server.client("lakeformation").put_data_lake_settings(DataLakeSettings=settings)
        yield opened


def user(world: World, name: str, *permissions: str, resource: Any = None) -> Client:
    iam = world.server.client("iam")
    arn = iam.create_user(UserName=name)["User"]["Arn"]
    iam.put_user_policy(UserName=name, PolicyName="all", PolicyDocument=json.dumps(EVERYTHING))
    key = iam.create_access_key(UserName=name)["AccessKey"]
    if permissions:
        world.server.client("lakeformation").grant_permissions(
            Principal={"DataLakePrincipalIdentifier": arn}, Resource=resource, Permissions=list(permissions)
        )
    return Client(world, get_token(world, key["AccessKeyId"], key["SecretAccessKey"]))


def refused_operations(world: World, caller: Client) -> list[str]:
    """Return which of three operations on an object of the table the caller's vended credential may not do."""
    [found] = caller.get(f"{PATH}/credentials").json()["storage-credentials"]
    config = found["config"]
    s3 = boto3.client(
        "s3",
        endpoint_url=config["s3.endpoint"],
        region_name=config["s3.region"],
        aws_access_key_id=config["s3.access-key-id"],
        aws_secret_access_key=config["s3.secret-access-key"],
        aws_session_token=config["s3.session-token"],
    )
    bucket, _, key = found["prefix"].removeprefix("s3://").partition("/")
    asked = {"Bucket": bucket, "Key": f"{key}data/new"}
    with pytest.raises(ClientError, match="404"):
        s3.head_object(**asked)
    refused = []
    for operation in (s3.put_object, s3.get_object, s3.delete_object):
        try:
            operation(**asked)
        except ClientError as error:
            refused.append(f"{error.operation_name}: {error.response['Error']['Code']}")
    return refused


def test_files_are_for_who_may_select_all(world: World) -> None:
    catalog = world.bearer()
    catalog.create_namespace("shop")
    catalog.create_table("shop.orders", ROWS.schema).append(ROWS)
    refusal = user(world, "nobody").get(PATH)
    assert (refusal.status_code, "Insufficient Lake Formation" in refusal.text) == (403, True)

    some = {"TableWithColumns": {"DatabaseName": "shop", "Name": "orders", "ColumnNames": ["id"]}}
    clerk = user(world, "clerk", "SELECT", resource=some)
    shown = clerk.get(PATH, X_Iceberg_Access_Delegation="vended-credentials")
    assert (shown.status_code, "storage-credentials" in shown.json()) == (200, False)
    assert clerk.get(f"{PATH}/credentials").status_code == 404
    signed = {"method": "GET", "uri": f"{world.store.endpoint_url}/lake/x", "region": "us-east-1"}
    assert clerk.post(f"{PATH}/sign", signed).status_code == 404

    table = {"Table": {"DatabaseName": "shop", "Name": "orders"}}
    reader = user(world, "reader", "SELECT", "DESCRIBE", resource=table)
    assert len(reader.get(f"{PATH}/credentials").json()["storage-credentials"]) == 1
    assert reader.post(PATH, {"requirements": [], "updates": []}).status_code == 403

    # What was granted goes with a table to its new name; who had nothing has nothing.
    catalog.rename_table("shop.orders", "shop.renamed")
    renamed = "/namespaces/shop/tables/renamed"
    assert reader.get(renamed).status_code == 200
    assert "storage-credentials" not in clerk.get(renamed, X_Iceberg_Access_Delegation="vended-credentials").json()
    assert user(world, "stranger").get(renamed).status_code == 403
    catalog.rename_table("shop.renamed", "shop.orders")

    # A writer's credentials: a file that is not there yet is known to be missing, which Spark asks before it writes one.
    writer = user(world, "writer", "SELECT", "ALTER", "INSERT", resource=table)
    assert refused_operations(world, writer) == ["DeleteObject: AccessDenied"]

    # Rows are added with INSERT and removed with DELETE; a table goes where its maker may put it.
    grants = world.server.client("lakeformation")
    editor = user(world, "editor", "ALTER", resource=table)
    snapshot = {"snapshot-id": 1, "timestamp-ms": 1, "manifest-list": "s3://lake/x", "summary": {"operation": "append"}}
    for operation, missing in (("append", "INSERT"), ("delete", "DELETE"), ("overwrite", "INSERT, DELETE")):
        adding = {"action": "add-snapshot", "snapshot": {**snapshot, "summary": {"operation": operation}}}
        refusal = editor.post(PATH, {"requirements": [], "updates": [adding]})
        assert (refusal.status_code, f"Required {missing} on table" in refusal.text) == (403, True)
    grants.register_resource(ResourceArn="arn:aws:s3:::lake/vault", UseServiceLinkedRole=True)
    maker = user(world, "maker", "CREATE_TABLE", resource={"Database": {"Name": "shop"}})
    schema = {"type": "struct", "schema-id": 0, "fields": []}
    for more in ({}, {"stage-create": True}):
        expected = {"name": "kept", "schema": schema, "location": "s3://lake/vault/kept", **more}
        refusal = maker.post("/namespaces/shop/tables", expected)
        assert (refusal.status_code, "Required DATA_LOCATION_ACCESS" in refusal.text) == (403, True)
    assert maker.post("/namespaces/shop/tables", {"name": "kept", "schema": schema}).status_code == 200
    moving = {"requirements": [], "updates": [{"action": "set-location", "location": "s3://lake/vault/moved"}]}
    assert "Required DATA_LOCATION_ACCESS" in maker.post("/namespaces/shop/tables/kept", moving).text

    catalog.drop_table("shop.orders")
    catalog.create_table("shop.orders", ROWS.schema)
    assert reader.get(PATH).status_code == 403
