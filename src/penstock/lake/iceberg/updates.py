"""Applies the updates of a commit to a table's metadata document.

Source: Iceberg's REST catalog specification, schemas ``TableUpdate``; where it leaves a choice (which id an added schema
gets, what is reused), this follows Iceberg's Java library, which the field's other servers run.
"""

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.lake.iceberg.documents import (
    Document,
    documents,
    integer,
    known_members,
    member,
    optional_integer,
    text,
    texts,
)
from penstock.lake.iceberg.errors import BadDocument, NotSupported
from penstock.lake.iceberg.schemas import check_schema, highest_id, is_same
from penstock.lake.iceberg.snapshots import (
    Changes,
    add_snapshot,
    finish_snapshots,
    remove_ref,
    remove_snapshots,
    set_ref,
)
from penstock.lake.iceberg.specs import check_order, check_spec, same_order, same_spec, with_field_ids
from penstock.lake.iceberg.table_metadata import FORMAT_VERSION, RESERVED, by_id, check_complete, now_ms, version_of

__all__ = ["apply_updates", "trimmed_log"]

_LAST_ADDED = -1
_MAX_UPDATES = 10_000
_PREVIOUS_VERSIONS = "write.metadata.previous-versions-max"
_DEFAULT_PREVIOUS = 100

Apply = Callable[[dict[str, Any], Document, Changes], None]


def apply_updates(
    base: Mapping[str, Any], updates: Sequence[Document], *, metadata_location: str | None
) -> dict[str, Any] | None:
    """Return the document after ``updates``, whose base was read from ``metadata_location``; None if nothing changes.

    Raises :class:`BadDocument`, :class:`NotSupported`, and :class:`~penstock.lake.iceberg.errors.RequirementFailed` for a
    snapshot that was made before another one.
    """
    if len(updates) > _MAX_UPDATES:
        raise BadDocument(f"A commit has at most {_MAX_UPDATES:,} updates.")
    table: dict[str, Any] = {name: list(value) if isinstance(value, list) else value for name, value in base.items()}
    changes = Changes()
    for update in updates:
        action = text(update, "action", "an update")
        known = _UPDATES.get(action)
        if known is None:
            raise NotSupported(f"The update '{action[:100]}' is not supported.")
        apply, members = known
        known_members(update, members, f"The update '{action}'")
        apply(table, update, changes)
    if table == base and metadata_location is not None:
        return None
    finish_snapshots(table, changes)
    if changes.updated is None:
        table["last-updated-ms"] = now_ms()
    if metadata_location is not None:
        entry = {"timestamp-ms": base.get("last-updated-ms", now_ms()), "metadata-file": metadata_location}
        table["metadata-log"] = trimmed_log([*base["metadata-log"], entry], table["properties"])
    check_complete(table)
    return table


def trimmed_log(log: Sequence[Document], properties: Mapping[str, str]) -> list[Document]:
    """Return the newest entries of a metadata log, as many as ``write.metadata.previous-versions-max`` says."""
    try:
        most = max(1, int(properties.get(_PREVIOUS_VERSIONS, _DEFAULT_PREVIOUS)))
    except ValueError:
        raise BadDocument(f"The property {_PREVIOUS_VERSIONS} is not a number.") from None
    return list(log[-most:])


def _assign_uuid(table: dict[str, Any], update: Document, _changes: Changes) -> None:
    new_uuid = text(update, "uuid", "assign-uuid")
    try:
        table["table-uuid"] = str(uuid.UUID(new_uuid))
    except ValueError:
        raise BadDocument(f"'{new_uuid[:50]}' is not a UUID.") from None


def _upgrade(table: dict[str, Any], update: Document, _changes: Changes) -> None:
    wanted, current = version_of(integer(update, FORMAT_VERSION, "upgrade-format-version")), table[FORMAT_VERSION]
    if wanted < current:
        raise BadDocument(f"Cannot downgrade v{current} table to v{wanted}")
    table[FORMAT_VERSION] = wanted
    if wanted >= 3:
        table.setdefault("next-row-id", 0)


def _add_schema(table: dict[str, Any], update: Document, changes: Changes) -> None:
    schema = dict(member(update, "schema", "add-schema"))
    check_schema(schema, table[FORMAT_VERSION])
    last = optional_integer(update, "last-column-id", "add-schema") or 0
    table["last-column-id"] = max(table["last-column-id"], highest_id(schema), last)
    same = next((item for item in table["schemas"] if is_same(item, schema)), None)
    if same is None:
        number = max((item["schema-id"] for item in table["schemas"]), default=-1) + 1
        table["schemas"].append({**schema, "type": "struct", "schema-id": number})
    changes.schema = number if same is None else same["schema-id"]


def _set_schema(table: dict[str, Any], update: Document, changes: Changes) -> None:
    wanted = _last_added(integer(update, "schema-id", "set-current-schema"), changes.schema, "schema")
    by_id(table["schemas"], "schema-id", wanted)
    table["current-schema-id"] = wanted


def _add_spec(table: dict[str, Any], update: Document, changes: Changes) -> None:
    spec = member(update, "spec", "add-spec")
    fields = with_field_ids(spec, table["partition-specs"], table["last-partition-id"])
    if table[FORMAT_VERSION] == 1 and any(field["field-id"] != 1000 + index for index, field in enumerate(fields)):
        raise BadDocument("The ids of partition fields in a table of format version 1 count from 1000 without gaps.")
    check_spec({"fields": fields}, _newest_schema(table, changes))
    same = next((item for item in table["partition-specs"] if same_spec(item, {"fields": fields})), None)
    if same is None:
        number = max((item["spec-id"] for item in table["partition-specs"]), default=-1) + 1
        table["partition-specs"].append({"spec-id": number, "fields": fields})
    used = (field["field-id"] for field in fields)
    table["last-partition-id"] = max(table["last-partition-id"], max(used, default=0))
    changes.spec = number if same is None else same["spec-id"]


def _set_spec(table: dict[str, Any], update: Document, changes: Changes) -> None:
    wanted = _last_added(integer(update, "spec-id", "set-default-spec"), changes.spec, "spec")
    by_id(table["partition-specs"], "spec-id", wanted)
    table["default-spec-id"] = wanted


def _add_order(table: dict[str, Any], update: Document, changes: Changes) -> None:
    order = member(update, "sort-order", "add-sort-order")
    fields = documents(order, "fields", "the sort order")
    check_order({"fields": fields}, _newest_schema(table, changes))
    same = next((item for item in table["sort-orders"] if same_order(item, {"fields": fields})), None)
    if same is None:
        used = max((item["order-id"] for item in table["sort-orders"]), default=0)
        number = used + 1 if fields else 0
        table["sort-orders"].append({"order-id": number, "fields": fields})
    changes.order = number if same is None else same["order-id"]


def _set_order(table: dict[str, Any], update: Document, changes: Changes) -> None:
    wanted = _last_added(integer(update, "sort-order-id", "set-default-sort-order"), changes.order, "sort order")
    by_id(table["sort-orders"], "order-id", wanted)
    table["default-sort-order-id"] = wanted


def _set_location(table: dict[str, Any], update: Document, _changes: Changes) -> None:
    table["location"] = text(update, "location", "set-location").rstrip("/")


def _set_properties(table: dict[str, Any], update: Document, _changes: Changes) -> None:
    wanted = {name: value for name, value in texts(update, "updates", "set-properties").items() if name not in RESERVED}
    table["properties"] = {**table["properties"], **wanted}


def _remove_properties(table: dict[str, Any], update: Document, _changes: Changes) -> None:
    removed = set(_names(update, "removals"))
    table["properties"] = {name: value for name, value in table["properties"].items() if name not in removed}


def _set_statistics(table: dict[str, Any], update: Document, _changes: Changes) -> None:
    _replace_of_snapshot(table, "statistics", member(update, "statistics", "set-statistics"))


def _set_partition_statistics(table: dict[str, Any], update: Document, _changes: Changes) -> None:
    statistics = member(update, "partition-statistics", "set-partition-statistics")
    _replace_of_snapshot(table, "partition-statistics", statistics)


def _replace_of_snapshot(table: dict[str, Any], name: str, file: Document) -> None:
    snapshot = integer(file, "snapshot-id", name)
    text(file, "statistics-path", name)
    table[name] = [item for item in table[name] if item.get("snapshot-id") != snapshot] + [file]


def _remove_statistics(name: str) -> Apply:
    def remove(table: dict[str, Any], update: Document, _changes: Changes) -> None:
        snapshot = integer(update, "snapshot-id", f"remove-{name}")
        table[name] = [item for item in table[name] if item.get("snapshot-id") != snapshot]

    return remove


def _remove_specs(table: dict[str, Any], update: Document, _changes: Changes) -> None:
    removed = _numbers(update, "spec-ids")
    if table["default-spec-id"] in removed:
        raise BadDocument("Cannot remove the default partition spec.")
    table["partition-specs"] = [item for item in table["partition-specs"] if item["spec-id"] not in removed]


def _remove_schemas(table: dict[str, Any], update: Document, _changes: Changes) -> None:
    removed = _numbers(update, "schema-ids")
    if table["current-schema-id"] in removed:
        raise BadDocument("Cannot remove the current schema.")
    table["schemas"] = [schema for schema in table["schemas"] if schema["schema-id"] not in removed]


def _add_key(table: dict[str, Any], update: Document, _changes: Changes) -> None:
    _needs_third(table, "Encryption keys")
    key = member(update, "encryption-key", "add-encryption-key")
    key_id = text(key, "key-id", "the encryption key")
    kept = [item for item in table.get("encryption-keys", ()) if item.get("key-id") != key_id]
    table["encryption-keys"] = [*kept, key]


def _remove_key(table: dict[str, Any], update: Document, _changes: Changes) -> None:
    _needs_third(table, "Encryption keys")
    key_id = text(update, "key-id", "remove-encryption-key")
    table["encryption-keys"] = [item for item in table.get("encryption-keys", ()) if item.get("key-id") != key_id]


def _needs_third(table: Document, what: str) -> None:
    if table[FORMAT_VERSION] < 3:
        raise BadDocument(f"{what} need format version 3.")


def _newest_schema(table: Document, changes: Changes) -> Document:
    """Return the schema that specs and orders of this commit are for: the current one, else the one it added."""
    wanted = table["current-schema-id"]
    if wanted < 0 and changes.schema is not None:
        wanted = changes.schema
    return by_id(table["schemas"], "schema-id", wanted)


def _last_added(wanted: int, added: int | None, what: str) -> int:
    if wanted != _LAST_ADDED:
        return wanted
    if added is None:
        raise BadDocument(f"Cannot set last added {what}: no {what} has been added")
    return added


def _names(update: Document, name: str) -> list[str]:
    value = update.get(name)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise BadDocument(f"'{name}' is not a list of strings.")
    return value


def _numbers(update: Document, name: str) -> set[int]:
    value = update.get(name)
    if not isinstance(value, list) or not all(isinstance(item, int) for item in value):
        raise BadDocument(f"'{name}' is not a list of integers.")
    return set(value)


def _known(apply: Apply, *members: str) -> tuple[Apply, frozenset[str]]:
    return apply, frozenset({"action", *members})


_UPDATES: Mapping[str, tuple[Apply, frozenset[str]]] = {
    "assign-uuid": _known(_assign_uuid, "uuid"),
    "upgrade-format-version": _known(_upgrade, FORMAT_VERSION),
    "add-schema": _known(_add_schema, "schema", "last-column-id"),
    "set-current-schema": _known(_set_schema, "schema-id"),
    "add-spec": _known(_add_spec, "spec"),
    "set-default-spec": _known(_set_spec, "spec-id"),
    "add-sort-order": _known(_add_order, "sort-order"),
    "set-default-sort-order": _known(_set_order, "sort-order-id"),
    "add-snapshot": _known(add_snapshot, "snapshot"),
    "set-snapshot-ref": _known(
        set_ref,
        *("ref-name", "type", "snapshot-id", "max-ref-age-ms", "max-snapshot-age-ms", "min-snapshots-to-keep"),
    ),
    "remove-snapshots": _known(remove_snapshots, "snapshot-ids"),
    "remove-snapshot-ref": _known(remove_ref, "ref-name"),
    "set-location": _known(_set_location, "location"),
    "set-properties": _known(_set_properties, "updates"),
    "remove-properties": _known(_remove_properties, "removals"),
    "set-statistics": _known(_set_statistics, "statistics", "snapshot-id"),
    "remove-statistics": _known(_remove_statistics("statistics"), "snapshot-id"),
    "set-partition-statistics": _known(_set_partition_statistics, "partition-statistics"),
    "remove-partition-statistics": _known(_remove_statistics("partition-statistics"), "snapshot-id"),
    "remove-partition-specs": _known(_remove_specs, "spec-ids"),
    "remove-schemas": _known(_remove_schemas, "schema-ids"),
    "add-encryption-key": _known(_add_key, "encryption-key"),
    "remove-encryption-key": _known(_remove_key, "key-id"),
}
