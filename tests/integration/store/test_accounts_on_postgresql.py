"""Accounts over PostgreSQL: each in a schema of its own, whichever of two servers is asked."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from sqlalchemy import text

from penstock.store.sql.database import Database
from penstock.testing.postgres import PostgresServer
from penstock.testing.server import RunningServer, start_server

DEFINITION = json.dumps({"type": "record", "name": "R", "fields": []})


@pytest.fixture
def servers(postgres: PostgresServer, tmp_path: Path) -> Iterator[list[RunningServer]]:
    with ExitStack() as stack:
        started: list[RunningServer] = []
        environment = {"PENSTOCK_STORE_URL": postgres.new_database()}
        for name in ("one", "two"):
            server = start_server(
                tmp_path / name,
                arguments=("--master-key-file", str(tmp_path / "master.key")),
                environment=environment,
                access_key_id="AKIATWOSERVERS000",
                secret_access_key="one-secret-for-both",
            )
            stack.callback(server.stop)
            started.append(server)
        yield started


def test_accounts_share_a_server_and_no_rows(servers: list[RunningServer], postgres: PostgresServer) -> None:
    one, two = servers
    made = one.client("organizations").create_account(AccountName="b", Email="b@example.com")
    account = made["CreateAccountStatus"]["AccountId"]
    role = f"arn:aws:iam::{account}:role/OrganizationAccountAccessRole"
    given = one.client("sts").assume_role(RoleArn=role, RoleSessionName="admin")["Credentials"]
    credentials = {
        "aws_access_key_id": given["AccessKeyId"],
        "aws_secret_access_key": given["SecretAccessKey"],
        "aws_session_token": given["SessionToken"],
    }
    first, second = one.client("glue"), two.client("glue", **credentials)
    for glue in (first, second):
        glue.create_registry(RegistryName="r")
        glue.create_schema(RegistryId={"RegistryName": "r"}, SchemaName="s", DataFormat="AVRO", SchemaDefinition=DEFINITION)
    for server, glue, owner in ((two, two.client("glue"), one.account), (one, one.client("glue", **credentials), account)):
        (schema,) = glue.list_schemas()["Schemas"]
        assert schema["SchemaArn"] == f"arn:aws:glue:{server.region}:{owner}:schema/r/s"
    second.delete_registry(RegistryId={"RegistryName": "r"})
    assert len(first.list_schemas()["Schemas"]) == 1
    assert one.client("glue", **credentials).list_registries()["Registries"] == []
    hidden: dict[str, Any] = {"SchemaId": {"SchemaArn": f"arn:aws:glue:{one.region}:{one.account}:schema/r/s"}}
    with pytest.raises(ClientError, match="no resource-based policy"):
        second.get_schema(**hidden)


def test_a_schemas_connections_see_nothing_else(postgres: PostgresServer) -> None:
    url = postgres.new_database()
    whole, own = Database(url), Database(url, schema="account_111122223333")
    try:
        with whole.write() as connection:
            connection.execute(text("CREATE TABLE things (name text)"))
            connection.execute(text("CREATE SCHEMA account_111122223333"))
        for _ in range(2):
            with own.write() as connection:
                row = connection.execute(text("SELECT to_regclass('things')")).scalar()
            assert row is None
        with own.write() as connection:
            connection.execute(text("CREATE TABLE things (name text)"))
            connection.execute(text("INSERT INTO things VALUES ('mine')"))
        with whole.read() as connection:
            assert connection.execute(text("SELECT count(*) FROM things")).scalar() == 0
    finally:
        whole.close()
        own.close()
