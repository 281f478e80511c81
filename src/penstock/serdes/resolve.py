"""Settings to a configuration, and a configuration to registry clients; shared by all serialisers and deserialisers."""

from collections.abc import Mapping
from typing import Any

from penstock.client.confluent import ConfluentClient
from penstock.client.registry import RegistryClient
from penstock.serdes.config import SerdeConfig

__all__ = ["open_confluent", "open_registry", "resolve_config"]


def resolve_config(properties: Mapping[str, Any] | SerdeConfig | None, settings: Mapping[str, Any]) -> SerdeConfig:
    """Return the configuration of ``properties``, its fields overridden by ``settings``; ``schema_name`` sets ``schema``."""
    base = properties if isinstance(properties, SerdeConfig) else SerdeConfig.from_properties(properties or {})
    members = dict(settings)
    if "schema_name" in members:
        name = members.pop("schema_name")
        members |= {} if name is None else {"schema": name}
    return base.with_settings(members) if members else base


def open_registry(config: SerdeConfig) -> RegistryClient:
    """Return the registry client of a configuration. No request is sent yet."""
    session = None
    if config.assume_role_arn is not None:
        from penstock.client.assumed_role import assumed_role_session  # noqa: PLC0415 - few users assume a role

        session = assumed_role_session(config.assume_role_arn, config.assume_role_session, region=config.region)
    return RegistryClient(
        region=config.region,
        endpoint_url=config.endpoint_url,
        session=session,
        cache_size=config.cache_size,
        proxy_url=config.proxy_url,
    )


def open_confluent(config: SerdeConfig) -> ConfluentClient | None:
    """Return the client that looks up Confluent's ids, or ``None`` if the configuration has no URL for it."""
    if config.confluent_url is None:
        return None
    return ConfluentClient(config.confluent_url, user_info=config.confluent_user_info, cache_size=config.cache_size)
