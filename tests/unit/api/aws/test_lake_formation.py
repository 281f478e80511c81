"""Lake Formation's operations for boto3 on a server without authentication, where every caller is the account's root."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.unit.api.aws.every_operation import ACCOUNT

Client = Callable[[str], Any]

ADMIN = f"arn:aws:iam::{ACCOUNT}:role/admin"
READER = f"arn:aws:iam::{ACCOUNT}:role/reader"


def _principal(name: str) -> dict[str, str]:
    return {"DataLakePrincipalIdentifier": name}


def _grants(client: Client, table: str) -> dict[str, list[str]]:
    permissions = client("lakeformation").list_permissions(Resource={"Table": {"DatabaseName": "shop", "Name": table}})
    return {
        principal_resource_permission["Principal"]["DataLakePrincipalIdentifier"]: principal_resource_permission[
            "Permissions"
        ]
        for principal_resource_permission in permissions["PrincipalResourcePermissions"]
    }


def test_without_authentication_no_caller_locks_itself_out(client: Client) -> None:
    lake = client("lakeformation")
    lake.put_data_lake_settings(DataLakeSettings={"DataLakeAdmins": [_principal(ADMIN)]})
    assert lake.get_data_lake_principal()["Identity"] == f"arn:aws:iam::{ACCOUNT}:root"
    lake.create_lf_tag(TagKey="team", TagValues=["ops"])
    resource: dict[str, Any] = {"Catalog": {}}
    lake.grant_permissions(Principal=_principal(READER), Resource=resource, Permissions=["DESCRIBE"])
    assert [
        principal_resource_permission["LastUpdatedBy"]
        for principal_resource_permission in lake.list_permissions()["PrincipalResourcePermissions"]
    ] == [f"arn:aws:iam::{ACCOUNT}:root"]
    lake.revoke_permissions(Principal=_principal(READER), Resource=resource, Permissions=["DESCRIBE"])
    lake.put_data_lake_settings(DataLakeSettings={"DataLakeAdmins": []})
    assert lake.get_data_lake_settings()["DataLakeSettings"]["DataLakeAdmins"] == []


def test_new_tables_have_the_default_permissions_of_their_database(client: Client) -> None:
    glue, lake = client("glue"), client("lakeformation")
    everyone = [{"Principal": _principal("IAM_ALLOWED_PRINCIPALS"), "Permissions": ["ALL"]}]
    readers = [{"Principal": _principal(READER), "Permissions": ["SELECT", "ALTER"]}]
    lake.put_data_lake_settings(
        DataLakeSettings={"CreateDatabaseDefaultPermissions": everyone, "CreateTableDefaultPermissions": everyone}
    )
    glue.create_database(DatabaseInput={"Name": "shop", "CreateTableDefaultPermissions": readers})
    assert glue.get_database(Name="shop")["Database"]["CreateTableDefaultPermissions"] == readers
    glue.create_table(DatabaseName="shop", TableInput={"Name": "orders"})
    root = f"arn:aws:iam::{ACCOUNT}:root"
    assert _grants(client, "orders") == {root: ["ALL"], READER: ["ALTER", "SELECT"]}
    glue.update_database(Name="shop", DatabaseInput={"Name": "shop", "CreateTableDefaultPermissions": everyone})
    glue.create_table(DatabaseName="shop", TableInput={"Name": "open"})
    assert _grants(client, "open") == {}
    glue.update_database(Name="shop", DatabaseInput={"Name": "shop", "CreateTableDefaultPermissions": []})
    glue.create_table(DatabaseName="shop", TableInput={"Name": "closed"})
    assert _grants(client, "closed") == {root: ["ALL"]}


def test_permissions_that_a_new_resource_cannot_have_are_refused(client: Client) -> None:
    wrong = [{"Principal": _principal(READER), "Permissions": ["CREATE_DATABASE"]}]
    with pytest.raises(ClientError, match="CREATE_DATABASE cannot be granted on Table"):
        client("lakeformation").put_data_lake_settings(DataLakeSettings={"CreateTableDefaultPermissions": wrong})
    with pytest.raises(ClientError, match="CREATE_DATABASE cannot be granted on Table"):
        client("glue").create_database(DatabaseInput={"Name": "shop", "CreateTableDefaultPermissions": wrong})


def test_tags_that_are_not_there_are_left_out_and_failures_name_the_catalog(client: Client) -> None:
    glue, lake = client("glue"), client("lakeformation")
    glue.create_database(DatabaseInput={"Name": "shop"})
    columns = [{"Name": "id", "Type": "int"}, {"Name": "card", "Type": "string"}]
    glue.create_table(DatabaseName="shop", TableInput={"Name": "orders", "StorageDescriptor": {"Columns": columns}})
    database: dict[str, Any] = {"Database": {"Name": "shop"}}
    table: dict[str, Any] = {"Table": {"DatabaseName": "shop", "Name": "orders"}}

    def tags(resource: dict[str, Any]) -> dict[str, Any]:
        resource_lf_tags = lake.get_resource_lf_tags(Resource=resource)
        return {name: value for name, value in resource_lf_tags.items() if name != "ResponseMetadata"}

    assert tags(database) == tags(table) == {}
    lake.create_lf_tag(TagKey="team", TagValues=["ops"])
    pair = {"TagKey": "team", "TagValues": ["ops"]}
    card = {"TableWithColumns": {"DatabaseName": "shop", "Name": "orders", "ColumnNames": ["card"]}}
    assert lake.add_lf_tags_to_resource(Resource=card, LFTags=[pair])["Failures"] == []
    assert tags(table) == {"LFTagsOnColumns": [{"Name": "card", "LFTags": [{"CatalogId": ACCOUNT, **pair}]}]}
    unknown = {"TagKey": "cost", "TagValues": ["low"]}
    (failure,) = lake.add_lf_tags_to_resource(Resource=table, LFTags=[unknown])["Failures"]
    assert failure["LFTag"] == {"CatalogId": ACCOUNT, **unknown}
    assert failure["Error"]["ErrorCode"] == "EntityNotFoundException"
