"""Crawls of PostgreSQL and of DynamoDB, through a connection of the catalog."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from penstock.catalog.connections import Connection, ConnectionService
from penstock.catalog.service import CatalogService
from penstock.crawl.model import DynamoTarget, JdbcTarget
from penstock.crawl.service import CrawlService
from penstock.crawl.targets.sources import Sources, login_of
from penstock.errors import AccessDenied, InvalidInput
from penstock.secrets.model import SecretValue
from penstock.secrets.service import SecretsService
from penstock.store.sql.catalog.connections import SqlConnectionStore
from penstock.store.sql.catalog.crawl import SqlCrawlStore
from penstock.store.sql.catalog.store import SqlCatalogStore
from penstock.store.sql.database import Database
from penstock.store.sql.sealing import Sealer
from penstock.store.sql.secrets import SqlSecretStore
from penstock.testing.dynamodb import DynamoDBLocal
from penstock.testing.postgres import running_postgres
from penstock.testing.sqlite import new_database
from tests.unit.crawl.crawl_world import Unchecked, World

ACCOUNT = "000000000000"
EPOCH = datetime.fromtimestamp(0, UTC)
TABLES = """
CREATE SCHEMA air;
CREATE TABLE air.flights (id bigint PRIMARY KEY, "Origin" varchar(3), price numeric(10,2), rate numeric, at timestamptz,
  day date, tags text[], doc jsonb, raw bytea, ok boolean, f real, d double precision, n smallint);
COMMENT ON COLUMN air.flights.price IS 'in euro';
CREATE TABLE air.flights_old (id int);
CREATE VIEW air.recent AS SELECT id FROM air.flights;
CREATE TABLE public.parts (id int, year int) PARTITION BY RANGE (year);
CREATE TABLE public.parts_2013 PARTITION OF public.parts FOR VALUES FROM (2013) TO (2014);
CREATE SCHEMA hidden; CREATE TABLE hidden.secrets (id int);
CREATE ROLE crawler LOGIN PASSWORD 'crawl-password-1'; GRANT USAGE ON SCHEMA air, public TO crawler;
GRANT SELECT ON ALL TABLES IN SCHEMA air, public TO crawler;
"""


@pytest.fixture(scope="module")
def place() -> Iterator[tuple[str, str]]:
    """A database with tables: ``HOST:PORT`` and its name."""
    with running_postgres() as server:
        url = server.new_database()
        database = Database(url)
        with database.engine.begin() as connection:
            connection.exec_driver_sql(TABLES)
        database.close()
        result = urlsplit(url)
        yield f"127.0.0.1:{result.port}", result.path.strip("/")


@pytest.fixture
def world(tmp_path: Path, place: tuple[str, str], dynamodb: DynamoDBLocal) -> Iterator[World]:
    root = tmp_path / "buckets"
    root.mkdir()
    made = World(root, CatalogService(SqlCatalogStore(new_database())), SqlCrawlStore(new_database()))
    made.crawls.close()
    secrets = SecretsService(SqlSecretStore(new_database(), Sealer(bytes(32))), region="us-east-1")
    login = SecretValue(text=json.dumps({"username": "crawler", "password": "crawl-password-1", "port": 5432}))
    secrets.create(ACCOUNT, "login", value=login)
    connections = ConnectionService(SqlConnectionStore(new_database(), Sealer(bytes(32))))
    for name, url in {"db": f"jdbc:postgresql://{place[0]}/postgres", "far": "jdbc:postgresql://db.example.org/air",
                      "mysql": "jdbc:mysql://127.0.0.1/air"}.items():  # fmt: skip
        properties = {"JDBC_CONNECTION_URL": url, "SECRET_ID": "login"}
        connections.create(Connection(name=name, type="JDBC", properties=properties, created=EPOCH, updated=EPOCH))
    sources = Sources(
        connections=connections,
        secret_of=lambda secret: login_of(secrets, ACCOUNT, secret),
        hosts=(place[0],),
        dynamodb=dynamodb.client,
    )
    made.crawls = CrawlService(made.store, made.catalog, made.lake, sources=sources, access=Unchecked)
    yield made
    made.crawls.close()


def columns(world: World, name: str) -> dict[str, Any]:
    return {column.name: column.type for column in world.catalog.table("air", name).storage.columns}


def test_postgresqls_tables_come_with_their_types(world: World, place: tuple[str, str]) -> None:
    database = place[1]
    target = JdbcTarget(connection="db", path=f"{database}/%", exclusions=("*_old",), metadata=("COMMENTS", "RAWTYPES"))
    world.crawler(targets=(), others=(target,), table_prefix="pg_")
    last = world.crawl()
    flights = f"pg_{database}_air_flights"
    assert last.message is None
    assert last.tally.changes == tuple(
        ("ADD", name) for name in (flights, f"pg_{database}_air_recent", f"pg_{database}_public_parts")
    )
    assert columns(world, flights) == {
        "id": "bigint", "origin": "string", "price": "decimal(10,2)", "rate": "decimal(38,18)", "at": "timestamp",
        "day": "date", "tags": "array<string>", "doc": "string", "raw": "binary", "ok": "boolean", "f": "float",
        "d": "double", "n": "smallint",
    }  # fmt: skip
    made = world.catalog.table("air", flights)
    assert made.storage.location == f"{database}.air.flights"
    assert {name: made.parameters[name] for name in ("classification", "connectionName", "typeOfData")} == {
        "classification": "postgresql", "connectionName": "db", "typeOfData": "table"
    }  # fmt: skip
    price = next(column for column in made.storage.columns if column.name == "price")
    assert (price.comment, price.parameters) == ("in euro", {"rawType": "numeric(10,2)"})
    assert world.crawl().tally.changes == ()
    world.crawls.update("c", lambda crawler: replace(crawler, others=(replace(target, path=f"{database}/air/fl%"),)))
    gone = world.crawl()
    assert gone.tally.changes == (("UPDATE", f"pg_{database}_air_recent"), ("UPDATE", f"pg_{database}_public_parts"))
    assert "DEPRECATED_BY_CRAWLER" in world.catalog.table("air", f"pg_{database}_air_recent").parameters


def test_a_crawl_connects_only_where_it_may(world: World) -> None:
    with pytest.raises(AccessDenied, match=r"may not connect to db.example.org:5432"):
        world.crawler(targets=(), others=(JdbcTarget(connection="far", path="air/%"),))
    with pytest.raises(InvalidInput, match="is of mysql"):
        world.crawler(targets=(), others=(JdbcTarget(connection="mysql", path="air/%"),))
    with pytest.raises(InvalidInput, match="not DATABASE/SCHEMA/TABLE"):
        world.crawler(targets=(), others=(JdbcTarget(connection="db", path="%/air/x"),))
    world.crawler(targets=(), others=(JdbcTarget(connection="db", path="nowhere/%"),))
    last = world.crawl()
    assert (last.status, 'database "nowhere" does not exist' in str(last.message)) == ("FAILED", True)
    assert "crawl-password" not in str(last.message)


def test_dynamodbs_items_have_columns(world: World, dynamodb: DynamoDBLocal) -> None:
    client = dynamodb.client()
    client.create_table(
        TableName="Airports", BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "Code", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "Code", "AttributeType": "S"}],
    )  # fmt: skip
    items: list[dict[str, Any]] = [
        {"Code": {"S": "ZRH"}, "n": {"N": "7"}, "at": {"M": {"Lat": {"N": "47.5"}}}, "tags": {"SS": ["a"]}},
        {"Code": {"S": "GVA"}, "n": {"N": "1.5"}, "on": {"BOOL": True}, "list": {"L": [{"N": "1"}]}, "none": {"NULL": True}},
    ]
    for item in items:
        client.put_item(TableName="Airports", Item=item)
    world.crawler(targets=(), others=(DynamoTarget(table="Airports", scan_all=False),))
    last = world.crawl()
    assert (last.message, last.tally.changes) == (None, (("ADD", "airports"),))
    assert columns(world, "airports") == {
        "at": "struct<lat:double>", "code": "string", "list": "array<bigint>", "n": "double", "none": "string",
        "on": "boolean", "tags": "array<string>",
    }  # fmt: skip
    made = world.catalog.table("air", "airports")
    assert (made.parameters["classification"], made.parameters["hashKey"]) == ("dynamodb", "Code")
    assert (made.storage.location or "").endswith(":table/Airports")
    world.crawls.update("c", lambda crawler: replace(crawler, others=(DynamoTarget(table="Nowhere"),)))
    assert "has no table Nowhere" in str(world.crawl().message)
