"""Glue's connections: how to reach a data store, under a name."""

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
    """``type`` is Glue's (``KAFKA``, ``JDBC``, ...); the properties may hold passwords and stay out of ``repr``."""

    name: str
    type: str
    properties: Mapping[str, str] = field(repr=False)


def glue_connection(
    name: str, *, region: str | None = None, endpoint_url: str | None = None, session: "Session | None" = None
) -> GlueConnection:
    """The connection of that name, passwords included; :class:`~penstock.errors.NotFound` where there is none."""
    client: GlueClient = open_client("glue", region=region, endpoint_url=endpoint_url, session=session)
    with translated_errors(client, f"connection {name}"):
        found = client.get_connection(Name=name, HidePassword=False)["Connection"]
    properties = {str(key): value for key, value in found.get("ConnectionProperties", {}).items()}
    return GlueConnection(name=name, type=found.get("ConnectionType", ""), properties=properties)
