"""The registry over HTTP with two worker processes on one store: one version a definition, deletions seen by both."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from penstock.testing.server import RunningServer, running_server

SCHEMA = {"RegistryName": "r", "SchemaName": "s"}
V1 = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'
V2 = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":"long","default":0}]}'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    home: Path = tmp_path_factory.mktemp("registry")
    with running_server(home, arguments=("--workers", "2")) as running:
        yield running


@pytest.fixture
def glue(server: RunningServer) -> Iterator[Any]:
    """A client over registry ``r`` with schema ``s``, both gone after the test."""
    client = server.client("glue", config=Config(max_pool_connections=32, retries={"total_max_attempts": 1}))
    client.create_registry(RegistryName="r")
    client.create_schema(
        RegistryId={"RegistryName": "r"}, SchemaName="s", DataFormat="AVRO", Compatibility="BACKWARD", SchemaDefinition=V1
    )
    yield client
    client.delete_registry(RegistryId={"RegistryName": "r"})


def test_thirty_two_clients_register_one_version(glue: Any) -> None:
    barrier, answers, wrong = threading.Barrier(32), [], []

    def register(spaces: int) -> None:
        definition = V2.replace(",", "," + " " * spaces)
        barrier.wait()
        try:
            answers.append(glue.register_schema_version(SchemaId=SCHEMA, SchemaDefinition=definition))
        except ClientError as error:
            wrong.append(error)

    threads = [threading.Thread(target=register, args=(index,)) for index in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert {(answer["VersionNumber"], answer["Status"]) for answer in answers} == {(2, "AVAILABLE")}
    assert len({answer["SchemaVersionId"] for answer in answers}) == 1
    assert len(glue.list_schema_versions(SchemaId=SCHEMA)["Schemas"]) == 2


def test_a_deleted_version_is_gone_from_every_worker_at_once(server: RunningServer, glue: Any) -> None:
    version_id = glue.register_schema_version(SchemaId=SCHEMA, SchemaDefinition=V2)["SchemaVersionId"]
    # New connections reach both workers, so that each has the version in memory before it is deleted.
    fresh = [server.client("glue") for _ in range(6)]
    for client in fresh:
        assert client.get_schema_version(SchemaVersionId=version_id)["VersionNumber"] == 2
    assert glue.delete_schema_versions(SchemaId=SCHEMA, Versions="2")["SchemaVersionErrors"] == []
    for client in fresh:
        with pytest.raises(ClientError, match=r"Schema version is not found\."):
            client.get_schema_version(SchemaVersionId=version_id)


def test_a_table_takes_its_columns_from_the_schema(glue: Any) -> None:
    glue.create_database(DatabaseInput={"Name": "d"})
    reference = {"SchemaId": SCHEMA, "SchemaVersionNumber": 1}
    glue.create_table(DatabaseName="d", TableInput={"Name": "t", "StorageDescriptor": {"SchemaReference": reference}})
    columns = glue.get_table(DatabaseName="d", Name="t")["Table"]["StorageDescriptor"]["Columns"]
    assert [(column["Name"], column["Type"]) for column in columns] == [("a", "int")]
    glue.delete_database(Name="d")


def test_an_sdk_waits_where_the_server_bounds_its_requests(tmp_path: Path) -> None:
    with running_server(tmp_path, arguments=("--requests-per-second", "4")) as bounded:
        hasty = bounded.client("glue", config=Config(retries={"total_max_attempts": 1}))
        with pytest.raises(ClientError) as refusal:
            [hasty.list_registries() for _ in range(200)]
        assert refusal.value.response["Error"]["Code"] == "ThrottlingException"
        assert refusal.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
        patient = bounded.client("glue", config=Config(retries={"total_max_attempts": 10, "mode": "standard"}))
        assert all(patient.list_registries()["Registries"] == [] for _ in range(8))
