"""Glue's connections: named settings to reach a data store."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.client.connection import open_client, translated_errors

if TYPE_CHECKING:
    from boto3.session import Session
    from types_boto3_glue import GlueClient

__all__ = ["GlueConnection", "glue_connection"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GlueConnection:
    """``type`` is Glue's (``KAFKA``, ``JDBC``, ...). ``repr`` omits the properties, which may have passwords."""

    name: str
    type: str
    properties: Mapping[str, str] = field(repr=False)


def glue_connection(
    name: str, *, region: str | None = None, endpoint_url: str | None = None, session: "Session | None" = None
) -> GlueConnection:
    """Return the connection of that name, with its passwords; :class:`~penstock.errors.NotFound` if it does not exist."""
    client: GlueClient = open_client("glue", region=region, endpoint_url=endpoint_url, session=session)
    with translated_errors(client, f"connection {name}"):
        connection = client.get_connection(Name=name, HidePassword=False)["Connection"]
    properties = {str(key): value for key, value in connection.get("ConnectionProperties", {}).items()}
    return GlueConnection(name=name, type=connection.get("ConnectionType", ""), properties=properties)
