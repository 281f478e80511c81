"""The jdbc section, JDBC URLs, and Glue connections of type JDBC."""

from pathlib import Path
from typing import Any

import pytest

from penstock.client.databases.jdbc_url import DatabaseAddress, glue_address, parse_jdbc_url
from penstock.errors import InvalidInput
from penstock.pipelines.sinks.jdbc import JdbcSink
from penstock.pipelines.sinks.kinds import parse_sinks
from penstock.settings.document import load_document


def declared(jdbc: str) -> JdbcSink:
    top = load_document(f"sink: {{jdbc: {{{jdbc}}}}}", origin="shop.yaml", environment={"SECRET": "s3cret"})
    (sink,) = parse_sinks(top, Path("/"))
    assert isinstance(sink, JdbcSink)
    return sink


def test_a_section_is_read() -> None:
    sink = declared('url: "jdbc:postgresql://h/d", table: a.b, mode: upsert, keys: [id], user: u, password: "${SECRET}"')
    assert sink == JdbcSink(
        url="jdbc:postgresql://h/d", table="a.b", mode="upsert", keys=("id",), username="u", password="s3cret"
    )
    assert sink.create
    assert "s3cret" not in repr(sink)
    assert sink.description == "table a.b of postgresql://h:5432/d"
    assert declared("connectionName: shop, table: t").description == "table t of connection shop"


@pytest.mark.parametrize(
    ("jdbc", "message"),
    [
        ("table: t", "needs 'url' or 'connection'"),
        ('table: t, url: "jdbc:postgresql://h/d", connection: c', "one of them only"),
        ('table: a.b.c, url: "jdbc:postgresql://h/d"', "'a.b.c' is not a table's name"),
        ('table: t, url: "jdbc:mysql://h/d"', "'jdbc:mysql:' is not one of PostgreSQL or Redshift"),
        ('table: t, url: "jdbc:postgresql://h/d?sslmode=sometimes"', "sslmode of the JDBC URL is 'sometimes'"),
        ('table: t, url: "jdbc:postgresql://h/d?targetServerType=primary"', "'targetServerType' of the JDBC URL"),
        ("table: t, connection: c, secret: s, username: u", "'secret' and 'username' exclude each other"),
        ("table: t, connection: c, dialect: mysql", "it can be postgresql, redshift"),
        ("table: t, connection: c, mode: upsert", "needs 'keys'"),
    ],
)
def test_mistakes_name_the_line(jdbc: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=r"shop\.yaml:1: ") as caught:
        declared(jdbc)
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("jdbc:postgresql://h/d", {"port": 5432}),
        ("jdbc:redshift://h/d", {"dialect": "redshift", "port": 5439}),
        ("jdbc:postgresql://[::1]:1234/d%20e", {"host": "::1", "port": 1234, "database": "d e"}),
        ("jdbc:postgresql://h/d?user=u&password=p%26q", {"user": "u", "password": "p&q"}),
        ("jdbc:postgresql://h/d?ssl=true&sslrootcert=/ca.pem", {"ssl_mode": "verify-full", "certificate": "/ca.pem"}),
        ("jdbc:postgresql://h/d?ssl=false", {"ssl_mode": "disable"}),
        ("jdbc:postgresql://h/d?sslmode=require&ssl=true", {"ssl_mode": "require"}),
        ("jdbc:postgresql://h/d?currentSchema=shop", {"schema": "shop"}),
    ],
)
def test_urls(url: str, expected: dict[str, Any]) -> None:
    plain: dict[str, Any] = {"dialect": "postgresql", "host": "h", "port": 5432, "database": "d"}
    assert parse_jdbc_url(url) == DatabaseAddress(**{**plain, **expected})


def test_an_address_does_not_tell_its_password() -> None:
    address = parse_jdbc_url("jdbc:postgresql://h/d?user=u&password=s3cret")
    assert "s3cret" not in repr(address) + address.text


def test_glue_connections() -> None:
    url = {"JDBC_CONNECTION_URL": "jdbc:redshift://h:5439/d"}
    address, secret = glue_address("c", "JDBC", {**url, "USERNAME": "u", "PASSWORD": "p", "JDBC_ENFORCE_SSL": "true"})
    assert (address.dialect, address.user, address.password, address.ssl_mode, secret) == (
        "redshift",
        "u",
        "p",
        "require",
        None,
    )
    assert glue_address("c", "JDBC", {**url, "SECRET_ID": "shop/db"})[1] == "shop/db"
    for kind, properties, message in (
        ("KAFKA", url, "is of type KAFKA"),
        ("JDBC", {}, "has no JDBC_CONNECTION_URL"),
        ("JDBC", {**url, "CUSTOM_JDBC_CERT": "s3://b/c.pem"}, "CUSTOM_JDBC_CERT, which is not supported"),
    ):
        with pytest.raises(InvalidInput, match=message):
            glue_address("c", kind, properties)
