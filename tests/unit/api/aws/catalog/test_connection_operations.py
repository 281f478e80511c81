"""Glue's operations on connections as boto3 calls them."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from penstock.api.aws.catalog import connections
from penstock.api.aws.protocol.dispatch import AwsApp
from penstock.api.aws.protocol.endpoints import EndpointTable
from penstock.catalog.connections import ConnectionService
from penstock.store.sql.catalog.connections import SqlConnectionStore
from penstock.store.sql.sealing import Sealer
from penstock.testing.sqlite import new_database
from tests.unit.api.aws.loopback import ACCOUNT, Loopback, Silent

MSK = {
    "Name": "msk",
    "ConnectionType": "KAFKA",
    "ConnectionProperties": {
        "KAFKA_BOOTSTRAP_SERVERS": "b-1:9096,b-2:9096",
        "KAFKA_SASL_SCRAM_USERNAME": "ana",
        "KAFKA_SASL_SCRAM_PASSWORD": "secret",
    },
    "MatchCriteria": ["shop"],
    "PhysicalConnectionRequirements": {"SubnetId": "subnet-1"},
}
JDBC = {"Name": "db", "ConnectionType": "JDBC", "ConnectionProperties": {"JDBC_CONNECTION_URL": "jdbc:x", "PASSWORD": "p"}}


@pytest.fixture
def glue() -> Iterator[Any]:
    endpoints = EndpointTable(
        [connections.operations(ConnectionService(SqlConnectionStore(new_database(), Sealer(bytes(32)))))]
    )
    app = AwsApp(endpoints, authenticator=None, account=ACCOUNT, region="us-east-1", observer=Silent())
    client = boto3.client(
        "glue",
        region_name="us-east-1",
        endpoint_url="http://localhost",
        aws_access_key_id="a",
        aws_secret_access_key="b",
        config=Config(retries={"max_attempts": 1}),
    )
    register: Any = client.meta.events.register
    register("before-send.glue", Loopback(app))
    yield client
    app.close()


def test_a_connection_comes_back_as_it_was_given(glue: Any) -> None:
    assert glue.create_connection(ConnectionInput=MSK)["CreateConnectionStatus"] == "READY"
    result = glue.get_connection(Name="msk")["Connection"]
    assert {name: result[name] for name in MSK} == MSK
    assert result["Status"] == "READY"
    assert result["CreationTime"] == result["LastUpdatedTime"]
    with pytest.raises(glue.exceptions.AlreadyExistsException):
        glue.create_connection(ConnectionInput=MSK)


def test_passwords_can_be_left_out(glue: Any) -> None:
    for entry in (MSK, JDBC):
        glue.create_connection(ConnectionInput=entry)
    result = glue.get_connection(Name="msk", HidePassword=True)["Connection"]["ConnectionProperties"]
    assert set(result) == {"KAFKA_BOOTSTRAP_SERVERS", "KAFKA_SASL_SCRAM_USERNAME"}
    listed = glue.get_connections(HidePassword=True)["ConnectionList"]
    assert [set(item["ConnectionProperties"]) & {"PASSWORD"} for item in listed] == [set(), set()]


def test_lists_are_filtered_and_paged(glue: Any) -> None:
    for entry in (MSK, JDBC):
        glue.create_connection(ConnectionInput=entry)
    for expected, names in (
        ({"ConnectionType": "KAFKA"}, ["msk"]),
        ({"MatchCriteria": ["shop"]}, ["msk"]),
        ({}, ["db", "msk"]),
    ):
        assert [connection["Name"] for connection in glue.get_connections(Filter=expected)["ConnectionList"]] == names
    pages = glue.get_paginator("get_connections").paginate(PaginationConfig={"PageSize": 1})
    assert [[connection["Name"] for connection in page["ConnectionList"]] for page in pages] == [["db"], ["msk"]]


def test_an_update_replaces_all_but_the_name(glue: Any) -> None:
    glue.create_connection(ConnectionInput=MSK)
    made = glue.get_connection(Name="msk")["Connection"]["CreationTime"]
    glue.update_connection(Name="msk", ConnectionInput={**JDBC, "Name": "msk"})
    result = glue.get_connection(Name="msk")["Connection"]
    assert (result["ConnectionType"], result["CreationTime"]) == ("JDBC", made)
    assert "MatchCriteria" not in result
    with pytest.raises(glue.exceptions.InvalidInputException, match="cannot be renamed"):
        glue.update_connection(Name="msk", ConnectionInput=JDBC)
    with pytest.raises(glue.exceptions.EntityNotFoundException):
        glue.update_connection(Name="db", ConnectionInput=JDBC)


def test_deletions_report_missing_connections(glue: Any) -> None:
    for entry in (MSK, JDBC):
        glue.create_connection(ConnectionInput=entry)
    glue.delete_connection(ConnectionName="db")
    done = glue.batch_delete_connection(ConnectionNameList=["msk", "db"])
    assert done["Succeeded"] == ["msk"]
    assert done["Errors"]["db"]["ErrorCode"] == "EntityNotFoundException"
    with pytest.raises(glue.exceptions.EntityNotFoundException, match="Connection msk not found"):
        glue.get_connection(Name="msk")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"ConnectionProperties": {}}, "KAFKA_BOOTSTRAP_SERVERS is ''"),
        ({"ConnectionProperties": {"KAFKA_BOOTSTRAP_SERVERS": "b-1"}}, "HOST:PORT"),
        ({"SparkProperties": {"a": "b"}}, "SparkProperties .* CreateConnection .* Put them into ConnectionProperties"),
        ({"ValidateCredentials": True}, "ValidateCredentials .* the first job"),
    ],
)
def test_connections_that_cannot_be_stored_are_refused(glue: Any, changes: dict[str, Any], why: str) -> None:
    with pytest.raises(ClientError, match=why):
        glue.create_connection(ConnectionInput={**MSK, **changes})
