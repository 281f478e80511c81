"""Lake Formation's permissions on Glue's operations: needed beside IAM's, on what is restricted.

Source: Lake Formation developer guide, "Lake Formation permissions reference". The account's root is not restricted.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.access.errors import NotAuthorized
from penstock.access.principals import Caller
from penstock.api.aws.authorization.data_locations import new_locations
from penstock.api.aws.protocol.values import Request
from penstock.catalog.service import CatalogService
from penstock.lakeformation.decisions import Snapshot, TableAccess
from penstock.lakeformation.service import ALL_PRINCIPALS, LakeFormation

__all__ = ["CallersLake", "denied", "principals_of"]

_READS = (
    "GetTable GetTableVersion GetTableVersions GetPartition GetPartitions BatchGetPartition GetPartitionIndexes "
    "GetColumnStatisticsForTable GetColumnStatisticsForPartition GetTableOptimizer ListTableOptimizerRuns"
)
_CHANGES = (
    "UpdateTable CreatePartition BatchCreatePartition UpdatePartition BatchUpdatePartition DeletePartition "
    "BatchDeletePartition DeleteTableVersion BatchDeleteTableVersion CreatePartitionIndex DeletePartitionIndex "
    "UpdateColumnStatisticsForTable UpdateColumnStatisticsForPartition DeleteColumnStatisticsForTable "
    "DeleteColumnStatisticsForPartition CreateTableOptimizer UpdateTableOptimizer DeleteTableOptimizer"
)
_ON_TABLE: Mapping[str, str] = {
    **dict.fromkeys(_READS.split(), "DESCRIBE"),
    **dict.fromkeys(_CHANGES.split(), "ALTER"),
    "DeleteTable": "DROP",
}
_ON_DATABASE: Mapping[str, str] = {
    **dict.fromkeys(("GetDatabase", "GetTables"), "DESCRIBE"),
    "UpdateDatabase": "ALTER",
    "DeleteDatabase": "DROP",
    "CreateTable": "CREATE_TABLE",
}
_LISTS = frozenset(
    {
        *("GetDatabases", "GetTables", "SearchTables", "ListDatabases", "ListTableMetadata"),
        *("SearchDatabasesByLFTags", "SearchTablesByLFTags"),
    }
)


def principals_of(caller: Caller) -> Sequence[str]:
    """Return the names under which a caller may have grants: its own ARN, the role's, and all of its account."""
    return (caller.arn_for_policies, f"{caller.account}:{ALL_PRINCIPALS}")


class CallersLake:
    """What Lake Formation allows one caller in one account's catalog."""

    def __init__(self, lake: LakeFormation, tables: CatalogService, caller: Caller) -> None:
        self._lake = lake
        self._tables = tables
        self._principals = () if caller.is_root and caller.account == lake.account else principals_of(caller)

    @property
    def principals(self) -> Sequence[str]:
        """The names under which the caller may have grants; none if nothing restricts it."""
        return self._principals

    def snapshot(self) -> Snapshot | None:
        """Return the grants as of now; None if nothing restricts the caller."""
        return self._lake.snapshot() if self._principals else None

    def check(self, operation: str, request: Request) -> None:
        """Raise :class:`NotAuthorized` unless the caller has what Glue's ``operation`` needs."""
        if not self._principals:
            return
        snapshot = self._lake.snapshot()
        if snapshot.is_open:
            return
        for database, table, permission in _needed(operation, request):
            if table is not None:
                self.check_table(database, table, permission)
                continue
            access = snapshot.on_database(self._principals, database) if database else snapshot.on_catalog(self._principals)
            if access is not None and permission not in access:
                raise denied(permission, f"database {database}" if database else "the catalog")
        for location in new_locations(operation, request, self._tables, snapshot.registered) if snapshot.locations else ():
            if not snapshot.may_use_location(self._principals, location):
                raise denied("DATA_LOCATION_ACCESS", location)

    def check_table(self, database: str, table: str, *permissions: str) -> None:
        """Raise :class:`NotAuthorized` unless the caller has the permissions on a table."""
        if not self._principals:
            return
        access = self._lake.snapshot().on_table(self._principals, database.lower(), table.lower())
        missing = [permission for permission in permissions if access is not None and permission not in access]
        if missing:
            raise denied(", ".join(missing), f"table {database}.{table}")

    def created(self, database: str, table: str | None) -> None:
        """Give the caller the permissions of a creator on a database or table."""
        if self._principals:
            self._lake.creator_is(database, table, self._principals[0])

    def visible_columns(self, database: str, table: str, columns: Sequence[str]) -> frozenset[str] | None:
        """Return which columns of a table the catalog shows to the caller; None for all."""
        if not self._principals:
            return None
        return self._lake.snapshot().visible_columns(self._principals, database, table, columns)

    @property
    def hides_columns(self) -> bool:
        """Whether there may be columns that the caller does not see."""
        return bool(self._principals and self._lake.snapshot().restricted)

    def is_visible(self, operation: str, shape: Mapping[str, Any]) -> bool:
        """Return whether the caller sees a database or table (in Glue's shape) of a list."""
        if not self._principals or operation not in _LISTS:
            return True
        snapshot = self._lake.snapshot()
        if not snapshot.restricted:
            return True
        shape = shape.get("Table") or shape.get("Database") or shape
        name = str(shape.get("Name", "")).lower()
        database = shape.get("DatabaseName")
        if database is None:
            access = snapshot.on_database(self._principals, name)
        else:
            access = snapshot.on_table(self._principals, str(database).lower(), name)
        return access is None or "DESCRIBE" in access

    def reading(self, database: str, table: str, columns: Sequence[str]) -> TableAccess | None:
        """Return what the caller may select of a table; None if all."""
        if not self._principals:
            return None
        return self._lake.snapshot().reading(self._principals, database.lower(), table.lower(), columns)


def _needed(operation: str, request: Request) -> Sequence[tuple[str, str | None, str]]:
    """Return databases (empty for the catalog), tables and the permissions on them."""
    if operation == "CreateDatabase":
        return [("", None, "CREATE_DATABASE")]
    database = str(request.get("DatabaseName") or request.get("Name") or "").lower()
    if operation in _ON_DATABASE:
        return [(database, None, _ON_DATABASE[operation])]
    if operation == "BatchDeleteTable":
        return [(database, name.lower(), "DROP") for name in request.get("TablesToDelete", ())]
    permission = _ON_TABLE.get(operation)
    if permission is None:
        return []
    name = request.get("TableName") or request.get("Name") or request.get("TableInput", {}).get("Name") or ""
    return [(database, str(name).lower(), permission)]


def denied(permission: str, what: str) -> NotAuthorized:
    """Return the error of a caller who lacks Lake Formation's ``permission`` on ``what``."""
    return NotAuthorized(
        f"Insufficient Lake Formation permission(s): Required {permission} on {what}",
        remedy="An administrator of the data lake grants it: lakeformation grant-permissions.",
    )
