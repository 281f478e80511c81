"""Open what the versions of a pipeline's records are read from: the registry, a Confluent registry, or the records."""

from urllib.parse import urlsplit

from penstock.client.confluent import ConfluentClient
from penstock.client.default_session import default_session
from penstock.client.registry import RegistryClient
from penstock.pipelines.decode import ConfluentRegistry, Decode, Key
from penstock.spark.decode.inferred import InferredSchema
from penstock.spark.decode.versions import SchemaVersions, VersionSource

__all__ = ["open_versions"]

_ATTEMPTS = 2
"""A registry that hangs delays a batch by a minute; then known versions are used, or the batch retries."""


def open_versions(decode: Decode, registry: VersionSource | None = None) -> SchemaVersions:
    """Return the versions of values, with those of keys. ``registry`` is instead of a client of the declared one's."""
    keys = None if decode.key is None else open_versions(decode.key, registry)
    if decode.infers:
        return SchemaVersions(InferredSchema("key" if isinstance(decode, Key) else "value"), decode, keys=keys)
    source = registry or RegistryClient(attempts=_ATTEMPTS)

    def connect(declared: ConfluentRegistry) -> ConfluentClient | None:
        return _confluent(declared, getattr(source, "endpoint_url", None))

    return SchemaVersions(source, decode, connect=connect, keys=keys)


def _confluent(declared: ConfluentRegistry, endpoint: str | None) -> ConfluentClient | None:
    """Return the declared registry's client; without a URL that of Penstock's own registry, which AWS's is not."""
    if declared.url is not None:
        return ConfluentClient(declared.url, user_info=declared.user_info, attempts=_ATTEMPTS)
    if endpoint is None or (urlsplit(endpoint).hostname or "").endswith((".amazonaws.com", ".amazonaws.com.cn", ".aws.dev")):
        return None
    login = declared.user_info
    if login is None:
        credentials = default_session().get_credentials()
        if credentials is not None:
            frozen = credentials.get_frozen_credentials()
            login = f"{frozen.access_key}:{frozen.secret_key}"
    return ConfluentClient(endpoint, user_info=login, attempts=_ATTEMPTS)
