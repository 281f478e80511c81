"""Schemas and parts of lists as Confluent's requests have them."""

from dataclasses import dataclass

from penstock.registry.model import MAX_SCHEMA_ID, VersionHead
from penstock.registry.subjects.errors import BadVersion

__all__ = ["LATEST", "Listing", "SubjectReference", "SubjectSchema", "version_number"]

LATEST = "latest"


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectReference:
    """A reference in a request: ``version`` -1 is the latest, ``subject`` belongs to the referring schema's context."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectSchema:
    """A schema in a request; ``data_format`` is AVRO, JSON or PROTOBUF, ``contract`` its metadata as one text."""

    data_format: str
    text: str
    references: tuple[SubjectReference, ...] = ()
    contract: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The part of a list to return: live entries, with or without soft-deleted ones, or only those; ``limit`` None: all."""

    deleted: bool = False
    deleted_only: bool = False
    offset: int = 0
    limit: int | None = None

    @property
    def window(self) -> slice:
        """Return this part of the whole list."""
        return slice(self.offset, None if self.limit is None else self.offset + self.limit)

    def shows(self, head: VersionHead) -> bool:
        """Return whether the version belongs to the list."""
        return head.deleted is not None if self.deleted_only else self.deleted or head.deleted is None


def version_number(text: str) -> int | None:
    """A version as callers write it, None for ``latest`` and -1; :class:`BadVersion`."""
    if text in {LATEST, "-1"}:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 10) or not 1 <= int(text) <= MAX_SCHEMA_ID:
        raise BadVersion(text)
    return int(text)
