"""Lake Formation's operations on settings and grants; tags, filters and locations are in modules beside.

Source: AWS Lake Formation API reference. The protocol is REST with JSON, and each operation is a POST to its name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.api.aws.authorization.lake_permissions import principals_of
from penstock.api.aws.lakeformation.credentials import credential_handlers
from penstock.api.aws.lakeformation.filters import filter_handlers
from penstock.api.aws.lakeformation.locations import location_handlers
from penstock.api.aws.lakeformation.tagging import tag_handlers
from penstock.api.aws.protocol.handlers import paged
from penstock.api.aws.protocol.operations import Handler, OperationSet, RequestContext
from penstock.api.aws.protocol.values import Request, Response
from penstock.api.vending import SessionVendor
from penstock.catalog.service import CatalogService
from penstock.errors import AccessDenied, InvalidInput, PenstockError
from penstock.lake.locations import is_below
from penstock.lakeformation.decisions import EVERYONE, Grant
from penstock.lakeformation.errors import InvalidRequest
from penstock.lakeformation.resources import canonical, kind_of, location_arn, shown
from penstock.lakeformation.service import LakeFormation, Settings
from penstock.paging import Page, page_of

__all__ = ["operations"]

_PAGE = 100
# What is not here is an administrator's: a tag or a filter of others could give its maker what was not granted.
_FOR_ALL = frozenset(
    {
        *("GetDataLakeSettings", "PutDataLakeSettings", "GetDataLakePrincipal", "GetLFTag", "ListLFTags"),
        *("GrantPermissions", "RevokePermissions", "BatchGrantPermissions", "BatchRevokePermissions", "ListPermissions"),
        *("SearchDatabasesByLFTags", "SearchTablesByLFTags"),
        *("GetTemporaryGlueTableCredentials", "GetTemporaryGluePartitionCredentials"),
    }
)
_MAX_ADMINS = 30
_OTHER_SETTINGS = (
    *("Parameters", "TrustedResourceOwners", "AllowExternalDataFiltering", "AllowFullTableExternalDataAccess"),
    *("ExternalDataFilteringAllowList", "AuthorizedSessionTagValueList"),
)


def operations(service: LakeFormation, catalog: CatalogService, vendor: SessionVendor) -> OperationSet:
    """Return every operation of Lake Formation that ``service`` answers."""
    handlers = {**_settings_handlers(service), **_grant_handlers(service)}
    handlers |= {**tag_handlers(service, catalog), **filter_handlers(service, catalog), **location_handlers(service)}
    handlers |= credential_handlers(service, catalog, vendor)
    guarded = {name: handler if name in _FOR_ALL else _for_admins(service, handler) for name, handler in handlers.items()}
    checked = {name: _of_this_catalog(service, handler) for name, handler in guarded.items()}
    return OperationSet(service="lakeformation", handlers=checked)


def _for_admins(service: LakeFormation, handler: Handler) -> Handler:
    def checked(request: Request, context: RequestContext) -> Response:
        _require_admin(service, context)
        return handler(request, context)

    return checked


def _of_this_catalog(service: LakeFormation, handler: Handler) -> Handler:
    def checked(request: Request, context: RequestContext) -> Response:
        catalog = request.get("CatalogId")
        if catalog is not None and catalog != service.account:
            raise InvalidRequest(
                f"Catalog {catalog} is not this account's.", remedy=f"Give {service.account}, or leave it out."
            )
        return handler(request, context)

    return checked


def _settings_handlers(service: LakeFormation) -> dict[str, Handler]:
    def get(_request: Request, _context: RequestContext) -> Response:
        settings = service.settings()
        members = {
            "DataLakeAdmins": _principals(settings.admins),
            "ReadOnlyAdmins": _principals(settings.read_only_admins),
            "CreateDatabaseDefaultPermissions": settings.database_default,
            "CreateTableDefaultPermissions": settings.table_default,
            **(settings.others or {}),
        }
        return {"DataLakeSettings": members}

    def put(request: Request, context: RequestContext) -> Response:
        _require_admin(service, context, first=True)
        settings = request["DataLakeSettings"]
        admins, readers = (_names(settings.get(name, ())) for name in ("DataLakeAdmins", "ReadOnlyAdmins"))
        if len(admins) > _MAX_ADMINS:
            raise InvalidRequest(f"A data lake has at most {_MAX_ADMINS} administrators.")
        service.put_settings(
            Settings(
                admins=admins,
                read_only_admins=readers,
                database_default=list(settings.get("CreateDatabaseDefaultPermissions", ())),
                table_default=list(settings.get("CreateTableDefaultPermissions", ())),
                others={name: settings[name] for name in _OTHER_SETTINGS if name in settings},
            )
        )
        return {}

    def principal(_request: Request, context: RequestContext) -> Response:
        return {"Identity": context.caller_or_root.principal}

    return {"GetDataLakeSettings": get, "PutDataLakeSettings": put, "GetDataLakePrincipal": principal}


def _grant_handlers(service: LakeFormation) -> dict[str, Handler]:
    def change(request: Request, context: RequestContext, *, grant: bool) -> None:
        principal = _principal(request["Principal"])
        permissions = list(request["Permissions"])
        grantable = list(request.get("PermissionsWithGrantOption") or ())
        _require_grantor(service, context, request["Resource"], [*permissions, *grantable])
        if grant:
            service.grant(principal, request["Resource"], permissions, grantable, by=context.caller_or_root.principal)
        else:
            service.revoke(principal, request["Resource"], permissions, grantable)

    def one(*, grant: bool) -> Handler:
        def handle(request: Request, context: RequestContext) -> Response:
            change(request, context, grant=grant)
            return {}

        return handle

    def several(*, grant: bool) -> Handler:
        def handle(request: Request, context: RequestContext) -> Response:
            return {"Failures": _failures(request["Entries"], lambda entry: change(entry, context, grant=grant))}

        return handle

    def list_all(request: Request, context: RequestContext) -> Response:
        own = None if _is_admin(service, context) else principals_of(context.caller_or_root)
        criteria = _Criteria.of(request, service.account)
        grants = [grant for grant in _every(service) if (own is None or grant.principal in own) and criteria.has(grant)]
        page = _page(grants, request, "permissions")
        return paged(page, PrincipalResourcePermissions=[_shown(grant, service.account) for _, grant in page.items])

    def effective(request: Request, _context: RequestContext) -> Response:
        path = location_arn(request["ResourceArn"])
        grants = [
            grant
            for grant in service.grants()
            if "DataLocation" in grant.resource and is_below(path, grant.resource["DataLocation"]["ResourceArn"])
        ]
        page = _page(grants, request, "effective")
        return paged(page, Permissions=[_shown(grant, service.account) for _, grant in page.items])

    return {
        "GrantPermissions": one(grant=True),
        "RevokePermissions": one(grant=False),
        "BatchGrantPermissions": several(grant=True),
        "BatchRevokePermissions": several(grant=False),
        "ListPermissions": list_all,
        "GetEffectivePermissionsForPath": effective,
    }


def _is_admin(service: LakeFormation, context: RequestContext) -> bool:
    caller = context.caller_or_root
    return caller.is_root or not service.snapshot().admins.isdisjoint(principals_of(caller))


def _require_admin(service: LakeFormation, context: RequestContext, *, first: bool = False) -> None:
    """Raise unless the caller is an administrator, or, with ``first``, there is none yet."""
    if _is_admin(service, context) or (first and not service.settings().admins):
        return
    raise AccessDenied(
        f"{context.principal} is not an administrator of the data lake.",
        remedy="An administrator adds others with PutDataLakeSettings.",
    )


def _require_grantor(service: LakeFormation, context: RequestContext, resource: Any, permissions: Sequence[str]) -> None:
    caller = context.caller_or_root
    if caller.is_root:
        return
    if not service.snapshot().may_grant(principals_of(caller), canonical(resource, service.account), permissions):
        raise AccessDenied(
            f"{context.principal} may not grant or revoke {', '.join(sorted(set(permissions)))} on this resource.",
            remedy="It needs to be an administrator of the data lake, or to have them with the grant option.",
        )


def _failures(entries: Sequence[Mapping[str, Any]], change: Callable[[Mapping[str, Any]], None]) -> list[dict[str, Any]]:
    """Carry out each entry; return those that failed, with their errors: an error of one is not one of the others."""
    failures = []
    for entry in entries:
        try:
            change(entry)
        except (AccessDenied, InvalidInput) as error:
            code = getattr(error, "aws_code", type(error).__name__)
            failures.append({"RequestEntry": entry, "Error": {"ErrorCode": code, "ErrorMessage": str(error)}})
        except PenstockError as error:
            failures.append({"RequestEntry": entry, "Error": {"ErrorCode": error.aws_code, "ErrorMessage": str(error)}})
    return failures


def _every(service: LakeFormation) -> list[Grant]:
    """Return all grants in an order that does not change."""
    return sorted(service.grants(), key=lambda grant: (grant.principal, sorted(grant.resource), str(grant.resource)))


@dataclass(frozen=True, slots=True)
class _Criteria:
    """What ListPermissions asks for; None for all."""

    principal: str | None
    type: str | None
    resource: Mapping[str, Any] | None

    @classmethod
    def of(cls, request: Request, account: str) -> "_Criteria":
        principal = (request.get("Principal") or {}).get("DataLakePrincipalIdentifier")
        resource = request.get("Resource")
        return cls(principal, request.get("ResourceType"), None if resource is None else canonical(resource, account))

    def has(self, grant: Grant) -> bool:
        if self.principal not in {None, grant.principal}:
            return False
        resource_type = kind_of(grant.resource)
        if self.type not in {None, _TYPES[resource_type]}:
            return False
        if self.resource is None:
            return True
        own = self.resource.get("Table", {})
        if "Name" in own and resource_type in {"Table", "TableWithColumns"}:
            # A table's permissions include those on its columns, and those on all tables of its database.
            shape = next(iter(grant.resource.values()))
            return bool(shape["DatabaseName"] == own["DatabaseName"] and shape.get("Name", own["Name"]) == own["Name"])
        return bool(grant.resource == self.resource)


_TYPES = {
    "Catalog": "CATALOG",
    "Database": "DATABASE",
    "Table": "TABLE",
    "TableWithColumns": "TABLE",
    "DataLocation": "DATA_LOCATION",
    "DataCellsFilter": "TABLE",
    "LFTag": "LF_TAG",
    "LFTagPolicy": "LF_TAG_POLICY",
    "LFTagExpression": "LF_NAMED_TAG_EXPRESSION",
}


def _shown(grant: Grant, account: str) -> dict[str, Any]:
    members: dict[str, Any] = {
        "Principal": {"DataLakePrincipalIdentifier": grant.principal},
        "Resource": shown(grant.resource, account),
        "Permissions": sorted(grant.permissions),
        "PermissionsWithGrantOption": sorted(grant.grantable),
        "LastUpdatedBy": grant.by or EVERYONE,
    }
    return {**members, "LastUpdated": datetime.fromisoformat(grant.updated)} if grant.updated else members


def _page(grants: Sequence[Grant], request: Request, listing: str) -> Page[tuple[str, Grant]]:
    numbered = [(f"{number:09}", grant) for number, grant in enumerate(grants)]
    return page_of(listing, request.get("NextToken"), request.get("MaxResults") or _PAGE, numbered, lambda row: row[0])


def _principals(names: Sequence[str]) -> list[dict[str, str]]:
    return [{"DataLakePrincipalIdentifier": name} for name in names]


def _names(principals: Sequence[Mapping[str, str]]) -> list[str]:
    return [_principal(principal) for principal in principals]


def _principal(principal: Mapping[str, str]) -> str:
    name = principal.get("DataLakePrincipalIdentifier")
    if not name:
        raise InvalidRequest("A principal needs DataLakePrincipalIdentifier.", remedy="Give an ARN, or a group's name.")
    return name
