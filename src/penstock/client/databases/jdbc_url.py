"""JDBC URLs of PostgreSQL and Redshift, and Glue connections of type JDBC, as the address of a database.

URLs: https://jdbc.postgresql.org/documentation/use/ and
https://docs.aws.amazon.com/redshift/latest/mgmt/jdbc20-obtain-url.html.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from urllib.parse import parse_qsl, unquote

from penstock.errors import InvalidInput
from penstock.types.postgresql import Dialect

__all__ = ["DatabaseAddress", "Dialect", "SslMode", "glue_address", "parse_jdbc_url"]

SslMode = Literal["disable", "prefer", "require", "verify-ca", "verify-full"]

_PORTS: Mapping[Dialect, int] = {"postgresql": 5432, "redshift": 5439}
_MODES: Mapping[str, SslMode] = {
    "disable": "disable",
    "prefer": "prefer",
    "require": "require",
    "verify-ca": "verify-ca",
    "verify-full": "verify-full",
}
_URL = re.compile(
    r"jdbc:(?P<dialect>postgresql|redshift)://(?P<host>\[[^\]]+\]|[^/:?,]+)(?::(?P<port>\d+))?/(?P<database>[^?]+)"
    r"(?:\?(?P<properties>.*))?"
)
_TRUE = {"", "true"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseAddress:
    """Where a database is. ``schema`` None: the first of the login's search path. ``certificate``: a file, PEM."""

    dialect: Dialect
    host: str
    port: int
    database: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    ssl_mode: SslMode = "prefer"
    certificate: str | None = None
    schema: str | None = None

    @property
    def text(self) -> str:
        """Return the address for messages, without login."""
        return f"{self.dialect}://{self.host}:{self.port}/{self.database}"


def parse_jdbc_url(url: str) -> DatabaseAddress:
    """Return the address in a JDBC URL. Raises :class:`InvalidInput` for another database, and for unknown properties.

    Properties are ``user``, ``password``, ``ssl``, ``sslmode``, ``sslrootcert`` and ``currentSchema``.
    """
    match = _URL.fullmatch(url)
    if match is None:
        scheme = re.match(r"(jdbc:[\w:]*)", url)
        raise InvalidInput(
            f"The URL '{scheme.group(1) if scheme else url.partition('?')[0][:60]}' is not one of PostgreSQL or Redshift.",
            remedy="Write jdbc:postgresql://HOST:PORT/DATABASE or jdbc:redshift://HOST:PORT/DATABASE.",
        )
    dialect: Dialect = "redshift" if match["dialect"] == "redshift" else "postgresql"
    address = DatabaseAddress(
        dialect=dialect,
        host=match["host"].strip("[]"),
        port=int(match["port"] or _PORTS[dialect]),
        database=unquote(match["database"]),
    )
    for name, value in parse_qsl(match["properties"] or "", keep_blank_values=True):
        address = _with(address, name, value)
    return address


def _with(address: DatabaseAddress, name: str, value: str) -> DatabaseAddress:
    plain = {"user": "user", "password": "password", "sslrootcert": "certificate", "currentschema": "schema"}
    match name.lower():
        case known if known in plain:
            changed: dict[str, Any] = {plain[known]: value}
            return replace(address, **changed)
        case "ssl":
            # As PostgreSQL's driver has it: ssl=true alone verifies the server.
            mode: SslMode = "verify-full" if value.lower() in _TRUE else "disable"
            return replace(address, ssl_mode=mode) if address.ssl_mode == "prefer" else address
        case "sslmode" if value in _MODES:
            return replace(address, ssl_mode=_MODES[value])
        case "sslmode":
            raise InvalidInput(f"sslmode of the JDBC URL is '{value}'.", remedy=f"It can be {', '.join(_MODES)}.")
    raise InvalidInput(
        f"The property '{name}' of the JDBC URL is not known here.",
        remedy="Known properties: user, password, ssl, sslmode, sslrootcert, currentSchema.",
    )


def glue_address(name: str, connection_type: str, properties: Mapping[str, str]) -> tuple[DatabaseAddress, str | None]:
    """Return the address in the Glue connection ``name``, and the id of the secret that has its login.

    Properties: https://docs.aws.amazon.com/glue/latest/webapi/API_Connection.html. Raises :class:`InvalidInput` for a
    connection of another type, without a URL, or with a certificate in S3, which is not read.
    """
    if connection_type not in {"JDBC", "POSTGRESQL", "REDSHIFT"}:
        raise InvalidInput(f"Connection {name} is of type {connection_type}.", remedy="Give one of type JDBC.")
    url = properties.get("JDBC_CONNECTION_URL")
    if not url:
        raise InvalidInput(f"Connection {name} has no JDBC_CONNECTION_URL.", remedy="Set it.")
    if properties.get("CUSTOM_JDBC_CERT"):
        raise InvalidInput(
            f"Connection {name} has CUSTOM_JDBC_CERT, which is not supported.",
            remedy="Give the sink a 'url' with sslmode=verify-full and sslrootcert=FILE.",
        )
    address = parse_jdbc_url(url)
    if properties.get("USERNAME"):
        address = replace(address, user=properties["USERNAME"], password=properties.get("PASSWORD"))
    if properties.get("JDBC_ENFORCE_SSL", "false").lower() == "true" and address.ssl_mode in {"prefer", "disable"}:
        address = replace(address, ssl_mode="require")
    return address, properties.get("SECRET_ID") or None
