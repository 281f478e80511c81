"""Access to members of JSON documents from outside, each checked for its type."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from penstock.lake.iceberg.errors import BadDocument

__all__ = [
    "Document",
    "documents",
    "integer",
    "known_members",
    "member",
    "optional_integer",
    "optional_text",
    "text",
    "texts",
]

Document: TypeAlias = Mapping[str, Any]
_MISSING = object()
_SHOWN = 100
_MAX_INTEGER = 2**63


def member(document: Any, name: str, where: str) -> Document:
    """Return the object ``name`` of ``document``; raise :class:`BadDocument`, which names ``where`` it is missing."""
    value = _get(document, name, where)
    if not isinstance(value, dict):
        raise _wrong(where, name, "an object", value)
    return value


def documents(document: Any, name: str, where: str, *, default: Sequence[Document] | None = None) -> list[Document]:
    """Return the list of objects ``name``."""
    value = _get(document, name, where) if default is None else document.get(name)
    if value is None and default is not None:
        return list(default)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise _wrong(where, name, "a list of objects", value)
    return value


def text(document: Any, name: str, where: str) -> str:
    """Return the text ``name``."""
    value = _get(document, name, where)
    if not isinstance(value, str):
        raise _wrong(where, name, "a string", value)
    return value


def optional_text(document: Document, name: str, where: str) -> str | None:
    """Return the text ``name``, None if it is missing or null."""
    return None if document.get(name) is None else text(document, name, where)


def integer(document: Any, name: str, where: str) -> int:
    """Return the integer ``name``, of 64 bits."""
    value = _get(document, name, where)
    if isinstance(value, bool) or not isinstance(value, int) or not -_MAX_INTEGER <= value < _MAX_INTEGER:
        raise _wrong(where, name, "an integer", value)
    return value


def optional_integer(document: Document, name: str, where: str) -> int | None:
    """Return the integer ``name``, None if it is missing or null."""
    return None if document.get(name) is None else integer(document, name, where)


def texts(document: Any, name: str, where: str) -> dict[str, str]:
    """Return the object ``name`` with string values: properties. Numbers and booleans become text, as in Java's clients."""
    members: dict[str, str] = {}
    for key, value in member(document, name, where).items():
        if isinstance(value, bool):
            members[key] = "true" if value else "false"
        elif isinstance(value, (str, int, float)):
            members[key] = str(value)
        else:
            raise _wrong(f"{where}.{name}", key, "a string", value)
    return members


def known_members(document: Document, known: frozenset[str], where: str) -> None:
    """Raise :class:`BadDocument` if ``document`` has a member that is not ``known``: it would be dropped in silence."""
    unknown = sorted(set(document) - known)
    if unknown:
        raise BadDocument(f"{where} has the unknown member '{unknown[0][:_SHOWN]}'.")


def _get(document: Any, name: str, where: str) -> Any:
    if not isinstance(document, dict):
        raise BadDocument(f"{where} is not an object.")
    value = document.get(name, _MISSING)
    if value is _MISSING or value is None:
        raise BadDocument(f"{where} has no '{name}'.")
    return value


def _wrong(where: str, name: str, expected: str, value: Any) -> BadDocument:
    return BadDocument(f"'{name}' of {where} is not {expected}: {str(value)[:_SHOWN]!r}.")
