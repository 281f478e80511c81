"""Data catalogs of type GLUE: further names of the account's catalog, in operations and in SQL."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from penstock.catalog.model import Column, DatabaseInput, StorageDescriptor, Table
from penstock.catalog.service import CatalogService
from penstock.errors import AccessDenied
from penstock.query.service import QueryService, StatementRequest
from penstock.query.tables.views import VIEW_TYPE, StoredView, view_text
from tests.unit.api.aws.athena.conftest import CountingStore, Run
from tests.unit.api.aws.loopback import ACCOUNT
from tests.unit.query.lake_of_flights import NOW, Lake
from tests.unit.query.test_query_permissions import RecordedAccess

OWN = {"catalog-id": ACCOUNT}
ARN = f"arn:aws:athena:us-east-1:{ACCOUNT}:datacatalog/Lake"


@pytest.fixture
def made(athena: Any) -> Any:
    tags = [{"Key": "team", "Value": "ops"}]
    answer = athena.create_data_catalog(Name="Lake", Type="GLUE", Description="d", Parameters=OWN, Tags=tags)
    assert answer["DataCatalog"]["Status"] == "CREATE_COMPLETE"
    return athena


def test_a_data_catalog_comes_back_until_it_is_deleted(made: Any) -> None:
    shown = {"Name": "Lake", "Type": "GLUE", "Status": "CREATE_COMPLETE", "Description": "d", "Parameters": OWN}
    assert made.get_data_catalog(Name="Lake")["DataCatalog"] == shown
    made.update_data_catalog(Name="Lake", Type="GLUE", Description="e")
    assert made.get_data_catalog(Name="Lake")["DataCatalog"] == {**shown, "Description": "e"}
    made.tag_resource(ResourceARN=ARN, Tags=[{"Key": "a", "Value": "b"}])
    made.untag_resource(ResourceARN=ARN, TagKeys=["team"])
    assert made.list_tags_for_resource(ResourceARN=ARN)["Tags"] == [{"Key": "a", "Value": "b"}]
    made.delete_data_catalog(Name="Lake")
    for call in (made.get_data_catalog, made.delete_data_catalog):
        with pytest.raises(ClientError, match="Data catalog Lake was not found") as error:
            call(Name="Lake")
        assert error.value.response["Error"]["Code"] == "InvalidRequestException"


def test_lists_have_the_accounts_own_in_its_place(athena: Any) -> None:
    for name in ("zoo", "a", "Bay"):
        athena.create_data_catalog(Name=name, Type="GLUE", Parameters=OWN)
    pages = athena.get_paginator("list_data_catalogs").paginate(PaginationConfig={"PageSize": 2})
    assert [[item["CatalogName"] for item in page["DataCatalogsSummary"]] for page in pages] == [
        ["a", "AwsDataCatalog"],
        ["Bay", "zoo"],
    ]


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        ({"Type": "LAMBDA", "Parameters": {"function": "arn"}}, "type LAMBDA are not served"),
        ({"Type": "HIVE", "Parameters": {"metadata-function": "arn"}}, "type HIVE are not served"),
        ({"Type": "FEDERATED", "Parameters": {"connection-type": "MYSQL"}}, "type FEDERATED are not served"),
        ({"Parameters": {"catalog-id": "999988887777"}}, "999988887777 is not the account's own"),
        ({"Parameters": {**OWN, "sdk-version": "1"}}, "unknown parameter 'sdk-version'"),
        ({}, "needs the parameter 'catalog-id'"),
        ({"Name": "a b", "Parameters": OWN}, "'a b' is not a name"),
        ({"Name": "lake", "Parameters": OWN}, "DataCatalog lake already exists"),
        ({"Name": "awsdatacatalog", "Parameters": OWN}, "already exists"),
    ],
)
def test_what_statements_cannot_reach_is_refused_by_name(made: Any, request_: dict[str, Any], why: str) -> None:
    with pytest.raises(ClientError, match=why) as error:
        made.create_data_catalog(**{"Name": "other", "Type": "GLUE", **request_})
    assert error.value.response["Error"]["Code"] == "InvalidRequestException"


def test_updates_are_checked_and_the_accounts_own_is_not_changed(made: Any) -> None:
    for call, expected, why in (
        (made.update_data_catalog, {"Name": "Lake", "Type": "HIVE"}, "type HIVE"),
        (made.update_data_catalog, {"Name": "Lake", "Type": "GLUE", "Parameters": {"catalog-id": "1"}}, "catalog-id 1 "),
        (made.update_data_catalog, {"Name": "lake", "Type": "GLUE"}, "lake was not found"),
        (made.update_data_catalog, {"Name": "AwsDataCatalog", "Type": "GLUE"}, "cannot be changed"),
        (made.delete_data_catalog, {"Name": "awsdatacatalog"}, "cannot be changed"),
    ):
        with pytest.raises(ClientError, match=why):
            call(**expected)


def test_metadata_is_read_by_each_name(made: Any, catalog_store: CountingStore) -> None:
    CatalogService(catalog_store).create_database(DatabaseInput(name="air"))
    assert made.list_databases(CatalogName="Lake")["DatabaseList"] == [{"Name": "air", "Parameters": {}}]
    assert made.get_database(CatalogName="Lake", DatabaseName="air")["Database"]["Name"] == "air"
    with pytest.raises(ClientError, match="Data catalog other was not found"):
        made.list_databases(CatalogName="other")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM lake.flights_db.numbers",
        'SELECT count(*) FROM "Lake"."flights_db"."numbers" WHERE n >= 0',
        "SELECT count(*) FROM numbers",
        "SELECT count(*) FROM lake.flights_db.seen",
        "SELECT count(*) FROM awsdatacatalog.flights_db.numbers",
        "EXPLAIN SELECT 1 FROM lake.flights_db.numbers",
        "DESCRIBE lake.flights_db.numbers",
        "SHOW TABLES IN lake.flights_db",
        "SHOW COLUMNS IN numbers IN lake.flights_db",
        "SHOW DATABASES IN lake",
        "SELECT count(*) FROM lake.information_schema.tables",
    ],
)
def test_statements_take_each_name(made: Any, run: Run, lake: Lake, sql: str) -> None:
    view = StoredView("SELECT n FROM lake.flights_db.numbers", "flights_db", [("n", "bigint")])
    lake.catalog.stored["flights_db", "seen"] = Table(
        name="seen",
        database="flights_db",
        create_time=NOW,
        update_time=NOW,
        storage=StorageDescriptor(columns=(Column(name="n", type="bigint"),)),
        table_type=VIEW_TYPE,
        view_original_text=view_text(view),
        version_id="0",
    )
    result = run(sql, QueryExecutionContext={"Catalog": "LAKE", "Database": "flights_db"})
    assert result["Status"]["State"] == "SUCCEEDED", result["Status"]
    assert result["QueryExecutionContext"]["Catalog"] == "lake"
    if sql.startswith("SELECT count(*)") and "information_schema" not in sql:
        rows = made.get_query_results(QueryExecutionId=result["QueryExecutionId"])["ResultSet"]["Rows"]
        assert rows[1]["Data"] == [{"VarCharValue": "5000"}]


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT 1 FROM other.flights_db.numbers", "CATALOG_NOT_FOUND: line 1:15: Catalog 'other' does not exist"),
        ("SHOW TABLES IN other.flights_db", "CATALOG_NOT_FOUND: Catalog 'other' does not exist"),
        ("SHOW DATABASES IN other", "CATALOG_NOT_FOUND: Catalog 'other' does not exist"),
        ("DESCRIBE other.flights_db.numbers", "CATALOG_NOT_FOUND: Catalog 'other' does not exist"),
    ],
)
def test_unknown_names_are_refused(made: Any, run: Run, sql: str, why: str) -> None:
    assert run(sql)["Status"]["StateChangeReason"] == why
    with pytest.raises(ClientError, match="Catalog other does not exist"):
        made.start_query_execution(QueryString="SELECT 1", QueryExecutionContext={"Catalog": "other"})


class _Denying(RecordedAccess):
    def check_athena(self, operation: str, request: Any, /) -> None:
        raise AccessDenied(f"not authorized to perform: athena:{operation} on {request['Name']}")


def test_a_name_is_taken_only_from_who_may_read_it(made: Any, service: QueryService) -> None:
    for name, named in (("LAKE", "Lake"), ("other", "other")):
        with pytest.raises(AccessDenied, match=f"GetDataCatalog on {named}"):
            service.start(StatementRequest(sql="SELECT 1", catalog=name, catalog_access=_Denying()))
        started = service.start(StatementRequest(sql=f"SELECT 1 FROM {name}.flights_db.numbers", catalog_access=_Denying()))
        while (statement := service.poll(started)).state.value in {"QUEUED", "RUNNING"}:
            pass
        assert statement.reason == f"PERMISSION_DENIED: not authorized to perform: athena:GetDataCatalog on {named}"
