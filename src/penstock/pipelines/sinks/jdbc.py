"""A table of PostgreSQL or Redshift as a sink."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from penstock.client.databases.jdbc_url import Dialect, parse_jdbc_url
from penstock.errors import InvalidInput
from penstock.pipelines.sections import default
from penstock.pipelines.sinks.settings import SinkSettings, WriteMode, sink_settings
from penstock.settings.document import Section

__all__ = ["JdbcSink", "jdbc_sink"]

_TABLE = re.compile(r'[^."\x00]+(?:\.[^."\x00]+)?')


@dataclass(frozen=True, slots=True, kw_only=True)
class JdbcSink(SinkSettings):
    """A table, and the login of its database.

    ``url`` is a JDBC URL, or ``connection`` the name of a Glue connection of type JDBC. The login: ``username`` and
    ``password``, or ``secret`` (name or ARN in Secrets Manager, JSON with both keys), or that of URL or connection.
    ``table`` is TABLE or SCHEMA.TABLE, in upper and lower case as written. ``dialect`` None: that of the URL.
    ``nul_characters``: both databases refuse U+0000 in a text; ``remove`` leaves it out, ``fail`` stops the stream.
    """

    kind: ClassVar[str] = "jdbc"
    modes: ClassVar[tuple[WriteMode, ...]] = ("append", "upsert", "cdc")

    table: str
    url: str | None = field(default=None, repr=False)
    connection: str | None = None
    secret: str | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    dialect: Dialect | None = None
    create: bool = True
    nul_characters: Literal["fail", "remove"] = "fail"

    def __post_init__(self) -> None:
        SinkSettings.__post_init__(self)
        if (self.url is None) == (self.connection is None):
            raise InvalidInput(
                f"Sink {self.name}: jdbc needs 'url' or 'connection', and one of them only.",
                remedy="'connection' is the name of a Glue connection of type JDBC.",
            )
        try:
            parse_jdbc_url(self.url or "jdbc:postgresql://any/any")
        except InvalidInput as error:
            raise InvalidInput(f"Sink {self.name}: {error.message}", remedy=error.remedy) from None
        if not _TABLE.fullmatch(self.table):
            raise InvalidInput(
                f"Sink {self.name}: '{self.table}' is not a table's name.", remedy="Write TABLE or SCHEMA.TABLE."
            )
        if self.secret and (self.username or self.password):
            raise InvalidInput(f"Sink {self.name}: 'secret' and 'username' exclude each other.", remedy="Keep one of them.")

    @property
    def description(self) -> str:
        """Return the table and its database."""
        where = f"connection {self.connection}" if self.url is None else parse_jdbc_url(self.url).text
        return f"table {self.table} of {where}"


def jdbc_sink(jdbc: Section, base: Path, name: str) -> JdbcSink:
    """Return the sink that a ``jdbc`` section declares."""
    del base
    return JdbcSink(
        **sink_settings(jdbc, name),
        table=jdbc.required("table", "dbtable"),
        url=jdbc.text("url"),
        connection=jdbc.text("connection", "connectionName"),
        secret=jdbc.text("secret", "secretArn", "secretId", "secret_id"),
        username=jdbc.text("username", "user"),
        password=jdbc.text("password"),
        dialect=jdbc.choice(("postgresql", "redshift"), "dialect"),
        create=default(jdbc.boolean("create"), True),
        nul_characters=jdbc.choice(("fail", "remove"), "nul_characters") or "fail",
    )
