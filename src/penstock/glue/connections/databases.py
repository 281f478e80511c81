"""Databases of Glue's JDBC connections: their options and logins, as scripts and the catalog's connections give them.

Source: "JDBC connections", https://docs.aws.amazon.com/glue/latest/dg/aws-glue-programming-etl-connect-jdbc-home.html,
and "Redshift connections" beside it.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

from penstock.client.connections import GlueConnection
from penstock.client.databases.jdbc_url import DatabaseAddress, glue_address, parse_jdbc_url
from penstock.client.secrets import broker_credentials
from penstock.errors import InvalidInput
from penstock.glue.options import Options
from penstock.glue.session import GlueSession
from penstock.lake.locations import SCHEMES, parse_uri

__all__ = ["ANY", "DRIVERS", "KINDS", "OwnDriver", "Target", "database_target", "jdbc_configuration", "target_of_table"]

KINDS: Mapping[str, tuple[str, ...]] = {
    "postgresql": ("org.postgresql.Driver",),
    "redshift": ("org.postgresql.Driver",),
    "mysql": ("com.mysql.cj.jdbc.Driver", "org.mariadb.jdbc.Driver"),
    "sqlserver": ("com.microsoft.sqlserver.jdbc.SQLServerDriver",),
    "oracle": ("oracle.jdbc.OracleDriver",),
}
"""Connection types, and the classes of their drivers. PostgreSQL's comes with Penstock, and speaks Redshift's protocol."""

ANY = "jdbc"
"""The connection type of scripts that leave the database to the URL or the connection. AWS's documents do not have it."""

DRIVERS: Mapping[str, str] = {
    "mysql": "com.mysql:mysql-connector-j or org.mariadb.jdbc:mariadb-java-client",
    "sqlserver": "com.microsoft.sqlserver:mssql-jdbc",
    "oracle": "com.oracle.database.jdbc:ojdbc11",
}
"""The drivers that do not come with Penstock: their names in Maven's repository."""

_CLASS = re.compile(r"[A-Za-z_$][\w$]{0,200}(?:\.[A-Za-z_$][\w$]{0,200}){0,20}")
_URL = re.compile(r"jdbc:(?P<vendor>postgresql|redshift|mysql|mariadb|sqlserver|oracle)[:/].*", re.DOTALL)
_DATABASE = re.compile(r"(?P<place>jdbc:[a-z]+://[^/?;]+)(?:/(?P<database>[^?;]*))?(?P<rest>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class OwnDriver:
    """A driver of JDBC that a script or a connection brings: its file in S3, and the name of its class."""

    jar: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A table, or a query, of a database. ``address`` is that of PostgreSQL and Redshift, ``url`` of all others.

    ``dialect`` is the connection type, ``driver`` the driver that is brought for it.
    """

    dialect: str
    url: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    address: DatabaseAddress | None = None
    table: str = ""
    driver: OwnDriver | None = None

    @property
    def properties(self) -> dict[str, str]:
        """Return the login as Spark's options."""
        login = {"user": self.user, "password": self.password}
        return {name: value for name, value in login.items() if value is not None}


def database_target(session: GlueSession, engine: str, options: Options) -> Target:
    """Return the database and the table that ``options`` of a connection of type ``engine`` name.

    Raises :class:`InvalidInput` for options that are missing or not served, NotFound for a connection.
    """
    by_connection = options.flag("useConnectionProperties")
    name, url = options.text("connectionName"), options.text("url")
    user, password = options.text("user") or options.text("username"), options.text("password")
    database, table = options.text("database"), options.text("dbtable")
    if by_connection != (name is not None):
        raise InvalidInput(
            "Options useConnectionProperties and connectionName need each other.", remedy="Give both, or give url."
        )
    if name is not None and url is None:
        target = _of_connection(session.connection(name))
    elif url is not None and name is None:
        target = _of_url(engine, url)
    else:
        raise InvalidInput(f"The {engine} connection needs connectionName or url, and one of them only.")
    if engine not in {ANY, target.dialect}:
        raise InvalidInput(f"The connection is of {target.dialect}, and connection_type is {engine}.")
    if user is not None:
        target = replace(target, user=user, password=password)
    own = _own_driver(options.text, "customJdbcDriverS3Path", "customJdbcDriverClassName")
    return _in_database(replace(target, table=table or "", driver=own or target.driver), database)


def target_of_table(session: GlueSession, table: Mapping[str, Any]) -> Target:
    """Return the database and the table that a crawler has put into the catalog, at ``DATABASE.SCHEMA.TABLE``."""
    name = str(table["Parameters"]["connectionName"])
    database, _, path = str(table.get("StorageDescriptor", {}).get("Location", "")).partition(".")
    if not path:
        raise InvalidInput(f"Table {table.get('Name')} has no location DATABASE.SCHEMA.TABLE.", remedy="Crawl it again.")
    return _in_database(replace(_of_connection(session.connection(name)), table=path), database)


def jdbc_configuration(connection: GlueConnection) -> dict[str, str | None]:
    """Return what ``extract_jdbc_conf`` does: AWS's keys, of which ``url`` has no database and ``fullUrl`` has."""
    target = _of_connection(connection)
    address = _DATABASE.fullmatch(target.url)
    properties = connection.properties
    return {
        "fullUrl": properties.get("JDBC_CONNECTION_URL", target.url),
        "url": address["place"] if address else target.url,
        "user": target.user,
        "password": target.password,
        "vendor": target.dialect,
        "enforceSSL": properties.get("JDBC_ENFORCE_SSL", "false"),
        "customJDBCCert": properties.get("CUSTOM_JDBC_CERT", ""),
        "skipCustomJDBCCertValidation": properties.get("SKIP_CUSTOM_JDBC_CERT_VALIDATION", "false"),
        "customJDBCCertString": properties.get("CUSTOM_JDBC_CERT_STRING", ""),
    }


def _own_driver(option: Callable[[str], str | None], jar_option: str, name_option: str) -> OwnDriver | None:
    jar, name = option(jar_option), option(name_option)
    if not jar and not name:
        return None
    if not jar or not name:
        raise InvalidInput(f"{jar_option} and {name_option} need each other.", remedy="Give both, or none of them.")
    if not jar.startswith(SCHEMES) or not jar.lower().endswith(".jar"):
        raise InvalidInput(f"{jar_option} is {jar[:200]!r}.", remedy="Write the driver's file in S3: s3://BUCKET/KEY.jar.")
    parse_uri(jar)
    if not _CLASS.fullmatch(name):
        raise InvalidInput(f"{name_option} is {name[:200]!r}, which is not a class name.")
    return OwnDriver(jar, name)


def _of_connection(connection: GlueConnection) -> Target:
    properties = connection.properties
    url = properties.get("JDBC_CONNECTION_URL", "")
    if not _URL.fullmatch(url):
        raise InvalidInput(f"Connection {connection.name} has no JDBC_CONNECTION_URL of {', '.join(KINDS)}.")
    dialect = _dialect(url)
    if dialect in {"postgresql", "redshift"}:
        address, secret = glue_address(connection.name, connection.type, properties)
        target = _of_address(dialect, address)
    else:
        secret = properties.get("SECRET_ID") or None
        target = Target(dialect=dialect, url=url, user=properties.get("USERNAME"), password=properties.get("PASSWORD"))
    target = replace(target, driver=_own_driver(properties.get, "JDBC_DRIVER_JAR_URI", "JDBC_DRIVER_CLASS_NAME"))
    if secret is None:
        return target
    login = broker_credentials(secret)
    return replace(target, user=login.username, password=login.password)


def _of_url(engine: str, url: str) -> Target:
    if not _URL.fullmatch(url):
        raise InvalidInput(
            f"The url of the {engine} connection is not of {', '.join(KINDS)}.", remedy="Write jdbc:...://HOST/."
        )
    dialect = _dialect(url)
    if dialect in {"postgresql", "redshift"}:
        # A database may be given by itself.
        address = _DATABASE.fullmatch(url)
        if address is not None and not address["database"]:
            url = f"{address['place']}/{dialect_database(dialect)}{address['rest']}"
        return _of_address(dialect, parse_jdbc_url(url))
    return Target(dialect=dialect, url=url)


def dialect_database(dialect: str) -> str:
    """Return the database that a URL without one leads to."""
    return "dev" if dialect == "redshift" else "postgres"


def _of_address(dialect: str, address: DatabaseAddress) -> Target:
    settings = {
        "sslmode": None if address.ssl_mode == "prefer" else address.ssl_mode,
        "sslrootcert": address.certificate,
        "currentSchema": address.schema,
    }
    query = urlencode({name: value for name, value in settings.items() if value is not None})
    host = f"[{address.host}]" if ":" in address.host else address.host
    url = f"jdbc:postgresql://{host}:{address.port}/{address.database}{'?' if query else ''}{query}"
    return Target(dialect=dialect, url=url, user=address.user, password=address.password, address=address)


def _in_database(target: Target, database: str | None) -> Target:
    if not database:
        return target
    if target.address is not None:
        address = replace(target.address, database=database)
        moved = _of_address(target.dialect, address)
        return replace(moved, user=target.user, password=target.password, table=target.table, driver=target.driver)
    place = _DATABASE.fullmatch(target.url)
    if place is None or target.dialect in {"sqlserver", "oracle"}:
        raise InvalidInput(f"Option database is not for {target.dialect}.", remedy="Write it into the connection's URL.")
    return replace(target, url=f"{place['place']}/{database}{place['rest']}")


def _dialect(url: str) -> str:
    vendor = url.split(":")[1]
    return "mysql" if vendor == "mariadb" else vendor
