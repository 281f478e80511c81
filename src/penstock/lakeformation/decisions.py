"""What grants allow: a snapshot of all of them, and the decisions that it makes.

A resource from which the group IAM_ALLOWED_PRINCIPALS has all permissions is not restricted: IAM's policies alone decide.
New databases and tables are such, as long as the settings' default permissions say so, and stay such until the group's
permission is revoked (developer guide, "Changing the default settings for your data lake").
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.lakeformation.resources import kind_of
from penstock.lakeformation.tags import Assignments, matches

__all__ = ["EVERYONE", "Grant", "Rows", "Snapshot", "TableAccess"]

EVERYONE = "IAM_ALLOWED_PRINCIPALS"

_IMPLIES = {"SELECT": "DESCRIBE", "INSERT": "DESCRIBE", "ALTER": "DESCRIBE", "DROP": "DESCRIBE", "DELETE": "DESCRIBE"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What one principal has on one resource."""

    principal: str
    resource: Mapping[str, Any]
    permissions: frozenset[str]
    grantable: frozenset[str] = frozenset()
    updated: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Rows that may be read: those that meet ``condition`` (SQL; None for all), with ``columns`` (None for all)."""

    condition: str | None
    columns: frozenset[str] | None


@dataclass(frozen=True, slots=True)
class TableAccess:
    """What a caller may read of a restricted table; a query needs one of ``rows`` that has all columns it uses."""

    rows: Sequence[Rows]

    @property
    def columns(self) -> frozenset[str] | None:
        """The columns that may be read in some rows; None for all."""
        columns: set[str] = set()
        for row in self.rows:
            if row.columns is None:
                return None
            columns |= row.columns
        return frozenset(columns)

    def condition(self, used: Iterable[str]) -> str | None:
        """Return the condition for a query that uses the columns ``used``: None for all rows, ``false`` for no row."""
        columns = frozenset(used)
        fitting = [row for row in self.rows if row.columns is None or columns <= row.columns]
        if any(rows.condition is None for rows in fitting):
            return None
        return " OR ".join(f"({rows.condition})" for rows in fitting) or "false"


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All that decisions need, as of one moment."""

    admins: frozenset[str] = frozenset()
    readers: frozenset[str] = frozenset()
    """Read-only administrators."""
    restricted: frozenset[str] = frozenset()
    """Keys of what IAM_ALLOWED_PRINCIPALS has no permission on: ``catalog``, ``DATABASE`` and ``DATABASE.TABLE``."""
    grants: Mapping[str, Sequence[Grant]] = field(default_factory=dict)
    """By principal."""
    filters: Mapping[tuple[str, str, str], Mapping[str, Any]] = field(default_factory=dict)
    """Data cell filters by database, table and name."""
    expressions: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    tags: Assignments = field(default_factory=lambda: Assignments({}))
    locations: frozenset[str] = frozenset()
    """ARNs of the registered locations where DATA_LOCATION_ACCESS is asked for: all but those of hybrid access."""

    @property
    def is_open(self) -> bool:
        """Whether nothing is restricted: neither databases and tables nor locations."""
        return not self.restricted and not self.locations

    def may_use_location(self, principals: Sequence[str], location: str) -> bool:
        """Return whether a table or database may be made at ``location``, an ARN of S3.

        Administrators have data location permissions everywhere (developer guide, "Implicit Lake Formation permissions").
        """
        if not any(_is_below(location, name) for name in self.locations) or self._is_admin(principals):
            return True
        return any(
            kind_of(grant.resource) == "DataLocation" and _is_below(location, grant.resource["DataLocation"]["ResourceArn"])
            for grant in self._of(principals)
        )

    def registered(self, location: str) -> str | None:
        """Return the innermost registered location that ``location`` (an ARN of S3) is at or below, if there is any."""
        above = [name for name in self.locations if _is_below(location, name)]
        return max(above, key=len, default=None)

    def overlaps_locations(self, folder: str) -> bool:
        """Return whether ``folder`` (an ARN with a slash at its end) is within a registered location, or has one in it."""
        return self.registered(folder) is not None or self.has_locations_within(folder)

    def has_locations_within(self, folder: str) -> bool:
        """Return whether a registered location is below ``folder`` (an ARN with a slash at its end)."""
        return any(location.startswith(folder) for location in self.locations)

    def on_catalog(self, principals: Sequence[str]) -> frozenset[str] | None:
        """Return the permissions on the catalog; None if it is not restricted."""
        if "catalog" not in self.restricted:
            return None
        allowed = {"CREATE_DATABASE", "CREATE_LF_TAG", "DESCRIBE"} if self._is_admin(principals) else set()
        for grant in self._of(principals):
            if kind_of(grant.resource) == "Catalog":
                allowed |= grant.permissions
        return _with_implied(allowed, {"CREATE_DATABASE", "CREATE_LF_TAG", "DESCRIBE"})

    def on_database(self, principals: Sequence[str], database: str) -> frozenset[str] | None:
        """Return the permissions on a database; None if it is not restricted."""
        if database not in self.restricted:
            return None
        allowed = {"DESCRIBE"} if self._sees_all(principals) else set()
        for grant in self._of(principals):
            resource_type, shape = kind_of(grant.resource), next(iter(grant.resource.values()))
            if resource_type == "Database" and shape["Name"] == database:
                allowed |= grant.permissions
            elif resource_type == "LFTagPolicy" and shape["ResourceType"] == "DATABASE":
                if matches(self._expression(shape), self.tags.database(database)):
                    allowed |= grant.permissions
            elif resource_type == "LFTagPolicy" and self._matches_within(shape, database):
                allowed.add("DESCRIBE")
            elif resource_type in {"Table", "TableWithColumns", "DataCellsFilter"} and shape["DatabaseName"] == database:
                allowed.add("DESCRIBE")  # a table's grant lets its database be seen
        return _with_implied(allowed, {"CREATE_TABLE", "ALTER", "DROP", "DESCRIBE"})

    def on_table(self, principals: Sequence[str], database: str, table: str) -> frozenset[str] | None:
        """Return the permissions on a table, SELECT also where it is on some columns or rows; None if not restricted."""
        if f"{database}.{table}" not in self.restricted:
            return None
        allowed = {"DESCRIBE"} if self._sees_all(principals) else set()
        for grant in self._of(principals):
            if self._is_about(grant, database, table):
                allowed |= grant.permissions
        return _with_implied(allowed, {"SELECT", "ALTER", "DROP", "DELETE", "INSERT", "DESCRIBE"})

    def reading(self, principals: Sequence[str], database: str, table: str, columns: Sequence[str]) -> TableAccess | None:
        """Return what may be read of a table with these columns; None if all of it may be."""
        if f"{database}.{table}" not in self.restricted:
            return None
        rows: list[Rows] = []
        for grant in self._of(principals):
            if {"SELECT", "ALL"} & grant.permissions and self._is_about(grant, database, table):
                rows += self._rows(grant, database, table, columns)
        if any(row == Rows(condition=None, columns=None) for row in rows):
            return None
        # Grants of columns add up: a query may use the columns of any of them.
        joined = frozenset().union(*(row.columns or () for row in rows if row.condition is None))
        plain = [Rows(condition=None, columns=joined)] if joined else []
        filtered = [
            Rows(condition=row.condition, columns=None if row.columns is None else row.columns | joined)
            for row in rows
            if row.condition is not None
        ]
        return TableAccess((*plain, *filtered))

    def visible_columns(
        self, principals: Sequence[str], database: str, table: str, columns: Sequence[str]
    ) -> frozenset[str] | None:
        """Return the columns of a table that the catalog shows: those of any grant on it; None for all of them."""
        if f"{database}.{table}" not in self.restricted or self._sees_all(principals):
            return None
        visible: set[str] = set()
        for grant in self._of(principals):
            if not self._is_about(grant, database, table):
                continue
            for row in self._rows(grant, database, table, columns):
                if row.columns is None:
                    return None
                visible |= row.columns
        return frozenset(visible)

    def may_grant(self, principals: Sequence[str], resource: Mapping[str, Any], permissions: Iterable[str]) -> bool:
        """Return whether a caller may grant ``permissions`` on ``resource``."""
        if self._is_admin(principals):
            return True
        grantable: set[str] = set()
        resource_type, shape = kind_of(resource), next(iter(resource.values()))
        for grant in self._of(principals):
            if grant.resource == resource or (
                resource_type in {"TableWithColumns", "Table"}
                and "Name" in shape
                and kind_of(grant.resource) == "Table"
                and self._is_about(grant, shape["DatabaseName"], shape["Name"])
            ):
                grantable |= grant.grantable
        return "ALL" in grantable or set(permissions) <= grantable

    def _rows(self, grant: Grant, database: str, table: str, columns: Sequence[str]) -> Iterable[Rows]:
        resource_type, shape = kind_of(grant.resource), next(iter(grant.resource.values()))
        if resource_type == "Table":
            yield Rows(condition=None, columns=None)
        elif resource_type == "TableWithColumns":
            yield Rows(condition=None, columns=_chosen(shape, columns))
        elif resource_type == "DataCellsFilter":
            document = self.filters.get((database, table, shape["Name"]))
            if document is not None:
                yield Rows(condition=document.get("Row"), columns=_chosen(document, columns))
        else:
            expression = self._expression(shape)
            tagged = frozenset(
                column for column in columns if matches(expression, self.tags.column(database, table, column))
            )
            yield Rows(condition=None, columns=None if len(tagged) == len(columns) else tagged)

    def _is_about(self, grant: Grant, database: str, table: str) -> bool:
        resource_type, shape = kind_of(grant.resource), next(iter(grant.resource.values()))
        if resource_type == "Table":
            return shape["DatabaseName"] == database and ("TableWildcard" in shape or shape["Name"] == table)
        if resource_type == "TableWithColumns":
            return bool(shape["DatabaseName"] == database and shape["Name"] == table)
        if resource_type == "DataCellsFilter":
            return bool(shape["DatabaseName"] == database and shape["TableName"] == table)
        if resource_type != "LFTagPolicy" or shape["ResourceType"] != "TABLE":
            return False
        expression = self._expression(shape)
        if matches(expression, self.tags.table(database, table)):
            return True
        return self._matches_within(shape, f"{database}.{table}")

    def _matches_within(self, shape: Mapping[str, Any], place: str) -> bool:
        """Return whether a policy's expression matches a database or table, or something in it."""
        expression = self._expression(shape)
        names = [name.split(".") for name in self.tags.by_place if name == place or name.startswith(f"{place}.")]
        of = (self.tags.database, self.tags.table, self.tags.column)
        return any(matches(expression, of[len(name) - 1](*name)) for name in (place.split("."), *names))

    def _expression(self, shape: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        if "ExpressionName" in shape:
            # A missing expression matches nothing; an empty one would match everything.
            return self.expressions.get(shape["ExpressionName"], [{"TagKey": "", "TagValues": []}])
        return shape["Expression"]  # type: ignore[no-any-return]

    def _of(self, principals: Sequence[str]) -> Iterable[Grant]:
        for principal in principals:
            yield from self.grants.get(principal, ())

    def _is_admin(self, principals: Sequence[str]) -> bool:
        return not self.admins.isdisjoint(principals)

    def _sees_all(self, principals: Sequence[str]) -> bool:
        return self._is_admin(principals) or not self.readers.isdisjoint(principals)


def _chosen(shape: Mapping[str, Any], columns: Sequence[str]) -> frozenset[str] | None:
    if "ColumnNames" in shape:
        return frozenset(shape["ColumnNames"])
    excluded = shape.get("ColumnWildcard", {}).get("ExcludedColumnNames") or ()
    return frozenset(columns) - frozenset(excluded) if excluded else None


def _is_below(location: str, prefix: str) -> bool:
    home = prefix.rstrip("/")
    return location.rstrip("/") == home or location.startswith(f"{home}/")


def _with_implied(allowed: set[str] | frozenset[str], everything: set[str]) -> frozenset[str]:
    complete = set(allowed) | (everything if "ALL" in allowed else set())
    return frozenset(complete | {_IMPLIES[name] for name in complete if name in _IMPLIES})
