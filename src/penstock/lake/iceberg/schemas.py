"""Iceberg's schemas as JSON: checks, fresh field ids, and the columns that a data catalog shows.

Source: Iceberg table specification, "Schemas and Data Types" and appendix C, "JSON serialization".
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.lake.iceberg.documents import Document, documents, integer, text
from penstock.lake.iceberg.errors import BadDocument, NotSupported
from penstock.types import hive, iceberg
from penstock.types.model import TypeMissing

__all__ = ["Field", "check_schema", "fields_by_id", "fresh_schema", "highest_id", "hive_type", "is_same", "names_by_id"]

_MAX_DEPTH = 40
_MAX_FIELDS = 50_000


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a schema: its full name, its ``type`` as JSON, and whether it is within a list or a map."""

    name: str
    type: Any
    repeated: bool = False


def check_schema(schema: Document, format_version: int) -> None:
    """Raise :class:`BadDocument` if ``schema`` is not valid, :class:`NotSupported` for types that it does not support."""
    if not isinstance(schema, Mapping) or schema.get("type", "struct") != "struct":
        raise BadDocument("A schema's type is 'struct'.")
    seen: set[int] = set()
    for field_id, field in _walk(schema, format_version):
        if field_id in seen:
            raise BadDocument(f"The schema has the field id {field_id} twice, the second time for '{field.name}'.")
        seen.add(field_id)
    identifiers = schema.get("identifier-field-ids") or []
    if not isinstance(identifiers, list) or not all(
        isinstance(identifier, int) and identifier in seen for identifier in identifiers
    ):
        raise BadDocument(f"The schema's identifier-field-ids {identifiers} are not ids of its fields.")
    names = [field.name for field in fields_by_id(schema).values()]
    if len(names) != len(set(names)):
        twice = next(name for name in names if names.count(name) > 1)
        raise BadDocument(f"The schema has two fields with the name '{twice[:100]}'.")


def fields_by_id(schema: Document) -> dict[int, Field]:
    """Return all fields of a valid schema, also nested ones, by id."""
    return dict(_walk(schema, None))


def names_by_id(schema: Document) -> dict[int, str]:
    """Return the full names of all fields by id; parts are joined by dots."""
    return {field_id: field.name for field_id, field in fields_by_id(schema).items()}


def highest_id(schema: Document) -> int:
    """Return the highest field id, 0 without fields."""
    return max(fields_by_id(schema), default=0)


def is_same(one: Document, other: Document) -> bool:
    """Return whether two schemas differ at most in their ids."""
    return bool(_content(one) == _content(other))


def _content(schema: Document) -> Any:
    identifiers = schema.get("identifier-field-ids") or []
    return schema["fields"], sorted(map(str, identifiers)) if isinstance(identifiers, list) else identifiers


def fresh_schema(schema: Document) -> dict[str, Any]:
    """Return ``schema`` as schema 0 of a new table, with field ids from 1: those of a struct before those below it."""
    ids = iter(range(1, _MAX_FIELDS + 2))
    names = names_by_id(schema)
    fields = _fresh_fields(schema["fields"], ids)
    fresh: dict[str, Any] = {"type": "struct", "schema-id": 0, "fields": fields}
    identifiers = schema.get("identifier-field-ids")
    if identifiers:
        by_name = {name: field_id for field_id, name in names_by_id(fresh).items()}
        fresh["identifier-field-ids"] = [by_name[names[identifier]] for identifier in identifiers]
    return fresh


def _fresh_fields(fields: list[Document], ids: Iterator[int]) -> list[dict[str, Any]]:
    numbered = [{**field, "id": next(ids)} for field in fields]
    return [{**field, "type": _fresh_type(field["type"], ids)} for field in numbered]


def _fresh_type(iceberg_type: Any, ids: Iterator[int]) -> Any:
    if isinstance(iceberg_type, str):
        return iceberg_type
    if iceberg_type["type"] == "struct":
        return {**iceberg_type, "fields": _fresh_fields(iceberg_type["fields"], ids)}
    if iceberg_type["type"] == "list":
        element = next(ids)
        return {**iceberg_type, "element-id": element, "element": _fresh_type(iceberg_type["element"], ids)}
    key, value = next(ids), next(ids)
    return {
        **iceberg_type,
        "key-id": key,
        "value-id": value,
        "key": _fresh_type(iceberg_type["key"], ids),
        "value": _fresh_type(iceberg_type["value"], ids),
    }


def hive_type(iceberg_type: Any) -> str:
    """Return Hive's name of a type, as Iceberg's Java GlueCatalog writes it to a table's columns."""
    return hive.render(iceberg.in_glue(iceberg.parse(iceberg_type)))


def _walk(schema: Document, version: int | None) -> Iterator[tuple[int, Field]]:
    """Yield all fields with their ids; check them for format ``version`` unless it is None."""
    for count, field in enumerate(_fields(schema, "", version, depth=0, repeated=False)):
        if count >= _MAX_FIELDS:
            raise BadDocument(f"A schema has at most {_MAX_FIELDS:,} fields.")
        yield field


def _fields(struct: Document, path: str, version: int | None, *, depth: int, repeated: bool) -> Iterator[tuple[int, Field]]:
    for field in documents(struct, "fields", f"the struct {path or 'of the schema'}"):
        name = text(field, "name", f"a field of {path or 'the schema'}")
        full = f"{path}.{name}" if path else name
        if version is not None and not isinstance(field.get("required"), bool):
            raise BadDocument(f"The field '{full[:100]}' does not say whether it is required.")
        if version is not None and version < 3 and field.get("initial-default") is not None:
            raise NotSupported(f"The field '{full[:100]}' has a default, which needs format version 3.")
        yield integer(field, "id", f"the field '{full[:100]}'"), Field(full, field.get("type"), repeated)
        yield from _below(field.get("type"), full, version, depth=depth + 1, repeated=repeated)


def _below(iceberg_type: Any, path: str, version: int | None, *, depth: int, repeated: bool) -> Iterator[tuple[int, Field]]:
    if depth > _MAX_DEPTH:
        raise BadDocument(f"The schema is nested more than {_MAX_DEPTH} levels deep.")
    if isinstance(iceberg_type, str):
        if version is not None:
            _check_primitive(iceberg_type, path, version)
        return
    if not isinstance(iceberg_type, Mapping):
        raise BadDocument(f"The field '{path[:100]}' has no type.")
    name = str(iceberg_type.get("type"))
    if name == "struct":
        yield from _fields(iceberg_type, path, version, depth=depth, repeated=repeated)
    elif name in {"list", "map"}:
        for part in ("element",) if name == "list" else ("key", "value"):
            inner = f"{path}.{part}"
            yield (
                integer(iceberg_type, f"{part}-id", f"the {name} '{path[:100]}'"),
                Field(inner, iceberg_type.get(part), True),
            )
            yield from _below(iceberg_type.get(part), inner, version, depth=depth + 1, repeated=True)
    else:
        raise BadDocument(f"The field '{path[:100]}' has the unknown type {name[:100]!r}.")


def _check_primitive(primitive: str, path: str, version: int) -> None:
    try:
        needed = iceberg.format_version(primitive)
    except TypeMissing as error:
        raise BadDocument(f"The field '{path[:100]}' has the type {primitive}; {error.message}") from None
    if needed is None:
        raise BadDocument(f"The field '{path[:100]}' has the unknown type {primitive[:100]!r}.")
    if version < needed:
        raise NotSupported(f"The field '{path[:100]}' has the type {primitive}, which needs format version {needed}.")
