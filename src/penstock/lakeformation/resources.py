"""The resources of grants: the catalog, databases, tables, columns, locations, filters, tags and expressions of tags.

A resource has Lake Formation's own shape (API reference, ``Resource``), here in one canonical form: names in lower case as
the catalog has them, lists sorted, the account's own catalog id left out. Its canonical JSON is its key.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from penstock.lakeformation.errors import InvalidRequest

__all__ = [
    "ALLOWED_ON",
    "KINDS",
    "canonical",
    "check_own",
    "check_permissions",
    "key_of",
    "kind_of",
    "location_arn",
    "shown",
]

Shape = Mapping[str, Any]
_S3 = "arn:aws:s3:::"

KINDS = (
    *("Catalog", "Database", "Table", "TableWithColumns", "DataLocation"),
    *("DataCellsFilter", "LFTag", "LFTagPolicy", "LFTagExpression"),
)

_TABLE = frozenset({"ALL", "SELECT", "ALTER", "DROP", "DELETE", "INSERT", "DESCRIBE"})
ALLOWED_ON: Mapping[str, frozenset[str]] = {
    "Catalog": frozenset({"ALL", "CREATE_DATABASE", "CREATE_LF_TAG", "CREATE_LF_TAG_EXPRESSION", "DESCRIBE"}),
    "Database": frozenset({"ALL", "CREATE_TABLE", "ALTER", "DROP", "DESCRIBE"}),
    "Table": _TABLE,
    "TableWithColumns": frozenset({"SELECT"}),
    "DataLocation": frozenset({"DATA_LOCATION_ACCESS"}),
    "DataCellsFilter": frozenset({"SELECT"}),
    "LFTag": frozenset({"ASSOCIATE", "DESCRIBE", "ALTER", "DROP"}),
    "LFTagPolicy": _TABLE | {"CREATE_TABLE"},
    "LFTagExpression": frozenset({"ALTER", "DROP", "DESCRIBE", "GRANT_WITH_LF_TAG_EXPRESSION"}),
}
"""The permissions that can be granted on each kind (developer guide, "Lake Formation permissions reference")."""


def check_permissions(permissions: Iterable[str], resource_type: str) -> None:
    """Raise :class:`InvalidRequest` for permissions that a resource of ``resource_type`` does not have."""
    invalid = sorted(set(permissions) - ALLOWED_ON[resource_type])
    if invalid:
        raise InvalidRequest(
            f"Permissions {', '.join(invalid)} cannot be granted on {resource_type}.",
            remedy=f"{resource_type} has {', '.join(sorted(ALLOWED_ON[resource_type]))}.",
        )


def kind_of(resource: Shape) -> str:
    """Return the kind. Raises :class:`InvalidRequest` unless the resource is of exactly one."""
    kinds = [name for name in KINDS if resource.get(name) is not None]
    if len(kinds) != 1:
        raise InvalidRequest(f"A resource is of one kind, not {len(kinds)}.", remedy=f"Give one of {', '.join(KINDS)}.")
    return kinds[0]


def canonical(resource: Shape, account: str) -> dict[str, Any]:
    """Return the canonical form. Raises :class:`InvalidRequest` for another account's catalog or a part that is missing."""
    resource_type = kind_of(resource)
    shape = resource[resource_type]
    check_own(shape, account)
    return {resource_type: _CANONICAL[resource_type](shape)}


def check_own(shape: Shape, account: str) -> None:
    """Raise :class:`InvalidRequest` if ``shape`` names another account's catalog."""
    for member in ("CatalogId", "TableCatalogId"):
        owner = shape.get(member)
        if owner is not None and owner != account:
            raise InvalidRequest(
                f"Resources of catalog {owner} are not this account's.", remedy=f"Leave {member} out, or give {account}."
            )


def _catalog(shape: Shape) -> dict[str, Any]:
    if shape.get("Id"):
        raise InvalidRequest("Catalogs within the catalog are not supported.", remedy="Leave Catalog.Id out.")
    return {}


def _database(shape: Shape) -> dict[str, Any]:
    return {"Name": shape["Name"].lower()}


def _table(shape: Shape) -> dict[str, Any]:
    table = {"DatabaseName": shape["DatabaseName"].lower()}
    if shape.get("TableWildcard") is not None:
        if shape.get("Name") not in {None, "ALL_TABLES"}:
            raise InvalidRequest("A table has a name or a wildcard, not both.")
        return {**table, "TableWildcard": {}}
    if not shape.get("Name"):
        raise InvalidRequest("Table needs Name or TableWildcard.")
    return {**table, "Name": shape["Name"].lower()}


def _columns(shape: Shape) -> dict[str, Any]:
    columns: dict[str, Any] = {"DatabaseName": shape["DatabaseName"].lower(), "Name": shape["Name"].lower()}
    names, wildcard = shape.get("ColumnNames"), shape.get("ColumnWildcard")
    if names is not None and wildcard is None:
        return {**columns, "ColumnNames": _sorted(names)}
    if names is not None or wildcard is None:
        raise InvalidRequest("TableWithColumns needs ColumnNames or ColumnWildcard.")
    excluded = _sorted(wildcard.get("ExcludedColumnNames") or ())
    return {**columns, "ColumnWildcard": {"ExcludedColumnNames": excluded} if excluded else {}}


def _location(shape: Shape) -> dict[str, Any]:
    return {"ResourceArn": location_arn(shape["ResourceArn"])}


def location_arn(arn: str) -> str:
    """Return the one spelling of a location's ARN: without a slash at its end, empty segments and dots.

    Raises :class:`InvalidRequest` for a location that is not usable.
    """
    if not arn.startswith(_S3):
        raise InvalidRequest("A location is an ARN of S3, like arn:aws:s3:::bucket/prefix.")
    bucket, *names = arn.removeprefix(_S3).split("/")
    if not bucket or ".." in names:
        raise InvalidRequest(f"{arn[:200]} is not a usable location: it has no bucket, or a '..' in its key.")
    return "/".join([f"{_S3}{bucket}", *(name for name in names if name not in {"", "."})])


def _filter(shape: Shape) -> dict[str, Any]:
    missing = [name for name in ("DatabaseName", "TableName", "Name") if not shape.get(name)]
    if missing:
        raise InvalidRequest(f"DataCellsFilter needs {', '.join(missing)}.")
    return {"DatabaseName": shape["DatabaseName"].lower(), "TableName": shape["TableName"].lower(), "Name": shape["Name"]}


def _tag(shape: Shape) -> dict[str, Any]:
    return {"TagKey": shape["TagKey"].lower(), "TagValues": _sorted(shape["TagValues"])}


def _policy(shape: Shape) -> dict[str, Any]:
    policy: dict[str, Any] = {"ResourceType": shape["ResourceType"]}
    if shape.get("ExpressionName"):
        return {**policy, "ExpressionName": shape["ExpressionName"]}
    if not shape.get("Expression"):
        raise InvalidRequest("LFTagPolicy needs Expression or ExpressionName.")
    pairs = sorted((_tag(item) for item in shape["Expression"]), key=lambda item: item["TagKey"])
    if len({pair["TagKey"] for pair in pairs}) < len(pairs):
        raise InvalidRequest("An expression names each tag once.")
    return {**policy, "Expression": pairs}


def _expression(shape: Shape) -> dict[str, Any]:
    return {"Name": shape["Name"]}


_CANONICAL = {
    "Catalog": _catalog,
    "Database": _database,
    "Table": _table,
    "TableWithColumns": _columns,
    "DataLocation": _location,
    "DataCellsFilter": _filter,
    "LFTag": _tag,
    "LFTagPolicy": _policy,
    "LFTagExpression": _expression,
}


def _sorted(names: Sequence[str]) -> list[str]:
    return sorted({name.lower() for name in names})


def key_of(resource: Shape) -> str:
    """Return a text that is the same for the same canonical resource."""
    return json.dumps(resource, sort_keys=True, separators=(",", ":"))


def shown(resource: Shape, account: str) -> dict[str, Any]:
    """Return the resource as the API's answers have it, with the account's catalog id."""
    resource_type = kind_of(resource)
    shape = dict(resource[resource_type])
    if resource_type == "Table" and "TableWildcard" in shape:
        shape["Name"] = "ALL_TABLES"
    if resource_type == "DataCellsFilter":
        shape["TableCatalogId"] = account
    elif resource_type != "Catalog":
        shape["CatalogId"] = account
    return {resource_type: shape}
