"""A database of PostgreSQL as a target of the suite, in PostgreSQL's dialect and in Redshift's."""

from collections.abc import Iterable, Sequence
from typing import Any, cast

import pg8000.native
from sqlalchemy.engine import URL, make_url

from penstock.client.databases.jdbc_url import Dialect
from penstock.pipelines.sinks.jdbc import JdbcSink
from penstock.pipelines.sinks.settings import ChangeCapture, WriteMode
from penstock.spark.sinks.jdbc import writer as module
from penstock.spark.sinks.jdbc.writer import JdbcWriter
from penstock.spark.sinks.port import SinkBatch, SinkWriter
from tests.integration.spark.sinks.targets import SinkTarget

__all__ = ["DatabaseTarget", "as_redshift"]


class DatabaseTarget(SinkTarget):
    """A table ``t`` of a database of its own; SQL runs with :meth:`run`."""

    def __init__(self, store_url: str, dialect: Dialect = "postgresql") -> None:
        self._url: URL = make_url(store_url)
        self._dialect: Dialect = dialect

    @property
    def url(self) -> str:
        return f"jdbc:postgresql://{self._url.host}:{self._url.port}/{self._url.database}"

    @property
    def login(self) -> tuple[str, str]:
        return str(self._url.username), str(self._url.password)

    def run(self, sql: str) -> list[list[Any]]:
        user, password = self.login
        connection = pg8000.native.Connection(
            user,
            host=str(self._url.host),
            port=cast(int, self._url.port),
            database=self._url.database,
            password=password,
        )
        try:
            return list(connection.run(sql) or ())
        finally:
            connection.close()

    def sink(self, mode: WriteMode = "append", **more: Any) -> JdbcSink:
        user, password = self.login
        changes = ChangeCapture(envelope="column") if mode == "cdc" else None
        keys = () if mode == "append" else ("id",)
        declared: dict[str, Any] = {"url": self.url, "table": "t", "username": user, "password": password}
        declared |= {"keys": keys, **more}
        return JdbcSink(mode=mode, changes=changes, dialect=self._dialect, **declared)

    def writer(self, mode: WriteMode = "append", **more: Any) -> JdbcWriter:
        return JdbcWriter(self.sink(mode, **more), _no_secret)

    def rows(self) -> list[tuple[int, str | None]]:
        return [(row[0], row[1]) for row in self.run("SELECT id, name FROM t ORDER BY id, name")]

    def interrupted(self, writer: SinkWriter, batch: SinkBatch) -> None:
        """The server ends the connection when half of the rows were sent, as when the driver is killed."""
        sent = module._texts

        def ending(*arguments: Any) -> Iterable[str]:
            lines = list(sent(*arguments))
            yield from lines[: len(lines) // 2]
            self.run(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                "WHERE application_name = 'penstock' AND datname = current_database()"
            )
            yield from lines[len(lines) // 2 :]

        module._texts = ending  # type: ignore[assignment]
        try:
            writer.publish(batch)
        finally:
            module._texts = sent

    def unreachable(self) -> Sequence[tuple[SinkWriter, str]]:
        return [
            (self.writer(password="wrong"), "refused the login: .*Check the user name and password"),
            (self.writer(url="jdbc:postgresql://127.0.0.1:1/any"), "postgresql://127.0.0.1:1/any cannot be reached"),
            (self.writer(url=self.url + "nowhere"), 'database "[^"]*nowhere" does not exist'),
            (self.writer(table="public.orders", create=False), "has no table public.orders. Create it"),
            (self.writer(table="nowhere.orders"), 'schema "nowhere" does not exist'),
        ]


def _no_secret(secret: str) -> tuple[str, str]:
    raise AssertionError(secret)


def as_redshift(target: DatabaseTarget) -> None:
    """Give the database Redshift's functions and its reading of backslashes."""
    target.run("CREATE FUNCTION json_parse(text) RETURNS jsonb LANGUAGE sql AS 'SELECT $1::jsonb'")
    target.run("CREATE FUNCTION from_hex(text) RETURNS bytea LANGUAGE sql AS 'SELECT decode($1, ''hex'')'")
    target.run("CREATE DOMAIN super AS jsonb")
    name = target.url.rpartition("/")[2]
    target.run(f"ALTER DATABASE {name} SET standard_conforming_strings = off")
    target.run(f"ALTER DATABASE {name} SET escape_string_warning = off")
