"""Partition specs and sort orders as JSON: checks, fresh ids, comparison.

Source: Iceberg table specification, "Partitioning", "Sorting" and appendix C, "JSON serialization".
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from penstock.lake.iceberg.documents import Document, documents, optional_integer, text
from penstock.lake.iceberg.errors import BadDocument
from penstock.lake.iceberg.schemas import Field, fields_by_id, names_by_id

__all__ = [
    "FIRST_FIELD_ID",
    "UNSORTED",
    "check_order",
    "check_spec",
    "fresh_order",
    "fresh_spec",
    "same_order",
    "same_spec",
    "with_field_ids",
]

FIRST_FIELD_ID = 1000
"""The id of a table's first partition field."""
UNSORTED: Document = {"order-id": 0, "fields": []}
_TRANSFORM = re.compile(r"identity|year|month|day|hour|void|(bucket|truncate)\[[1-9]\d{0,8}\]", re.ASCII)
_DIRECTIONS = {"asc", "desc"}
_NULL_ORDERS = {"nulls-first", "nulls-last"}
_TIMES = {"timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns"}
_TRUNCATED = {"int", "long", "string", "binary"}
_UNHASHED = {"boolean", "float", "double", "variant", "unknown"}


def check_spec(spec: Document, schema: Document) -> None:
    """Raise :class:`BadDocument` unless the spec's fields can be derived from ``schema``."""
    known, columns = fields_by_id(schema), names_by_id(schema)
    names: set[str] = set()
    used: set[tuple[int, str]] = set()
    for field in documents(spec, "fields", "the partition spec"):
        name = text(field, "name", "a partition field")
        transform = _transform(field)
        if not name or name in names:
            raise BadDocument(f"The partition spec has no or two fields with the name '{name[:100]}'.")
        names.add(name)
        source = _source(field)
        if transform == "void":
            continue
        _check_source(known.get(source), transform, f"partition field '{name[:100]}'", source)
        if (source, transform) in used:
            raise BadDocument(f"The partition spec has two fields for {transform} of field {source}.")
        used.add((source, transform))
        same_name = next((field_id for field_id, column in columns.items() if column == name), None)
        if same_name is not None and (transform != "identity" or same_name != source):
            raise BadDocument(f"The partition field '{name[:100]}' has the name of a column that it is not derived from.")


def check_order(order: Document, schema: Document) -> None:
    """Raise :class:`BadDocument` unless the sort order's fields can be derived from ``schema``."""
    known = fields_by_id(schema)
    for field in documents(order, "fields", "the sort order"):
        transform, source = _transform(field), _source(field)
        _check_source(known.get(source), transform, "sort field", source)
        direction, nulls = (text(field, name, "a sort field") for name in ("direction", "null-order"))
        if direction not in _DIRECTIONS or nulls not in _NULL_ORDERS:
            raise BadDocument("A sort field needs a direction (asc, desc) and a null-order (nulls-first, nulls-last).")


def fresh_spec(spec: Document | None, schema: Document, fresh: Document) -> dict[str, Any]:
    """Return spec 0 of a new table: sources are those of ``fresh`` with the names that they have in ``schema``."""
    fields = [] if spec is None else documents(spec, "fields", "the partition spec")
    moved = _moved(fields, schema, fresh)
    numbered = [{**field, "field-id": FIRST_FIELD_ID + index} for index, field in enumerate(moved)]
    return {"spec-id": 0, "fields": numbered}


def fresh_order(order: Document | None, schema: Document, fresh: Document) -> dict[str, Any]:
    """Return the sort order of a new table: 0 if it is unsorted, else 1."""
    fields = [] if order is None else documents(order, "fields", "the sort order")
    return {"order-id": 1 if fields else 0, "fields": _moved(fields, schema, fresh)}


def with_field_ids(spec: Document, known: Iterable[Document], last: int) -> list[dict[str, Any]]:
    """Return the spec's fields with ids: those given, those of the same field in ``known`` specs, or new ones."""
    ids = {_key(field): field["field-id"] for other in known for field in other["fields"] if "field-id" in field}
    numbered: list[dict[str, Any]] = []
    for field in documents(spec, "fields", "the partition spec"):
        field_id = optional_integer(field, "field-id", "a partition field")
        if field_id is None:
            field_id = ids.get(_key(field))
        if field_id is None:
            last += 1
            field_id = last
        numbered.append({**field, "field-id": field_id})
    return numbered


def same_spec(one: Document, other: Document) -> bool:
    """Return whether two specs give the same partitions: same sources, transforms and names in the same order."""
    return [(_key(field), field["name"]) for field in one["fields"]] == [
        (_key(field), field["name"]) for field in other["fields"]
    ]


def same_order(one: Document, other: Document) -> bool:
    """Return whether two orders have the same fields."""
    return _sorting(one["fields"]) == _sorting(other["fields"])


def _sorting(fields: Sequence[Document]) -> list[Any]:
    return [(_key(field), field.get("direction"), field.get("null-order")) for field in fields]


def _key(field: Document) -> tuple[int, str]:
    return _source(field), _transform(field)


def _source(field: Document) -> int:
    source = optional_integer(field, "source-id", "a field of a partition spec or sort order")
    if source is None:
        listed = field.get("source-ids")
        if isinstance(listed, list) and len(listed) == 1 and isinstance(listed[0], int):
            return listed[0]
        raise BadDocument("A field of a partition spec or sort order needs one source-id.")
    return source


def _transform(field: Document) -> str:
    transform = text(field, "transform", "a field of a partition spec or sort order")
    if _TRANSFORM.fullmatch(transform) is None:
        raise BadDocument(f"The transform {transform[:100]!r} is unknown.")
    return transform


def _check_source(source: Field | None, transform: str, what: str, source_id: int) -> None:
    if source is None:
        raise BadDocument(f"Cannot find source column for {what}: the schema has no field {source_id}.")
    source_type = source.type
    if not isinstance(source_type, str) or source.repeated:
        raise BadDocument(f"Cannot derive a {what} from '{source.name[:100]}', which is not a primitive column.")
    name = transform.partition("[")[0]
    allowed = {
        "truncate": source_type in _TRUNCATED or source_type.startswith("decimal"),
        "bucket": source_type not in _UNHASHED and not source_type.startswith("geo"),
        "hour": source_type in _TIMES,
        **dict.fromkeys(("year", "month", "day"), source_type in _TIMES or source_type == "date"),
        "identity": source_type not in {"variant"} and not source_type.startswith("geo"),
        "void": True,
    }
    if not allowed[name]:
        raise BadDocument(
            f"Invalid source type {source_type} of '{source.name[:100]}' for transform {transform} of a {what}."
        )


def _moved(fields: Sequence[Document], schema: Document, fresh: Document) -> list[dict[str, Any]]:
    names = names_by_id(schema)
    ids: Mapping[str, int] = {name: field_id for field_id, name in names_by_id(fresh).items()}
    moved = []
    for field in fields:
        source = _source(field)
        if source not in names:
            raise BadDocument(f"A partition or sort field has the source {source}, which the schema lacks.")
        moved.append({**field, "source-id": ids[names[source]]})
    return moved
