"""A table's metadata document: new ones, ones that were read, and their form in format versions 1 to 3.

Inside, a document has the members of version 2 in every version; :func:`written` returns the form to write. Members that
this module does not know stay in the document.

Source: Iceberg table specification, "Table Metadata" and appendix C, "JSON serialization".
"""

import time
import uuid
from collections.abc import Mapping
from typing import Any

from penstock.lake.iceberg.documents import (
    Document,
    documents,
    integer,
    member,
    optional_integer,
    optional_text,
    text,
    texts,
)
from penstock.lake.iceberg.errors import BadDocument, NotSupported
from penstock.lake.iceberg.schemas import check_schema, fresh_schema, highest_id
from penstock.lake.iceberg.specs import FIRST_FIELD_ID, UNSORTED, check_order, check_spec, fresh_order, fresh_spec

__all__ = [
    "DEFAULT_VERSION",
    "FORMAT_VERSION",
    "MAIN",
    "RESERVED",
    "blank_table",
    "by_id",
    "check_complete",
    "current_schema",
    "new_table",
    "now_ms",
    "read_table",
    "referenced_only",
    "version_of",
    "written",
]

MAIN = "main"
FORMAT_VERSION = "format-version"
DEFAULT_VERSION = 2
_NEWEST = 3
RESERVED = frozenset(
    {
        FORMAT_VERSION,
        "uuid",
        "snapshot-count",
        "current-snapshot-id",
        "current-snapshot-summary",
        "current-snapshot-timestamp-ms",
        "current-schema",
        "default-partition-spec",
        "default-sort-order",
    }
)
"""Properties that describe the table in other interfaces and are not stored."""
_IDS = {
    "schemas": "schema-id",
    "partition-specs": "spec-id",
    "sort-orders": "order-id",
    "snapshots": "snapshot-id",
    "snapshot-log": "snapshot-id",
}
_LISTS = ("snapshots", "snapshot-log", "metadata-log", "statistics", "partition-statistics")


def now_ms() -> int:
    """Return the time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def version_of(value: Any) -> int:
    """Return a format version from 1 to 3; raise :class:`NotSupported` for others."""
    try:
        version = int(value)
    except (TypeError, ValueError):
        raise BadDocument(f"The format version {str(value)[:50]!r} is not a number.") from None
    if not 1 <= version <= _NEWEST:
        raise NotSupported(f"Format version {version} is not supported.", remedy=f"Use one from 1 to {_NEWEST}.")
    return version


def blank_table(location: str, version: int = DEFAULT_VERSION) -> dict[str, Any]:
    """Return the document that the updates of a create transaction start from; it has no schema yet."""
    table: dict[str, Any] = {
        FORMAT_VERSION: version,
        "table-uuid": str(uuid.uuid4()),
        "location": location,
        "last-sequence-number": 0,
        "last-updated-ms": now_ms(),
        "last-column-id": 0,
        "current-schema-id": -1,
        "schemas": [],
        "default-spec-id": -1,
        "partition-specs": [],
        "last-partition-id": FIRST_FIELD_ID - 1,
        "default-sort-order-id": -1,
        "sort-orders": [],
        "properties": {},
        "current-snapshot-id": None,
        "refs": {},
        **{name: [] for name in _LISTS},
    }
    if version >= 3:
        table["next-row-id"] = 0
    return table


def new_table(
    schema: Document,
    *,
    location: str,
    spec: Document | None = None,
    order: Document | None = None,
    properties: Mapping[str, str],
) -> dict[str, Any]:
    """Return the document of a new table, with fresh field ids. The property ``format-version`` chooses the version."""
    version = version_of(properties.get(FORMAT_VERSION, DEFAULT_VERSION))
    check_schema(schema, version)
    table = blank_table(location, version)
    fresh = fresh_schema(schema)
    partitions = fresh_spec(spec, schema, fresh)
    sorting = fresh_order(order, schema, fresh)
    table |= {
        "last-column-id": highest_id(fresh),
        "current-schema-id": 0,
        "schemas": [fresh],
        "default-spec-id": 0,
        "partition-specs": [partitions],
        "last-partition-id": max((field["field-id"] for field in partitions["fields"]), default=FIRST_FIELD_ID - 1),
        "default-sort-order-id": sorting["order-id"],
        "sort-orders": [sorting],
        "properties": {name: value for name, value in properties.items() if name not in RESERVED},
    }
    check_complete(table)
    return table


def read_table(document: Any) -> dict[str, Any]:
    """Return a document that was read, with version 2's members; raise :class:`BadDocument`, :class:`NotSupported`."""
    where = "the table's metadata"
    version = version_of(integer(document, FORMAT_VERSION, where))
    table = dict(document)
    text(table, "location", where)
    integer(table, "last-column-id", where)
    if version == 1:
        _complete_first(table)
    table["table-uuid"] = optional_text(table, "table-uuid", where)
    table.setdefault("last-sequence-number", 0)
    table.setdefault("properties", {})
    table.setdefault("sort-orders", [dict(UNSORTED)])
    table.setdefault("default-sort-order-id", 0)
    for name in (*_LISTS, "schemas", "partition-specs", "sort-orders"):
        table[name] = documents(table, name, where, default=())
    for name in ("current-schema-id", "default-spec-id", "default-sort-order-id"):
        integer(table, name, where)
    table["properties"] = texts(table, "properties", where)
    current = optional_integer(table, "current-snapshot-id", where)
    table["current-snapshot-id"] = None if current == -1 else current
    refs = table.get("refs") or {}
    if not refs and table["current-snapshot-id"] is not None:
        refs = {MAIN: {"snapshot-id": table["current-snapshot-id"], "type": "branch"}}
    table["refs"] = refs
    if version >= 3:
        table.setdefault("next-row-id", 0)
    _check_entries(table, where)
    if table.get("last-partition-id") is None:
        used = [
            integer(field, "field-id", "a partition field") for spec in table["partition-specs"] for field in spec["fields"]
        ]
        table["last-partition-id"] = max(used, default=FIRST_FIELD_ID - 1)
    integer(table, "last-partition-id", where)
    integer(table, "last-sequence-number", where)
    check_schema(current_schema(table), version)
    return table


def _check_entries(table: Document, where: str) -> None:
    """Raise :class:`BadDocument` unless the entries of the lists have the members by which they are found."""
    for name, kind in _IDS.items():
        for entry in table[name]:
            integer(entry, kind, f"an entry of '{name}'")
    for name in ("partition-specs", "sort-orders", "schemas"):
        for entry in table[name]:
            documents(entry, "fields", f"an entry of '{name}'")
    refs = member(table, "refs", where)
    for name in refs:
        ref = member(refs, name, "refs")
        integer(ref, "snapshot-id", f"the ref '{name[:100]}'")
        text(ref, "type", f"the ref '{name[:100]}'")


def written(table: Document) -> dict[str, Any]:
    """Return the document in the form of its format version."""
    document = dict(table)
    if document[FORMAT_VERSION] == 1:
        # Readers of the first version know only the current schema and spec.
        document["schema"] = current_schema(document)
        document["partition-spec"] = by_id(document["partition-specs"], "spec-id", document["default-spec-id"])["fields"]
        document.pop("last-sequence-number", None)
    else:
        document.pop("schema", None)
        document.pop("partition-spec", None)
    if document["current-snapshot-id"] is None and document[FORMAT_VERSION] < 3:
        document["current-snapshot-id"] = -1
    for name in ("statistics", "partition-statistics"):
        if not document[name]:
            document.pop(name)
    if document["table-uuid"] is None:
        document.pop("table-uuid")
    return document


def check_complete(table: Document) -> None:
    """Raise :class:`BadDocument` unless the document has a schema, a spec and an order that fit."""
    for name, current, kind in (
        ("schemas", "current-schema-id", "schema-id"),
        ("partition-specs", "default-spec-id", "spec-id"),
        ("sort-orders", "default-sort-order-id", "order-id"),
    ):
        if not any(item.get(kind) == table[current] for item in table[name]):
            raise BadDocument(f"The table has no {kind[:-3]} {table[current]}.", remedy=f"Add one, and set {current}.")
    schema = current_schema(table)
    check_spec(by_id(table["partition-specs"], "spec-id", table["default-spec-id"]), schema)
    check_order(by_id(table["sort-orders"], "order-id", table["default-sort-order-id"]), schema)


def current_schema(table: Document) -> Document:
    """Return the current schema."""
    return by_id(table["schemas"], "schema-id", table["current-schema-id"])


def by_id(entries: list[Document], name: str, wanted: int) -> Document:
    """Return the entry whose id, the member ``name``, is ``wanted``; raise :class:`BadDocument` if there is none."""
    for entry in entries:
        if entry.get(name) == wanted:
            return entry
    raise BadDocument(f"The table has no entry with the {name} {wanted}.")


def referenced_only(document: Document) -> dict[str, Any]:
    """Return a written document with only the snapshots that are current, or that a branch or a tag refers to."""
    used = {ref.get("snapshot-id") for ref in document.get("refs", {}).values()} | {document.get("current-snapshot-id")}
    kept = [snapshot for snapshot in document.get("snapshots") or () if snapshot.get("snapshot-id") in used]
    return {**document, "snapshots": kept}


def _complete_first(table: dict[str, Any]) -> None:
    """Add version 2's lists to a document of version 1, which may have only one schema and one spec."""
    where = "the table's metadata"
    if not table.get("schemas"):
        schema = {"schema-id": 0, "type": "struct", **(table.get("schema") or {})}
        table["schemas"] = [schema]
        table["current-schema-id"] = schema["schema-id"]
    if not table.get("partition-specs"):
        fields = documents(table, "partition-spec", where, default=())
        numbered = [{"field-id": FIRST_FIELD_ID + index, **field} for index, field in enumerate(fields)]
        table["partition-specs"] = [{"spec-id": 0, "fields": numbered}]
        table["default-spec-id"] = 0
