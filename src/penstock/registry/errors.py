"""The registry's errors, each worded once.

::

    PenstockError
    ├── NotFound       ── RegistryNotFound, SchemaNotFound, VersionNotFound, MetadataNotFound, ResourceNotFound
    ├── AlreadyExists  ── RegistryExists, SchemaExists, MetadataExists
    ├── LimitExceeded  ── RegistryFull
    ├── ConcurrentModification ── TooMuchContention
    └── InvalidInput   ── VersioningDisabled, ProtectedVersion, BadReference

AWS's Java serde picks its next call by substrings of two of the messages: ``Schema is not found.`` makes it create the
schema, ``Schema version is not found.`` makes it register a version.
"""

from penstock.errors import AlreadyExists, ConcurrentModification, InvalidInput, LimitExceeded, NotFound

__all__ = [
    "BadReference",
    "MetadataExists",
    "MetadataNotFound",
    "ProtectedVersion",
    "RegistryExists",
    "RegistryFull",
    "RegistryNotFound",
    "ResourceNotFound",
    "SchemaExists",
    "SchemaNotFound",
    "TooMuchContention",
    "VersionNotFound",
    "VersioningDisabled",
]


class RegistryNotFound(NotFound):
    """There is no registry of this name."""

    def __init__(self, registry: str) -> None:
        super().__init__(
            f"Registry is not found. RegistryName: {registry}.", remedy="ListRegistries shows the ones there are."
        )


class SchemaNotFound(NotFound):
    """The registry has no schema of this name, or there is no such registry."""

    def __init__(self, registry: str, schema: str) -> None:
        super().__init__(
            f"Schema is not found. RegistryName: {registry}, SchemaName: {schema}.",
            remedy="ListSchemas shows the ones there are.",
        )


class VersionNotFound(NotFound):
    """There is no such schema version. ``what`` says how it was asked for."""

    def __init__(self, what: str) -> None:
        super().__init__(f"Schema version is not found. {what}.", remedy="ListSchemaVersions shows the ones there are.")


class MetadataNotFound(NotFound):
    """The version has no such metadata pair."""

    def __init__(self, version_id: str, key: str, value: str) -> None:
        super().__init__(f"Schema version {version_id} has no metadata {key}={value}.")


class ResourceNotFound(NotFound):
    """No registry and no schema has this ARN."""

    def __init__(self, resource: str) -> None:
        super().__init__(f"Entity not found: {resource[:400]}.", remedy="Check the ARN's region, account and names.")


class RegistryExists(AlreadyExists):
    """The registry's name is taken."""

    def __init__(self, registry: str) -> None:
        super().__init__(f"Registry already exists. RegistryName: {registry}.")


class SchemaExists(AlreadyExists):
    """The schema's name is taken."""

    def __init__(self, registry: str, schema: str) -> None:
        super().__init__(
            f"Schema already exists. RegistryName: {registry}, SchemaName: {schema}.",
            remedy="RegisterSchemaVersion adds a version to it.",
        )


class MetadataExists(AlreadyExists):
    """The version has this metadata pair already."""

    def __init__(self, version_id: str, key: str, value: str) -> None:
        super().__init__(f"Schema version {version_id} already has the metadata {key}={value}.")


class RegistryFull(LimitExceeded):
    """A count is used up; ``what`` names it with its limit."""

    def __init__(self, what: str) -> None:
        super().__init__(f"The limit is reached: {what}.", remedy="Delete some, or raise the server's limit.")


class TooMuchContention(ConcurrentModification):
    """Other writers changed the schema again and again."""

    def __init__(self, registry: str, schema: str) -> None:
        super().__init__(
            f"Schema {schema} in registry {registry} is being changed by other callers.", remedy="Try again in a moment."
        )


class VersioningDisabled(InvalidInput):
    """The schema's compatibility is DISABLED."""

    def __init__(self, registry: str, schema: str) -> None:
        super().__init__(
            f"Schema {schema} in registry {registry} takes no new versions: its compatibility is DISABLED.",
            remedy="UpdateSchema with another compatibility and a checkpoint allows them again.",
        )


class ProtectedVersion(InvalidInput):
    """The checkpoint and the first version stay."""


class BadReference(InvalidInput):
    """A RegistryId, SchemaId or version that names nothing, two things, or something of another kind."""
