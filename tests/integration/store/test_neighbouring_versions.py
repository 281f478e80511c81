"""A server goes on beside one of the next version, whose migration has only added to the tables, and is started again."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect, text

from penstock.errors import EnvironmentProblem
from penstock.store.sql.database import Database
from penstock.store.sql.migrate import HEAD
from penstock.testing.postgres import PostgresServer
from penstock.testing.server import RunningServer, start_server

NEXT = "9999"


def start(home: Path, url: str) -> RunningServer:
    return start_server(
        home,
        arguments=("--master-key-file", str(home.parent / "master.key")),
        environment={"PENSTOCK_STORE_URL": url},
        access_key_id="AKIANEIGHBOURS000",
        secret_access_key="one-secret-for-both",
    )


def upgrade(url: str, *, readable_from: str) -> None:
    """Do what a migration of the next version would: it adds a column to every table, and a table."""
    with closing(Database(url)) as database, database.write() as connection:
        for table in set(inspect(connection).get_table_names()) - {"alembic_version", "readable_from"}:
            connection.execute(text(f"ALTER TABLE \"{table}\" ADD COLUMN IF NOT EXISTS later TEXT DEFAULT 'x' NOT NULL"))
        connection.execute(text("CREATE TABLE IF NOT EXISTS later (name TEXT)"))
        connection.execute(text("CREATE TABLE IF NOT EXISTS readable_from (version_num VARCHAR(32) NOT NULL)"))
        connection.execute(text("DELETE FROM readable_from"))
        connection.execute(text("INSERT INTO readable_from VALUES (:oldest)"), {"oldest": readable_from})
        connection.execute(text("UPDATE alembic_version SET version_num = :next"), {"next": NEXT})


def use(server: RunningServer, name: str) -> None:
    """Write and read something of each store."""
    glue, athena = server.client("glue"), server.client("athena")
    glue.create_registry(RegistryName=name)
    definition = json.dumps({"type": "record", "name": "R", "fields": []})
    made = glue.create_schema(
        RegistryId={"RegistryName": name}, SchemaName="s", DataFormat="AVRO", SchemaDefinition=definition
    )
    assert glue.get_schema_version(SchemaVersionId=made["SchemaVersionId"])["SchemaDefinition"] == definition
    glue.create_database(DatabaseInput={"Name": name})
    columns: Any = [{"Name": "x", "Type": "int"}]
    glue.create_table(DatabaseName=name, TableInput={"Name": "t", "StorageDescriptor": {"Columns": columns}})
    assert glue.get_table(DatabaseName=name, Name="t")["Table"]["StorageDescriptor"]["Columns"] == columns
    glue.create_crawler(Name=name, Role="r", DatabaseName=name, Targets={"S3Targets": [{"Path": "s3://lake/none/"}]})
    glue.create_trigger(Name=name, Type="ON_DEMAND", Actions=[{"CrawlerName": name}])
    server.client("secretsmanager").create_secret(Name=name, SecretString="x")
    server.client("iam").create_user(UserName=name)
    statement = athena.start_query_execution(QueryString="SHOW DATABASES")["QueryExecutionId"]
    assert athena.get_query_execution(QueryExecutionId=statement)["QueryExecution"]["QueryExecutionId"] == statement


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def test_a_server_goes_on_beside_one_of_the_next_version(
    postgres: PostgresServer, postgres_url: str, tmp_path: Path, stack: ExitStack
) -> None:
    running = start(tmp_path / "one", postgres_url)
    stack.callback(running.stop)
    use(running, "before")
    upgrade(postgres_url, readable_from=HEAD)
    use(running, "after")
    again = start(tmp_path / "two", postgres_url)
    stack.callback(again.stop)
    use(again, "again")
    upgrade(postgres_url, readable_from=NEXT)
    with pytest.raises(EnvironmentProblem) as problem:
        start(tmp_path / "three", postgres_url)
    sentence = f"written by a newer Penstock: its revision is {NEXT}, which servers from {NEXT} on can use"
    assert sentence in str(problem.value)
    assert "Traceback" not in str(problem.value)
