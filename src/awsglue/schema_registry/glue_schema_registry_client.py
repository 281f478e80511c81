"""The registry's client for producers and consumers without a frame, such as those of Kinesis."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from penstock.client.cache import OnceCache
from penstock.client.default_session import default_session
from penstock.client.registry import LatestVersions
from penstock.serdes.checking import DataChecks

__all__ = ["GlueSchemaRegistryClient"]


class GlueSchemaRegistryClient:
    """A client of Glue's registry that can also validate data, which its API cannot; safe for threads.

    ``session`` is a boto3 session, by default the one that ``boto3.client`` uses; ``options`` (``endpoint_url``, ``config``)
    go to boto3's client. Every other operation is that client's own: ``client.register_schema_version(...)``.
    ``latest_seconds`` is how long a latest version is cached, so that a call for each record rarely sends a request.
    """

    def __init__(
        self,
        region_name: str | None = None,
        *,
        session: Any = None,
        latest_seconds: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
        **options: Any,
    ) -> None:
        self._versions = LatestVersions(session or default_session(), region=region_name, **options)
        self._latest: OnceCache[str, Mapping[str, Any]] = OnceCache(200, seconds=latest_seconds, clock=clock)
        self._checks = DataChecks()

    def get_latest_schema_version(self, *, SchemaId: Mapping[str, str]) -> dict[str, Any]:  # noqa: N803 - boto3's names
        """Return the schema's highest AVAILABLE version, as ``get_schema_version`` returns it.

        ``SchemaId`` is Glue's: SchemaName with or without RegistryName (``default-registry``), or SchemaArn. Raises
        :class:`penstock.errors.NotFound` if it has none.
        """
        key = repr(sorted(SchemaId.items()))
        return dict(self._latest.get(key, lambda: self._versions.latest(SchemaId)))

    def validate_schema(self, *, DataFormat: str, SchemaDefinition: str, Data: bytes | str) -> bool:  # noqa: N803
        """Return whether ``Data`` is a value of the definition: JSON text, or a message in AWS's frame.

        Raises :class:`penstock.errors.InvalidInput` for an unknown format and
        :class:`penstock.serdes.errors.UnreadableSchema` for an invalid definition.
        """
        return self.why_invalid(DataFormat=DataFormat, SchemaDefinition=SchemaDefinition, Data=Data) is None

    def why_invalid(self, *, DataFormat: str, SchemaDefinition: str, Data: bytes | str) -> str | None:  # noqa: N803
        """Return what is wrong with ``Data`` and where; ``None`` if :meth:`validate_schema` is true."""
        misfit = self._checks.misfit(DataFormat, SchemaDefinition, Data)
        return None if misfit is None else misfit.message

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._versions.client, name)
