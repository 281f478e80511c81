"""The requirements of a commit. Source: Iceberg's REST catalog specification, schemas ``TableRequirement``."""

from collections.abc import Sequence
from typing import Any

from penstock.lake.iceberg.documents import Document, optional_integer, text
from penstock.lake.iceberg.errors import NotSupported, RequirementFailed

__all__ = ["check_requirements", "is_create"]

_CREATE = "assert-create"
_UUID = "assert-table-uuid"
_REF = "assert-ref-snapshot-id"
# By requirement: its member, the document's member, and what that is called.
_NUMBERS = {
    "assert-last-assigned-field-id": ("last-assigned-field-id", "last-column-id", "last assigned field id"),
    "assert-current-schema-id": ("current-schema-id", "current-schema-id", "current schema"),
    "assert-last-assigned-partition-id": (
        "last-assigned-partition-id",
        "last-partition-id",
        "last assigned partition id",
    ),
    "assert-default-spec-id": ("default-spec-id", "default-spec-id", "default partition spec"),
    "assert-default-sort-order-id": ("default-sort-order-id", "default-sort-order-id", "default sort order"),
}


def is_create(requirements: Sequence[Document]) -> bool:
    """Return whether the commit creates its table."""
    return any(requirement.get("type") == _CREATE for requirement in requirements)


def check_requirements(requirements: Sequence[Document], table: Document | None) -> None:
    """Raise :class:`RequirementFailed` unless all hold for ``table``, None if it does not exist."""
    for requirement in requirements:
        requirement_type = text(requirement, "type", "a requirement")
        if requirement_type == _CREATE:
            if table is not None:
                raise RequirementFailed("Requirement failed: table already exists")
        elif requirement_type not in {_UUID, _REF, *_NUMBERS}:
            raise NotSupported(f"The requirement '{requirement_type[:100]}' is not supported.")
        elif table is None:
            raise RequirementFailed("Requirement failed: the table does not exist")
        elif requirement_type == _UUID:
            _check_uuid(text(requirement, "uuid", requirement_type), table)
        elif requirement_type == _REF:
            _check_ref(requirement, table)
        else:
            name, member, shown = _NUMBERS[requirement_type]
            _check_number(optional_integer(requirement, name, requirement_type), table.get(member), shown)


def _check_uuid(expected: str, table: Document) -> None:
    current = table["table-uuid"]
    if current is None or current.lower() != expected.lower():
        raise RequirementFailed(f"Requirement failed: UUID does not match: expected {current} != {expected[:50]}")


def _check_ref(requirement: Document, table: Document) -> None:
    name = text(requirement, "ref", _REF)
    expected = optional_integer(requirement, "snapshot-id", _REF)
    ref = table["refs"].get(name)
    if ref is None:
        if expected is not None:
            raise RequirementFailed(f"Requirement failed: branch or tag {name[:100]} is missing, expected {expected}")
        return
    if expected is None:
        raise RequirementFailed(f"Requirement failed: {ref['type']} {name[:100]} was created concurrently")
    if ref["snapshot-id"] != expected:
        raise RequirementFailed(
            f"Requirement failed: {ref['type']} {name[:100]} has changed: expected id {expected} != {ref['snapshot-id']}"
        )


def _check_number(expected: int | None, current: Any, shown: str) -> None:
    if expected != current:
        raise RequirementFailed(f"Requirement failed: {shown} changed: expected id {expected} != {current}")
