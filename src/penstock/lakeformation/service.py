"""The service behind Lake Formation's operations: settings, grants, data cell filters, locations; tags are in :mod:`.tags`.

Every change that restricts takes effect with the next request of this process, and within a second in others.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from penstock.lakeformation.decisions import EVERYONE, Grant, Snapshot
from penstock.lakeformation.errors import Conflict, InvalidRequest, NoSuchEntity, Taken
from penstock.lakeformation.resources import canonical, check_permissions, key_of, kind_of
from penstock.lakeformation.store import Document, LakeFormationStore
from penstock.lakeformation.tags import LfTags

__all__ = ["ALL_PRINCIPALS", "Defaults", "LakeFormation", "Settings", "check_defaults"]

Defaults = Sequence[Mapping[str, Any]]
"""Permissions on new databases or tables, in the shape PrincipalPermissions."""

_SETTINGS, _GRANT, _RESTRICTED = "settings", "grant", "restricted"
_FILTER, _LOCATION, _EXPRESSION = "filter", "location", "expression"
_ONLY = "only"  # the key of the settings
_FRESH = 1.0  # seconds that a snapshot is used
_MAX_GRANTS = 50_000

_ALL: Sequence[Mapping[str, Any]] = ({"Principal": {"DataLakePrincipalIdentifier": EVERYONE}, "Permissions": ["ALL"]},)

ALL_PRINCIPALS = "IAMPrincipals"
"""``ACCOUNT:IAMPrincipals`` stands for every user and role of an account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of an account's data lake, in Lake Formation's shapes."""

    admins: Sequence[str] = ()
    read_only_admins: Sequence[str] = ()
    database_default: Defaults = _ALL
    table_default: Defaults = _ALL
    others: Mapping[str, Any] | None = None
    """Members that are kept and returned, and change nothing here."""

    @property
    def restricts_databases(self) -> bool:
        """Whether IAM_ALLOWED_PRINCIPALS has no permission on new databases."""
        return not _to_everyone(self.database_default)


class LakeFormation:
    """One account's permissions on its catalog.

    ``table_defaults`` returns what a database says of the permissions on new tables in it (Glue's
    CreateTableDefaultPermissions); None where the settings decide.
    """

    def __init__(
        self,
        store: LakeFormationStore,
        *,
        account: str,
        table_defaults: Callable[[str], Defaults | None] = lambda _database: None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.account = account
        self._table_defaults = table_defaults
        self.tags = LfTags(store)
        self._store = store
        self._now = now
        self._clock = clock
        self._lock = threading.Lock()
        self._known: tuple[Snapshot, float] | None = None

    # settings
    def settings(self) -> Settings:
        """Return the settings."""
        stored = self._store.get(_SETTINGS, _ONLY)
        return Settings(**stored) if stored is not None else Settings()

    def put_settings(self, settings: Settings) -> None:
        """Replace the settings. New databases and tables get the new default permissions; others stay as they are.

        Raises :class:`InvalidRequest` for permissions that databases or tables do not have.
        """
        check_defaults(settings.database_default, "Database")
        check_defaults(settings.table_default, "Table")
        document = {name: getattr(settings, name) for name in Settings.__slots__}
        self._change(_SETTINGS, _ONLY, lambda _: document)
        if settings.restricts_databases:
            self._change(_RESTRICTED, "catalog", lambda _: {})

    # grants
    def grant(
        self, principal: str, resource: Mapping[str, Any], permissions: Sequence[str], grantable: Sequence[str], *, by: str
    ) -> None:
        """Add permissions. Raises :class:`InvalidRequest` for those that the resource's kind does not have."""
        target = self._target(resource, [*permissions, *grantable])
        if principal == EVERYONE:
            self._open(target)
            return
        if len(self._store.list(_GRANT)) >= _MAX_GRANTS:
            raise InvalidRequest(f"An account has at most {_MAX_GRANTS} grants.")

        def added(stored: Document | None) -> Document:
            stored_grant = (
                _grant(stored)
                if stored is not None
                else Grant(principal=principal, resource=target, permissions=frozenset())
            )
            return _document(
                replace(
                    stored_grant,
                    permissions=stored_grant.permissions | frozenset(permissions) | frozenset(grantable),
                    grantable=stored_grant.grantable | frozenset(grantable),
                    updated=self._now().isoformat(),
                    by=by,
                )
            )

        self._change(_GRANT, f"{principal} {key_of(target)}", added)

    def revoke(
        self, principal: str, resource: Mapping[str, Any], permissions: Sequence[str], grantable: Sequence[str]
    ) -> None:
        """Take permissions away. Raises :class:`InvalidRequest` for a grant that does not exist."""
        target = self._target(resource, [*permissions, *grantable])
        if principal == EVERYONE:
            self._close(target)
            return

        def less(stored: Document | None) -> Document | None:
            stored_grant = _grant(stored) if stored is not None else None
            if stored_grant is None or not {*permissions, *grantable} <= stored_grant.permissions | {"ALL"}:
                raise InvalidRequest(
                    f"{principal} has no such permission on this resource.",
                    remedy="ListPermissions shows what was granted, and on which resource.",
                )
            remaining = stored_grant.permissions - frozenset(permissions)
            still_grantable = (stored_grant.grantable & remaining) - frozenset(grantable)
            changed = replace(
                stored_grant, permissions=remaining, grantable=still_grantable, updated=self._now().isoformat()
            )
            return _document(changed) if remaining else None

        self._change(_GRANT, f"{principal} {key_of(target)}", less)

    def grants(self) -> Sequence[Grant]:
        """Return all grants, including those of IAM_ALLOWED_PRINCIPALS that were not revoked."""
        return [_grant(document) for _, document in self._store.list(_GRANT)]

    def restricted(self) -> frozenset[str]:
        """Return the keys of what is restricted; see :class:`~penstock.lakeformation.decisions.Snapshot`."""
        return frozenset(key for key, _ in self._store.list(_RESTRICTED))

    # databases and tables that come and go
    def created(self, database: str, table: str | None, *, by: str) -> None:
        """Give a new database or table its default permissions, and its creator all where they leave everybody out.

        A table's are those of its database, where it has some, else the settings'. ``by`` is empty for the account's root,
        which needs no permission, and where :meth:`creator_is` follows.
        """
        defaults = self._defaults(database, table)
        resource = _resource(database, table)
        for default in defaults:
            principal, permissions = _principal_of(default), list(default.get("Permissions") or ())
            if principal not in {None, EVERYONE} and permissions:
                self.grant(str(principal), resource, permissions, (), by=by)
        if _to_everyone(defaults):
            return
        self._change(_RESTRICTED, LfTags.place(database, table), lambda _: {})
        if by:
            self.creator_is(database, table, by)

    def _defaults(self, database: str, table: str | None) -> Defaults:
        own = self._table_defaults(database) if table is not None else None
        if own is not None:
            return own
        settings = self.settings()
        return settings.database_default if table is None else settings.table_default

    def creator_is(self, database: str, table: str | None, by: str) -> None:
        """Give the creator of a database or table all permissions on it, if it is restricted."""
        if LfTags.place(database, table) not in self.restricted():
            return
        self.grant(by, _resource(database, table), ["ALL"], ["ALL"], by=by)

    def deleted(self, database: str, table: str | None) -> None:
        """Forget a database or table: its grants, filters, tags and restriction. A new one of its name starts anew."""
        place = LfTags.place(database, table)
        for kind in (_RESTRICTED, "assigned"):
            for key, _ in self._store.list(kind):
                if key == place or key.startswith(f"{place}."):
                    self._change(kind, key, lambda _: None)
        for key, document in self._store.list(_GRANT):
            if _within(document["resource"], database.lower(), None if table is None else table.lower()):
                self._change(_GRANT, key, lambda _: None)
        for key, document in self._store.list(_FILTER):
            if document["DatabaseName"] == database.lower() and table in {None, document["TableName"]}:
                self._change(_FILTER, key, lambda _: None)

    def restrict_like(self, database: str, table: str, to_database: str, to_table: str) -> bool:
        """Restrict a name that a restricted table is about to get. Return whether that changed anything.

        Without it, everybody might read the table until :meth:`renamed` has moved its grants.
        """
        restricted = self.restricted()
        target = LfTags.place(to_database, to_table)
        if LfTags.place(database, table) not in restricted or target in restricted:
            return False
        self._change(_RESTRICTED, target, lambda _: {})
        return True

    def renamed(self, database: str, table: str, to_database: str, to_table: str) -> None:
        """Keep what was granted on a table under its new name: grants, filters, tags and restriction."""
        old, new = (database.lower(), table.lower()), (to_database.lower(), to_table.lower())
        for key, document in self._store.list(_FILTER):
            if (document["DatabaseName"], document["TableName"]) == old:
                moved = {**document, "DatabaseName": new[0], "TableName": new[1]}
                self._move(_FILTER, key, "/".join((*new, document["Name"])), moved)
        for key, document in self._store.list(_GRANT):
            resource = _moved(document["resource"], old, new)
            if resource is not None:
                moved = {**document, "resource": resource}
                self._move(_GRANT, key, f"{document['principal']} {key_of(resource)}", moved)
        place, target = LfTags.place(*old), LfTags.place(*new)
        for kind in ("assigned", _RESTRICTED):
            for key, document in self._store.list(kind):
                if key == place or key.startswith(f"{place}."):
                    self._move(kind, key, target + key.removeprefix(place), document)

    def _move(self, kind: str, key: str, to: str, document: Document) -> None:
        # First the new one: a crash between the two leaves a permission twice, and none is lost.
        self._change(kind, to, lambda _: document)
        self._change(kind, key, lambda _: None)

    # data cell filters
    def put_filter(self, document: Mapping[str, Any], *, new: bool, version: str | None = None) -> None:
        """Create a filter, or replace it. Raises :class:`Taken`, :class:`NoSuchEntity` and :class:`Conflict`."""
        name = (document["DatabaseName"], document["TableName"], document["Name"])

        def changed(stored: Document | None) -> Document:
            if new and stored is not None:
                raise Taken(f"Data cells filter {name[2]} exists already.")
            if not new and stored is None:
                raise NoSuchEntity(f"Data cells filter {name[2]} does not exist.")
            if stored is not None and version is not None and stored["VersionId"] != version:
                raise Conflict(f"Data cells filter {name[2]} is at version {stored['VersionId']}.", remedy="Read it again.")
            return {**document, "VersionId": str(int(stored["VersionId"]) + 1 if stored is not None else 1)}

        self._change(_FILTER, "/".join(name), changed)

    def get_filter(self, database: str, table: str, name: str) -> Document:
        """Return one filter. Raises :class:`NoSuchEntity`."""
        stored = self._store.get(_FILTER, f"{database.lower()}/{table.lower()}/{name}")
        if stored is None:
            raise NoSuchEntity(f"Data cells filter {name} of {database}.{table} does not exist.")
        return stored

    def delete_filter(self, database: str, table: str, name: str) -> None:
        """Delete a filter and its grants. Raises :class:`NoSuchEntity`."""
        self.get_filter(database, table, name)
        self._change(_FILTER, f"{database.lower()}/{table.lower()}/{name}", lambda _: None)
        resource = {"DataCellsFilter": {"DatabaseName": database.lower(), "TableName": table.lower(), "Name": name}}
        for key, document in self._store.list(_GRANT):
            if document["resource"] == resource:
                self._change(_GRANT, key, lambda _: None)

    def filters(self) -> Sequence[Document]:
        """Return all filters."""
        return [document for _, document in self._store.list(_FILTER)]

    # locations and named expressions
    def put_named(self, kind: str, name: str, document: Mapping[str, Any], *, new: bool) -> None:
        """Create or replace a location (``location``) or an expression of tags (``expression``) by its name."""

        def changed(stored: Document | None) -> Document:
            if new and stored is not None:
                raise Taken(f"{name} exists already.")
            if not new and stored is None:
                raise NoSuchEntity(f"{name} does not exist.")
            return {**document, "LastModified": self._now().timestamp()}

        self._change(kind, name, changed)

    def get_named(self, kind: str, name: str) -> Document:
        """Return a location or an expression. Raises :class:`NoSuchEntity`."""
        stored = self._store.get(kind, name)
        if stored is None:
            raise NoSuchEntity(f"{name} does not exist.")
        return stored

    def delete_named(self, kind: str, name: str) -> None:
        """Delete a location or an expression. Raises :class:`NoSuchEntity`."""
        self.get_named(kind, name)
        self._change(kind, name, lambda _: None)

    def named(self, kind: str) -> Sequence[tuple[str, Document]]:
        """Return all locations or expressions, by name."""
        return self._store.list(kind)

    # decisions
    def snapshot(self) -> Snapshot:
        """Return what decisions need; up to a second old."""
        with self._lock:
            if self._known is not None and self._clock() - self._known[1] < _FRESH:
                return self._known[0]
            snapshot = self._read()
            self._known = (snapshot, self._clock())
            return snapshot

    def _read(self) -> Snapshot:
        restricted = self.restricted()
        settings = self.settings()
        admins, readers = frozenset(settings.admins), frozenset(settings.read_only_admins)
        locations = frozenset(
            arn for arn, document in self.named(_LOCATION) if not document.get("HybridAccessEnabled", False)
        )
        if not restricted and not locations:
            return Snapshot(admins=admins, readers=readers)
        grants: dict[str, list[Grant]] = {}
        for grant in self.grants():
            grants.setdefault(grant.principal, []).append(grant)
        return Snapshot(
            admins=admins,
            readers=readers,
            restricted=restricted,
            grants=grants,
            filters={
                (filter_["DatabaseName"], filter_["TableName"], filter_["Name"]): filter_ for filter_ in self.filters()
            },
            expressions={name: document["Expression"] for name, document in self.named(_EXPRESSION)},
            tags=self.tags.assignments(),
            locations=locations,
        )

    def forget_snapshot(self) -> None:
        """Let the next decision read what is stored now."""
        with self._lock:
            self._known = None

    def _target(self, resource: Mapping[str, Any], permissions: Sequence[str]) -> dict[str, Any]:
        target = canonical(resource, self.account)
        check_permissions(permissions, kind_of(target))
        return target

    def _open(self, target: Mapping[str, Any]) -> None:
        for key in self._places(target):
            self._change(_RESTRICTED, key, lambda _: None)

    def _close(self, target: Mapping[str, Any]) -> None:
        for key in self._places(target):
            self._change(_RESTRICTED, key, lambda _: {})

    @staticmethod
    def _places(target: Mapping[str, Any]) -> Sequence[str]:
        resource_type, shape = kind_of(target), next(iter(target.values()))
        if resource_type == "Catalog":
            return ["catalog"]
        if resource_type == "Database":
            return [shape["Name"]]
        if resource_type in {"Table", "TableWithColumns"} and "Name" in shape:
            return [f"{shape['DatabaseName']}.{shape['Name']}"]
        raise InvalidRequest(f"{EVERYONE} has permissions on the catalog, databases and named tables alone.")

    def _change(self, kind: str, key: str, update: Callable[[Document | None], Document | None]) -> None:
        self._store.change(kind, key, update)
        self.forget_snapshot()


def check_defaults(defaults: Defaults, resource_type: str) -> None:
    """Raise :class:`InvalidRequest` for permissions that a new ``Database`` or ``Table`` cannot have."""
    for default in defaults:
        check_permissions(default.get("Permissions") or (), resource_type)


def _principal_of(request: Mapping[str, Any]) -> str | None:
    principal: str | None = (request.get("Principal") or {}).get("DataLakePrincipalIdentifier")
    return principal


def _to_everyone(defaults: Defaults) -> bool:
    return any(_principal_of(default) == EVERYONE and "ALL" in (default.get("Permissions") or ()) for default in defaults)


def _resource(database: str, table: str | None) -> dict[str, Any]:
    if table is None:
        return {"Database": {"Name": database}}
    return {"Table": {"DatabaseName": database, "Name": table}}


def _within(resource: Mapping[str, Any], database: str, table: str | None) -> bool:
    shape = next(iter(resource.values()))
    if "Database" in resource:
        return table is None and shape["Name"] == database
    if shape.get("DatabaseName") != database:
        return False
    return table is None or table in {shape.get("Name"), shape.get("TableName")}


def _moved(resource: Mapping[str, Any], old: tuple[str, str], new: tuple[str, str]) -> dict[str, Any] | None:
    """Return the resource of a grant on the table ``old`` for the table ``new``; None if it is about something else."""
    resource_type, shape = kind_of(resource), next(iter(resource.values()))
    name_member = {"Table": "Name", "TableWithColumns": "Name", "DataCellsFilter": "TableName"}.get(resource_type)
    if name_member is None or (shape["DatabaseName"], shape.get(name_member)) != old:
        return None
    return {resource_type: {**shape, "DatabaseName": new[0], name_member: new[1]}}


def _grant(document: Document) -> Grant:
    return Grant(
        **{**document, "permissions": frozenset(document["permissions"]), "grantable": frozenset(document["grantable"])}
    )


def _document(grant: Grant) -> Document:
    return {
        "principal": grant.principal,
        "resource": grant.resource,
        "permissions": sorted(grant.permissions),
        "grantable": sorted(grant.grantable),
        "updated": grant.updated,
        "by": grant.by,
    }
