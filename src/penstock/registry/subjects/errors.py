"""The errors of subjects, each with the code that Confluent's clients know.

::

    PenstockError
    ├── NotFound      ── SubjectNotFound 40401, SubjectVersionNotFound 40402, SchemaTextNotFound 40403,
    │                    SubjectSoftDeleted 40404, SubjectNotSoftDeleted 40405, VersionSoftDeleted 40406,
    │                    VersionNotSoftDeleted 40407, LevelNotConfigured 40408, ModeNotConfigured 40409
    ├── InvalidSchema ── EmptySchema 42201, UnknownSchemaType 42201, NotNextVersion 42201
    └── InvalidInput  ── Incompatible 409, BadVersion 42202, BadLevel 42203, BadMode 42204, NotPermitted 42205,
                         InvalidSubject 42208, SchemaTooLarge 42209, RulesNotServed 42210, ContextNotEmpty 42211,
                         IdInUse 42205, ReferenceExists 42206

Messages begin as those of Confluent's server do (Errors and the Rest...Exception classes); the remedy follows.
Their HTTP status is the first three digits; 40901 of newer servers is 409 here, which all clients know.
Source: the error codes of the Schema Registry API reference.
"""

from typing import ClassVar

from penstock.errors import InvalidInput, NotFound
from penstock.schema.compatibility import CompatibilityVerdict
from penstock.schema.errors import InvalidSchema
from penstock.schema.format import DATA_FORMATS

__all__ = [
    "BadLevel",
    "BadMode",
    "BadVersion",
    "ContextNotEmpty",
    "EmptySchema",
    "IdInUse",
    "Incompatible",
    "InvalidSubject",
    "LevelNotConfigured",
    "ModeNotConfigured",
    "NotNextVersion",
    "NotPermitted",
    "ReferenceExists",
    "RulesNotServed",
    "SchemaTextNotFound",
    "SchemaTooLarge",
    "SubjectNotFound",
    "SubjectNotSoftDeleted",
    "SubjectSoftDeleted",
    "SubjectVersionNotFound",
    "UnknownSchemaType",
    "VersionNotSoftDeleted",
    "VersionSoftDeleted",
]

_SHOWN = 300


class SubjectNotFound(NotFound):
    """The subject does not exist, or all its versions are deleted."""

    confluent_code: ClassVar[int] = 40401

    def __init__(self, subject: object) -> None:
        super().__init__(f"Subject '{_shown(subject)}' not found.", remedy="GET /subjects lists the ones there are.")


class SubjectVersionNotFound(NotFound):
    """The subject has no such version."""

    confluent_code: ClassVar[int] = 40402

    def __init__(self, subject: object, version: object) -> None:
        super().__init__(
            f"Version {version} not found.", remedy=f"GET /subjects/{_shown(subject)}/versions lists the ones there are."
        )


class SchemaTextNotFound(NotFound):
    """No schema in the requested place has this text, id or UUID."""

    confluent_code: ClassVar[int] = 40403

    def __init__(self, what: object = "") -> None:
        super().__init__(f"Schema {_shown(what)} not found" if what != "" else "Schema not found")


class SubjectSoftDeleted(NotFound):
    """The subject is already soft-deleted; only a permanent deletion is possible."""

    confluent_code: ClassVar[int] = 40404

    def __init__(self, subject: object) -> None:
        super().__init__(f"Subject '{_shown(subject)}' was soft deleted.Set permanent=true to delete permanently")


class SubjectNotSoftDeleted(NotFound):
    """A permanent deletion must follow a soft one."""

    confluent_code: ClassVar[int] = 40405

    def __init__(self, subject: object) -> None:
        super().__init__(
            f"Subject '{_shown(subject)}' was not deleted first before being permanently deleted",
            remedy="Delete it without permanent=true first.",
        )


class VersionSoftDeleted(NotFound):
    """The version is already soft-deleted; only a permanent deletion is possible."""

    confluent_code: ClassVar[int] = 40406

    def __init__(self, subject: object, version: object) -> None:
        super().__init__(
            f"Subject '{_shown(subject)}' Version {version} was soft deleted.Set permanent=true to delete permanently"
        )


class VersionNotSoftDeleted(NotFound):
    """A permanent deletion must follow a soft one."""

    confluent_code: ClassVar[int] = 40407

    def __init__(self, subject: object, version: object) -> None:
        super().__init__(
            f"Subject '{_shown(subject)}' Version {version} was not deleted first before being permanently deleted",
            remedy="Delete it without permanent=true first.",
        )


class LevelNotConfigured(NotFound):
    """The subject or context has no compatibility level of its own."""

    confluent_code: ClassVar[int] = 40408

    def __init__(self, subject: object) -> None:
        super().__init__(
            f"Subject '{_shown(subject)}' does not have subject-level compatibility configured",
            remedy="defaultToGlobal=true answers the level it inherits.",
        )


class ModeNotConfigured(NotFound):
    """The subject or context has no mode of its own."""

    confluent_code: ClassVar[int] = 40409

    def __init__(self, subject: object) -> None:
        super().__init__(
            f"Subject '{_shown(subject)}' does not have subject-level mode configured",
            remedy="defaultToGlobal=true answers the mode it inherits.",
        )


class Incompatible(InvalidInput):
    """A new definition that the subject's compatibility ``level`` refuses; ``verdict`` holds every conflict."""

    confluent_code: ClassVar[int] = 409

    def __init__(self, subject: object, verdict: CompatibilityVerdict, *, level: str) -> None:
        listed = "; ".join(str(conflict) for conflict in verdict.conflicts)
        super().__init__(
            f'Schema being registered is incompatible with an earlier schema for subject "{_shown(subject)}", details: '
            f"[{listed}, {{compatibility: '{level}'}}]"
        )
        self.verdict = verdict


class BadVersion(InvalidInput):
    """A version that is neither a number from 1 to 2^31-1 nor ``latest``."""

    confluent_code: ClassVar[int] = 42202

    def __init__(self, version: object) -> None:
        super().__init__(
            f"The specified version '{_shown(version)}' is not a valid version id. Allowed values are between [1, 2^31-1] "
            'and the string "latest"'
        )


class BadLevel(InvalidInput):
    """The compatibility level does not exist."""

    confluent_code: ClassVar[int] = 42203

    def __init__(self, level: object) -> None:
        super().__init__(
            "Invalid compatibility level. Valid values are none, backward, forward, full, backward_transitive, "
            "forward_transitive, and full_transitive",
            remedy=f"'{_shown(level)}' is none of them.",
        )


class BadMode(InvalidInput):
    """The mode does not exist."""

    confluent_code: ClassVar[int] = 42204

    def __init__(self, mode: object) -> None:
        super().__init__(
            "Invalid mode. Valid values are READWRITE, READONLY, READONLY_OVERRIDE, and IMPORT.",
            remedy=f"'{_shown(mode)}' is none of them.",
        )


class NotPermitted(InvalidInput):
    """The mode forbids this write."""

    confluent_code: ClassVar[int] = 42205


class InvalidSubject(InvalidInput):
    """The name is not valid for a subject or context."""

    confluent_code: ClassVar[int] = 42208

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"The specified subject '{_shown(name)}' is not a valid.", remedy=f"{why[0].upper()}{why[1:]}.")


class EmptySchema(InvalidSchema):
    """The schema has no text, and the subject has no version to take the text from."""

    def __init__(self) -> None:
        super().__init__("Empty schema", remedy='Give the schema as text in the member "schema".')


class UnknownSchemaType(InvalidSchema):
    """A schemaType that is not one of :data:`~penstock.schema.format.DATA_FORMATS`."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Invalid schema type {_shown(name)}", remedy=f"There are {', '.join(DATA_FORMATS)}, in capitals.")


class NotNextVersion(InvalidSchema):
    """The version number is not the next one, outside of an import."""

    def __init__(self, subject: object, number: int, expected: int) -> None:
        super().__init__(
            "Version is not one more than previous version",
            remedy=f"Subject '{_shown(subject)}' takes version {expected} next, not {number}; leave the version out.",
        )


class IdInUse(InvalidInput):
    """An imported id belongs to another schema of the context."""

    confluent_code: ClassVar[int] = 42205

    def __init__(self, schema_id: int, context: str) -> None:
        super().__init__(
            f"Overwrite new schema with id {schema_id} in context :{context}: is not permitted.",
            remedy="Import into a context where the id is free, or leave the id out.",
        )


class ReferenceExists(InvalidInput):
    """Other schemas refer to what is to be deleted; ``why`` says which."""

    confluent_code: ClassVar[int] = 42206

    def __init__(self, subject: object, version: int | None, why: str) -> None:
        one = "" if version is None else f",version={version}"
        super().__init__(
            f"One or more references exist to the schema {{magic=1,keytype=SCHEMA,subject={_shown(subject)}{one}}}.",
            remedy=why,
        )


class SchemaTooLarge(InvalidInput):
    """The definition is too long."""

    confluent_code: ClassVar[int] = 42209


class RulesNotServed(InvalidInput):
    """Data contracts (metadata, rule sets) with a schema; they would be lost, so they are refused."""

    confluent_code: ClassVar[int] = 42210


class ContextNotEmpty(InvalidInput):
    """The context still has subjects, perhaps soft-deleted ones."""

    confluent_code: ClassVar[int] = 42211


def _shown(value: object) -> str:
    text = str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
