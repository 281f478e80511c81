"""The registry's errors, each worded once.

::

    PenstockError
    ├── NotFound       ── RegistryNotFound, SchemaNotFound, VersionNotFound, MetadataNotFound, ResourceNotFound,
    │                    ResourcePolicyNotFound, SoftDeleted
    ├── AlreadyExists  ── RegistryExists, SchemaExists, MetadataExists, NumberTaken,
    │                    SchemaIdTaken ── SchemaIdDiffers
    ├── LimitExceeded  ── RegistryFull
    ├── ConcurrentModification ── TooMuchContention, ConditionFailed
    └── InvalidInput   ── VersioningDisabled, NotWritable, ProtectedVersion, IncompatibleSchema, VersionReferenced,
    │                    NotSoftDeleted
        └── BadReference ── MissingReference

AWS's Java serde picks its next call by substrings of two of the messages: ``Schema is not found.`` makes it create the
schema, ``Schema version is not found.`` makes it register a version.
"""

from collections.abc import Sequence

from penstock.errors import AlreadyExists, ConcurrentModification, InvalidInput, LimitExceeded, NotFound
from penstock.registry.model import SchemaKey, VersionHead
from penstock.schema.compatibility import CompatibilityVerdict

__all__ = [
    "BadReference",
    "ConditionFailed",
    "IncompatibleSchema",
    "MetadataExists",
    "MetadataNotFound",
    "MissingReference",
    "NotSoftDeleted",
    "NotWritable",
    "NumberTaken",
    "ProtectedVersion",
    "RegistryExists",
    "RegistryFull",
    "RegistryNotFound",
    "ResourceNotFound",
    "ResourcePolicyNotFound",
    "SchemaExists",
    "SchemaIdDiffers",
    "SchemaIdTaken",
    "SchemaNotFound",
    "SoftDeleted",
    "TooMuchContention",
    "VersionNotFound",
    "VersionReferenced",
    "VersioningDisabled",
]


class RegistryNotFound(NotFound):
    """The registry does not exist."""

    def __init__(self, registry: str) -> None:
        super().__init__(
            f"Registry is not found. RegistryName: {registry}.", remedy="ListRegistries shows the ones there are."
        )


class SchemaNotFound(NotFound):
    """The registry has no schema of this name, or does not exist."""

    def __init__(self, registry: str, schema: str) -> None:
        super().__init__(
            f"Schema is not found. RegistryName: {registry}, SchemaName: {schema}.",
            remedy="ListSchemas shows the ones there are.",
        )


class VersionNotFound(NotFound):
    """The schema version does not exist. ``what`` says how it was requested."""

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


class ResourcePolicyNotFound(NotFound):
    """The resource has no policy."""

    def __init__(self, resource: str) -> None:
        super().__init__(f"Policy not found. Resource: {resource}.", remedy="PutResourcePolicy adds one.")


class ConditionFailed(ConcurrentModification):
    """A condition that the caller stated does not hold."""

    aws_code = "ConditionCheckFailureException"


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
    """A limit is reached; ``what`` names it."""

    def __init__(self, what: str) -> None:
        super().__init__(f"The limit is reached: {what}.", remedy="Delete some that are no longer needed first.")


class TooMuchContention(ConcurrentModification):
    """Other writers kept changing the schema."""

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


class NotWritable(InvalidInput):
    """The schema's mode, which Confluent's interface sets, forbids this write."""

    def __init__(self, key: SchemaKey, mode: str) -> None:
        what = "takes no changes" if mode != "IMPORT" else "takes only versions that come with their ids"
        where = f"Schema {key.name} in registry {key.registry}" if key.name else f"Registry {key.registry}"
        super().__init__(
            f"{where} {what}: its mode is {mode}.",
            remedy="PUT /mode/SUBJECT or /mode with READWRITE, on Confluent's interface, allows them again.",
        )


class ProtectedVersion(InvalidInput):
    """The checkpoint and the first version cannot be deleted."""


class BadReference(InvalidInput):
    """A RegistryId, SchemaId or version that names nothing, two resources, or one of another kind."""


class MissingReference(BadReference):
    """A reference names a version that does not exist or cannot be used."""

    def __init__(self, name: str, key: SchemaKey, number: int, *, why: str = "there is no such version") -> None:
        super().__init__(
            f"The reference '{name[:200]}' names version {number} of schema {key.name} in registry {key.registry}: {why}.",
            remedy="Register the referenced schema first, and give the number of its version.",
        )


class IncompatibleSchema(InvalidInput):
    """An incompatible definition that was not stored. ``verdict`` lists the incompatibilities."""

    def __init__(self, verdict: CompatibilityVerdict) -> None:
        super().__init__(str(verdict))
        self.verdict = verdict


class SchemaIdTaken(AlreadyExists):
    """An imported schema id belongs to another definition."""

    def __init__(self, registry: str, schema_id: int, what: str | None = None) -> None:
        what = what or f"Id {schema_id} is another schema's"
        super().__init__(
            f"{what} in registry {registry}.",
            remedy="Import into a registry (context) that is empty, or leave the id out.",
        )
        self.schema_id = schema_id


class SchemaIdDiffers(SchemaIdTaken):
    """An imported schema id differs from the one that the definition has in this registry."""

    def __init__(self, registry: str, schema_id: int, other: int) -> None:
        super().__init__(registry, schema_id, f"The schema has id {other}, not {schema_id},")


class NumberTaken(AlreadyExists):
    """An imported version number is taken, or the definition is stored under another number."""

    def __init__(self, key: SchemaKey, number: int, other: int | None = None) -> None:
        what = "is another definition" if other is None else f"cannot be it: it is version {other} already"
        subject = f"Version {number} of" if other is None else f"The definition to be version {number} of"
        super().__init__(
            f"{subject} schema {key.name} in registry {key.registry} {what}.",
            remedy="Import into an empty registry (context), or leave the number out.",
        )


class VersionReferenced(InvalidInput):
    """Other versions refer to the one to be deleted. ``referrers`` are some of them."""

    def __init__(self, what: str, referrers: Sequence[VersionHead]) -> None:
        shown = ", ".join(f"{head.key.registry}/{head.key.name} version {head.number}" for head in referrers[:5])
        super().__init__(
            f"{what} is referenced by {shown} and cannot be deleted.", remedy="Delete the referring ones first."
        )
        self.referrers = referrers


class NotSoftDeleted(InvalidInput):
    """A subject or version must be soft-deleted before it is deleted permanently."""

    def __init__(self, key: SchemaKey, number: int | None = None) -> None:
        what = f"Subject '{key.name}'" + ("" if number is None else f" version {number}")
        super().__init__(f"{what} was not deleted first before being permanently deleted.", remedy="Delete it first.")


class SoftDeleted(NotFound):
    """The subject or version is already soft-deleted."""

    def __init__(self, key: SchemaKey, number: int | None = None) -> None:
        what = f"Subject '{key.name}'" + ("" if number is None else f" version {number}")
        super().__init__(f"{what} was soft deleted.", remedy="Set permanent=true to delete it for good.")
