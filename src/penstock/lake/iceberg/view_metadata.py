"""A view's metadata document: new ones, ones that were read, and the updates of a commit.

Source: Iceberg view specification; Iceberg's REST catalog specification, schemas ``ViewUpdate`` and ``ViewRequirement``.
"""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.lake.iceberg.documents import Document, documents, integer, known_members, member, text, texts
from penstock.lake.iceberg.errors import BadDocument, NotSupported, RequirementFailed
from penstock.lake.iceberg.schemas import check_schema, is_same
from penstock.lake.iceberg.table_metadata import FORMAT_VERSION, by_id, now_ms

__all__ = ["apply_view_updates", "check_view_requirements", "new_view", "read_view"]

_VERSION = 1
_LAST_ADDED = -1
_HISTORY = "version.history.num-entries"
_DEFAULT_HISTORY = 10
_DROPS_DIALECTS = "replace.drop-dialect.allowed"
# A view's columns may have any type of tables.
_TYPES = 3


@dataclass(slots=True)
class _Added:
    """The ids that the updates of one commit gave."""

    schema: int | None = None
    version: int | None = None


_Apply = Callable[[dict[str, Any], Document, _Added], None]


def new_view(
    schema: Document, version: Document, *, location: str, properties: Mapping[str, str], view_uuid: str | None = None
) -> dict[str, Any]:
    """Return the document of a new view."""
    view: dict[str, Any] = {
        "view-uuid": view_uuid or str(uuid.uuid4()),
        FORMAT_VERSION: _VERSION,
        "location": location,
        "schemas": [],
        "current-version-id": _LAST_ADDED,
        "versions": [],
        "version-log": [],
        "properties": dict(properties),
    }
    added = _Added()
    _add_schema(view, {"schema": schema}, added)
    _add_version(view, {"view-version": {**version, "schema-id": added.schema}}, added)
    _set_version(view, {"view-version-id": _LAST_ADDED}, added)
    return view


def read_view(document: Any) -> dict[str, Any]:
    """Return a document that was read; raise :class:`BadDocument`, :class:`NotSupported`."""
    where = "the view's metadata"
    if integer(document, FORMAT_VERSION, where) != _VERSION:
        raise NotSupported(f"Format version {document[FORMAT_VERSION]} of views is not supported.")
    view = dict(document)
    text(view, "view-uuid", where)
    text(view, "location", where)
    for name in ("schemas", "versions", "version-log"):
        view[name] = documents(view, name, where)
    for version in view["versions"]:
        integer(version, "version-id", "a view version")
        integer(version, "schema-id", "a view version")
        documents(version, "representations", "a view version")
    for schema in view["schemas"]:
        integer(schema, "schema-id", "a schema")
        documents(schema, "fields", "a schema")
    current = by_id(view["versions"], "version-id", integer(view, "current-version-id", where))
    check_schema(by_id(view["schemas"], "schema-id", current["schema-id"]), _TYPES)
    for representation in current["representations"]:
        _dialect(representation)
    view["properties"] = texts(view, "properties", where) if view.get("properties") else {}
    return view


def check_view_requirements(requirements: Sequence[Document], view: Document) -> None:
    """Raise :class:`RequirementFailed` unless all hold."""
    for requirement in requirements:
        requirement_type = text(requirement, "type", "a requirement")
        if requirement_type != "assert-view-uuid":
            raise NotSupported(f"The requirement '{requirement_type[:100]}' of views is not supported.")
        expected = text(requirement, "uuid", requirement_type)
        if expected.lower() != view["view-uuid"].lower():
            raise RequirementFailed(
                f"Requirement failed: view UUID does not match: expected {view['view-uuid']} != {expected[:50]}"
            )


def apply_view_updates(base: Mapping[str, Any], updates: Sequence[Document]) -> dict[str, Any] | None:
    """Return the document after ``updates``; None if nothing changes."""
    view = {name: list(value) if isinstance(value, list) else value for name, value in base.items()}
    added = _Added()
    for update in updates:
        action = text(update, "action", "an update")
        known = _UPDATES.get(action)
        if known is None:
            raise NotSupported(f"The update '{action[:100]}' of views is not supported.")
        apply, members = known
        known_members(update, members, f"The update '{action}'")
        apply(view, update, added)
    if view == base:
        return None
    _check_dialects(base, view)
    _forget_versions(view)
    return view


def _assign_uuid(view: dict[str, Any], update: Document, _added: _Added) -> None:
    if text(update, "uuid", "assign-uuid").lower() != view["view-uuid"].lower():
        raise BadDocument("Cannot change the UUID of a view.")


def _upgrade(_view: dict[str, Any], update: Document, _added: _Added) -> None:
    if integer(update, FORMAT_VERSION, "upgrade-format-version") != _VERSION:
        raise NotSupported(f"Format version {update[FORMAT_VERSION]} of views is not supported.")


def _add_schema(view: dict[str, Any], update: Document, added: _Added) -> None:
    schema = dict(member(update, "schema", "add-schema"))
    check_schema(schema, _TYPES)
    same = next((item for item in view["schemas"] if is_same(item, schema)), None)
    if same is None:
        number = max((item["schema-id"] for item in view["schemas"]), default=-1) + 1
        view["schemas"].append({**schema, "type": "struct", "schema-id": number})
    added.schema = number if same is None else same["schema-id"]


def _add_version(view: dict[str, Any], update: Document, added: _Added) -> None:
    version = dict(member(update, "view-version", "add-view-version"))
    schema = integer(version, "schema-id", "the view version")
    if schema == _LAST_ADDED:
        if added.schema is None:
            raise BadDocument("Cannot set last added schema: no schema has been added")
        schema = added.schema
    by_id(view["schemas"], "schema-id", schema)
    representations = documents(version, "representations", "the view version")
    dialects = [_dialect(representation) for representation in representations]
    if not dialects:
        raise BadDocument("Invalid view version: it has no representations.")
    if len(dialects) != len(set(dialects)):
        twice = next(dialect for dialect in dialects if dialects.count(dialect) > 1)
        raise BadDocument(f"Invalid view version: Cannot add multiple queries for dialect {twice[:100]}")
    version |= {"schema-id": schema, "timestamp-ms": version.get("timestamp-ms") or now_ms()}
    version.setdefault("default-namespace", [])
    version.setdefault("summary", {})
    same = next((item for item in view["versions"] if _content(item) == _content(version)), None)
    if same is None:
        number = max((item["version-id"] for item in view["versions"]), default=0) + 1
        view["versions"].append({**version, "version-id": number})
    added.version = number if same is None else same["version-id"]


def _set_version(view: dict[str, Any], update: Document, added: _Added) -> None:
    wanted = integer(update, "view-version-id", "set-current-view-version")
    if wanted == _LAST_ADDED:
        if added.version is None:
            raise BadDocument("Cannot set last added version: no version has been added")
        wanted = added.version
    version = by_id(view["versions"], "version-id", wanted)
    if view["current-version-id"] == wanted:
        return
    moment = version["timestamp-ms"] if wanted == added.version else now_ms()
    view["current-version-id"] = wanted
    view["version-log"].append({"version-id": wanted, "timestamp-ms": moment})


def _set_location(view: dict[str, Any], update: Document, _added: _Added) -> None:
    view["location"] = text(update, "location", "set-location").rstrip("/")


def _set_properties(view: dict[str, Any], update: Document, _added: _Added) -> None:
    view["properties"] = {**view["properties"], **texts(update, "updates", "set-properties")}


def _remove_properties(view: dict[str, Any], update: Document, _added: _Added) -> None:
    removals = update.get("removals")
    if not isinstance(removals, list):
        raise BadDocument("'removals' is not a list of strings.")
    view["properties"] = {name: value for name, value in view["properties"].items() if name not in removals}


def _dialect(representation: Document) -> str:
    if text(representation, "type", "a representation") != "sql":
        raise NotSupported(f"The representation type '{representation['type'][:50]}' is not supported.")
    text(representation, "sql", "a representation")
    return text(representation, "dialect", "a representation").lower()


def _content(version: Document) -> Any:
    return {name: value for name, value in version.items() if name not in {"version-id", "timestamp-ms"}}


def _check_dialects(base: Mapping[str, Any], view: Mapping[str, Any]) -> None:
    """Raise :class:`BadDocument` if the new version lacks a dialect of the one before, unless a property allows it."""
    if str(view["properties"].get(_DROPS_DIALECTS, "false")).lower() == "true":
        return
    before, after = _dialects(base), _dialects(view)
    lost = sorted(before - after)
    if lost:
        raise BadDocument(
            f"Cannot replace view due to loss of view dialects ({_DROPS_DIALECTS}=false): {', '.join(lost)[:200]}"
        )


def _dialects(view: Mapping[str, Any]) -> set[str]:
    current = by_id(view["versions"], "version-id", view["current-version-id"])
    return {_dialect(representation) for representation in current["representations"]}


def _forget_versions(view: dict[str, Any]) -> None:
    """Keep as many of the newest versions as the view's properties say, and the log of those."""
    try:
        most = max(1, int(view["properties"].get(_HISTORY, _DEFAULT_HISTORY)))
    except ValueError:
        raise BadDocument(f"The property {_HISTORY} is not a number.") from None
    current = view["current-version-id"]
    newest = sorted(view["versions"], key=lambda version: (version["version-id"] == current, version["version-id"]))[-most:]
    kept = {item["version-id"] for item in newest}
    if len(kept) == len(view["versions"]):
        return
    view["versions"] = [version for version in view["versions"] if version["version-id"] in kept]
    log: list[Document] = []
    for entry in view["version-log"]:
        # A log with a gap would give wrong answers about the past.
        log = [*log, entry] if entry.get("version-id") in kept else []
    view["version-log"] = log


def _known(apply: _Apply, *members: str) -> tuple[_Apply, frozenset[str]]:
    return apply, frozenset({"action", *members})


_UPDATES: Mapping[str, tuple[_Apply, frozenset[str]]] = {
    "assign-uuid": _known(_assign_uuid, "uuid"),
    "upgrade-format-version": _known(_upgrade, FORMAT_VERSION),
    "add-schema": _known(_add_schema, "schema", "last-column-id"),
    "set-location": _known(_set_location, "location"),
    "set-properties": _known(_set_properties, "updates"),
    "remove-properties": _known(_remove_properties, "removals"),
    "add-view-version": _known(_add_version, "view-version"),
    "set-current-view-version": _known(_set_version, "view-version-id"),
}
