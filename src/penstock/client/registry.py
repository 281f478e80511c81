"""The schema registry's client: versions by id, cached without expiry because they never change, and registration.

It implements :class:`penstock.serdes.ports.SchemaSource` and :class:`penstock.serdes.ports.Registrar`. Without an endpoint
it uses AWS. Operations: https://docs.aws.amazon.com/glue/latest/webapi/API_GetSchemaVersion.html and its neighbours.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from penstock.client.cache import OnceCache
from penstock.client.connection import default_region, open_client, translated_errors
from penstock.errors import NotFound
from penstock.names import parse_arn
from penstock.schema.version import SchemaVersion

if TYPE_CHECKING:
    from boto3.session import Session
    from types_boto3_glue import GlueClient
    from types_boto3_glue.literals import CompatibilityType, DataFormatType
    from types_boto3_glue.type_defs import SchemaIdTypeDef

__all__ = ["LatestVersions", "RegisteredSchema", "RegistryClient", "UnknownSchemaVersion"]

_SETTLED = frozenset({"AVAILABLE", "FAILURE"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredSchema:
    """A schema as GetSchema answers it. ``compatibility`` is its mode; checks begin at version ``checkpoint``."""

    registry: str
    name: str
    data_format: str
    compatibility: str
    checkpoint: int


class UnknownSchemaVersion(NotFound):
    """No schema version has this id; :attr:`version_id` is the requested id."""

    def __init__(self, message: str, *, version_id: UUID | None = None, remedy: str | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.version_id = version_id


class RegistryClient:
    """Cached reads of one registry service; safe for threads.

    ``cache_size`` counts schema versions (200 in AWS's serde). An unknown id is remembered for ``unknown_seconds``, so that
    a stream of damaged records does not become a stream of requests. ``session`` is a boto3 session for credentials
    (an assumed role, say); ``attempts`` limits the attempts per call; ``proxy_url`` overrides the environment's proxies.
    """

    def __init__(
        self,
        *,
        region: str | None = None,
        endpoint_url: str | None = None,
        session: "Session | None" = None,
        cache_size: int = 1000,
        unknown_seconds: float = 30.0,
        attempts: int = 5,
        proxy_url: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._glue: GlueClient = open_client(
            "glue", region=region, endpoint_url=endpoint_url, session=session, attempts=attempts, proxy_url=proxy_url
        )
        self._versions: OnceCache[UUID, SchemaVersion] = OnceCache(cache_size)
        self._unknown: OnceCache[UUID, str] = OnceCache(cache_size, seconds=unknown_seconds, clock=clock)

    @property
    def endpoint_url(self) -> str:
        """The URL of the service."""
        return str(self._glue.meta.endpoint_url)

    def version(self, version_id: UUID | str) -> SchemaVersion:
        """Return the version with this id, whatever its status.

        Raises :class:`UnknownSchemaVersion` if it does not exist, :class:`EnvironmentProblem` if no service answers.
        """
        uuid = version_id if isinstance(version_id, UUID) else _uuid(version_id)
        unknown = self._unknown.peek(uuid)
        if unknown is not None:
            raise UnknownSchemaVersion(unknown, version_id=uuid)
        version = self._versions.get(uuid, lambda: self._fetch(uuid))
        if version.status not in _SETTLED:
            self._versions.drop(uuid)
        return version

    def latest(self, registry: str, schema: str) -> SchemaVersion:
        """Return the highest AVAILABLE version; :class:`NotFound` if the schema has none. Not cached."""
        what = f"the latest version of schema {registry}/{schema}"
        with translated_errors(self._glue, what):
            answer = self._glue.get_schema_version(
                SchemaId=_schema_id(registry, schema), SchemaVersionNumber={"LatestVersion": True}
            )
            version = self._keep(answer)
        if version.status == "AVAILABLE":
            return version
        available = self.versions(registry, schema)
        if not available:
            raise NotFound(
                f"Schema {registry}/{schema} has no AVAILABLE version: version {version.number} is {version.status}.",
                remedy="Register a version that the schema's compatibility mode accepts.",
            )
        return available[-1]

    def versions(self, registry: str, schema: str, *, available_only: bool = True) -> list[SchemaVersion]:
        """Return all versions, lowest number first. Definitions come from the cache, the list does not."""
        statuses = ("AVAILABLE",) if available_only else ("AVAILABLE", "PENDING", "FAILURE")
        return [self.version(version_id) for _, version_id in self.numbers(registry, schema, statuses)]

    def latest_number(self, registry: str, schema: str) -> int:
        """Return the number of the latest version, whatever its status (GetSchema); :class:`NotFound` if it is unknown."""
        with translated_errors(self._glue, f"schema {registry}/{schema}"):
            return self._glue.get_schema(SchemaId=_schema_id(registry, schema))["LatestSchemaVersion"]

    def numbers(self, registry: str, schema: str, statuses: Sequence[str] = ("AVAILABLE",)) -> list[tuple[int, UUID]]:
        """Return number and id of each version with one of ``statuses``, lowest number first, without definitions."""
        listed: list[tuple[int, UUID]] = []
        with translated_errors(self._glue, f"the versions of schema {registry}/{schema}"):
            pages = self._glue.get_paginator("list_schema_versions").paginate(SchemaId=_schema_id(registry, schema))
            for page in pages:
                listed.extend(
                    (version["VersionNumber"], UUID(version["SchemaVersionId"]))
                    for version in page["Schemas"]
                    if version["Status"] in statuses
                )
        return sorted(listed)

    def schema(self, registry: str, schema: str) -> RegisteredSchema:
        """Return a schema's format, mode and checkpoint (GetSchema); :class:`NotFound` if it is unknown. Not cached."""
        with translated_errors(self._glue, f"schema {registry}/{schema}"):
            answer = self._glue.get_schema(SchemaId=_schema_id(registry, schema))
            return RegisteredSchema(
                registry=registry,
                name=schema,
                data_format=answer["DataFormat"],
                compatibility=answer["Compatibility"],
                checkpoint=answer["SchemaCheckpoint"],
            )

    def find_version(self, registry: str, schema: str, definition: str) -> tuple[UUID, str]:
        """Return id and status of the version with this definition (GetSchemaByDefinition); AWS's :class:`NotFound`."""
        with translated_errors(self._glue, f"a version of schema {registry}/{schema} by its definition"):
            answer = self._glue.get_schema_by_definition(SchemaId=_schema_id(registry, schema), SchemaDefinition=definition)
            return UUID(answer["SchemaVersionId"]), answer["Status"]

    def register_version(self, registry: str, schema: str, definition: str) -> tuple[UUID, str]:
        """Register a version and return its id and status, or those of an equal one (RegisterSchemaVersion)."""
        with translated_errors(self._glue, f"registration of a version of schema {registry}/{schema}"):
            answer = self._glue.register_schema_version(SchemaId=_schema_id(registry, schema), SchemaDefinition=definition)
            return UUID(answer["SchemaVersionId"]), answer["Status"]

    def create_schema(
        self,
        registry: str,
        schema: str,
        definition: str,
        *,
        data_format: "DataFormatType" = "AVRO",
        compatibility: "CompatibilityType" = "BACKWARD",
        description: str | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> tuple[UUID, str]:
        """Create a schema and return id and status of version 1; :class:`AlreadyExists` if the name is taken."""
        extra: dict[str, Any] = {"Description": description} if description else {}
        with translated_errors(self._glue, f"creation of schema {registry}/{schema}"):
            answer = self._glue.create_schema(
                RegistryId={"RegistryName": registry},
                SchemaName=schema,
                DataFormat=data_format,
                Compatibility=compatibility,
                SchemaDefinition=definition,
                Tags=dict(tags or {}),
                **extra,
            )
            return UUID(answer["SchemaVersionId"]), answer["SchemaVersionStatus"]

    def version_status(self, version_id: UUID) -> str:
        """Return the version's current status: AVAILABLE, PENDING, FAILURE or DELETING."""
        return self._fetch(version_id).status

    def put_metadata(self, version_id: UUID, key: str, value: str) -> None:
        """Add one metadata pair to a version, unless the version has it."""
        with translated_errors(self._glue, f"metadata of schema version {version_id}"):
            self._glue.put_schema_version_metadata(
                SchemaVersionId=str(version_id), MetadataKeyValue={"MetadataKey": key, "MetadataValue": value}
            )

    def _fetch(self, version_id: UUID) -> SchemaVersion:
        try:
            with translated_errors(self._glue, f"schema version {version_id}"):
                return self._keep(self._glue.get_schema_version(SchemaVersionId=str(version_id)))
        except NotFound as error:
            self._unknown.put(version_id, error.message)
            raise UnknownSchemaVersion(error.message, version_id=version_id) from error

    def _keep(self, answer: Mapping[str, Any]) -> SchemaVersion:
        _, registry, name = parse_arn(answer["SchemaArn"]).resource.split("/", 2)
        version = SchemaVersion(
            id=UUID(answer["SchemaVersionId"]),
            schema_arn=answer["SchemaArn"],
            registry_name=registry,
            schema_name=name,
            number=answer["VersionNumber"],
            definition=answer["SchemaDefinition"],
            data_format=answer["DataFormat"],
            status=answer["Status"],
        )
        if version.status in _SETTLED:
            self._versions.put(version.id, version)
        return version


class LatestVersions:
    """The latest versions of schemas in Glue's own shapes, over boto3's client; ``options`` are that client's."""

    def __init__(self, session: "Session", *, region: str | None = None, **options: Any) -> None:
        self.client: GlueClient = session.client("glue", region_name=region or default_region(), **options)

    def latest(self, schema_id: Mapping[str, str]) -> Mapping[str, Any]:
        """Return the highest AVAILABLE version as GetSchemaVersion answers it; :class:`NotFound` if there is none."""
        request: Any = dict(schema_id)
        if "SchemaName" in request:
            request.setdefault("RegistryName", "default-registry")
        what = f"the latest version of schema {'/'.join(request.values())}"
        with translated_errors(self.client, what):
            answer = self.client.get_schema_version(SchemaId=request, SchemaVersionNumber={"LatestVersion": True})
            if answer["Status"] != "AVAILABLE":
                pages = self.client.get_paginator("list_schema_versions").paginate(SchemaId=request)
                usable = [version for page in pages for version in page["Schemas"] if version["Status"] == "AVAILABLE"]
                if not usable:
                    raise NotFound(f"There is no AVAILABLE version (asked for {what}).")
                newest = max(usable, key=lambda version: version["VersionNumber"])
                answer = self.client.get_schema_version(SchemaVersionId=newest["SchemaVersionId"])
        return {name: value for name, value in answer.items() if name != "ResponseMetadata"}


def _schema_id(registry: str, schema: str) -> "SchemaIdTypeDef":
    return {"RegistryName": registry, "SchemaName": schema}


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise UnknownSchemaVersion(f"'{text[:80]}' is not a schema version id, which is a UUID.") from None
