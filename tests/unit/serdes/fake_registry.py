"""A registry in memory that answers in AWS's words and keeps what it was asked."""

from typing import Any
from uuid import UUID, uuid4

from penstock.errors import AlreadyExists, NotFound
from penstock.schema.version import SchemaVersion


class FakeRegistry:
    """Registers whatever it gets as AVAILABLE, or with the statuses in ``statuses``, one after the other."""

    def __init__(self, statuses: list[str] | None = None) -> None:
        self.calls: list[str] = []
        self.metadata: dict[str, str] = {}
        self.created_with: dict[str, Any] = {}
        self._statuses = statuses or []
        self._by_id: dict[UUID, SchemaVersion] = {}
        self._schemas: dict[tuple[str, str], list[UUID]] = {}

    def add(self, definition: str, *, schema: str = "s", registry: str = "r", data_format: str = "AVRO") -> SchemaVersion:
        known = self._schemas.setdefault((registry, schema), [])
        version = SchemaVersion(
            id=uuid4(),
            schema_arn=f"arn:aws:glue:us-east-1:000000000000:schema/{registry}/{schema}",
            registry_name=registry,
            schema_name=schema,
            number=len(known) + 1,
            definition=definition,
            data_format=data_format,
        )
        known.append(version.id)
        self._by_id[version.id] = version
        return version

    def version(self, version_id: UUID) -> SchemaVersion:
        self.calls.append("version")
        if version_id not in self._by_id:
            raise NotFound(f"Schema version is not found. SchemaVersionId: {version_id}")
        return self._by_id[version_id]

    def latest(self, registry: str, schema: str) -> SchemaVersion:
        self.calls.append("latest")
        if (registry, schema) not in self._schemas:
            raise NotFound("Schema is not found.")
        return self._by_id[self._schemas[registry, schema][-1]]

    def find_version(self, registry: str, schema: str, definition: str) -> tuple[UUID, str]:
        self.calls.append("find")
        if (registry, schema) not in self._schemas:
            raise NotFound("Schema is not found. RegistryName: r, SchemaName: s")
        for known in self._schemas[registry, schema]:
            if self._by_id[known].definition == definition:
                return known, self._status()
        raise NotFound("Schema version is not found.")

    def register_version(self, registry: str, schema: str, definition: str) -> tuple[UUID, str]:
        self.calls.append("register")
        known = self._by_id[self._schemas[registry, schema][0]]
        made = self.add(definition, schema=schema, registry=registry, data_format=known.data_format)
        return made.id, self._status()

    def create_schema(self, registry: str, schema: str, definition: str, **settings: Any) -> tuple[UUID, str]:
        self.calls.append("create")
        if (registry, schema) in self._schemas:
            raise AlreadyExists("Schema already exists.")
        self.created_with = settings
        data_format = settings.get("data_format", "AVRO")
        return self.add(definition, schema=schema, registry=registry, data_format=data_format).id, self._status()

    def version_status(self, version_id: UUID) -> str:
        self.calls.append("status")
        return self._status()

    def put_metadata(self, version_id: UUID, key: str, value: str) -> None:
        self.calls.append("metadata")
        self.metadata[key] = value

    def _status(self) -> str:
        return self._statuses.pop(0) if self._statuses else "AVAILABLE"
