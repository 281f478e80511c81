"""Lake Formation's operations that vend credentials for the files of a table or a partition.

On AWS the credentials are those of the role that the location was registered with. Here they are a session of the caller,
limited to the files: it may do what the caller may do by IAM, the operation's permissions in Lake Formation, and no more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.access.errors import NotAuthorized
from penstock.access.principals import ANONYMOUS
from penstock.api.aws.authorization.lake_permissions import principals_of
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request, Response
from penstock.api.vending import READS, WRITES, SessionVendor
from penstock.catalog.model import Table
from penstock.catalog.service import CatalogService
from penstock.errors import InvalidInput, NotFound
from penstock.lake.locations import parse_uri
from penstock.lakeformation.errors import InvalidRequest, NoSuchEntity
from penstock.lakeformation.service import LakeFormation

__all__ = ["credential_handlers"]

_ACTIONS = {"SELECT": READS, **WRITES}
_SECONDS = 3_600
_EVERYTHING = {"ALL", "SUPER"}


@dataclass(frozen=True, slots=True)
class _Target:
    """What both operations are asked for."""

    table_arn: str
    permissions: Sequence[str]
    seconds: int

    @classmethod
    def of(cls, request: Request) -> "_Target":
        permissions = list(request.get("Permissions") or ())
        return cls(request["TableArn"], permissions, request.get("DurationSeconds", _SECONDS))


def credential_handlers(service: LakeFormation, catalog: CatalogService, vendor: SessionVendor) -> dict[str, Handler]:
    """Return the handlers."""

    def of_table(request: Request, context: RequestContext) -> Response:
        target, path = _Target.of(request), request.get("S3Path")
        table = _table(catalog, service, target.table_arn)
        location = _location(table.storage.location)
        folder = _location(path or location)
        if folder != location and not folder.startswith(f"{location}/"):
            raise InvalidRequest(f"{folder} is not within the table's location {location}.")
        return {**credentials(target, context, table, folder), "VendedS3Path": [folder]}

    def of_partition(request: Request, context: RequestContext) -> Response:
        target, values = _Target.of(request), list(request["Partition"]["Values"])
        table = _table(catalog, service, target.table_arn)
        try:
            partition = catalog.partition(table.database, table.name, values)
        except NotFound as error:
            raise NoSuchEntity(error.message) from None
        return credentials(target, context, table, _location(partition.storage.location))

    def credentials(target: _Target, context: RequestContext, table: Table, location: str) -> dict[str, Any]:
        caller = context.caller
        if caller is None or caller.principal == ANONYMOUS:
            raise InvalidRequest("This server authenticates nobody (--no-auth), so it has no credentials to vend.")
        _check_registered(service, location)
        principals = () if caller.is_root else principals_of(caller)
        actions = _allowed(service, principals, table, target.permissions)
        key = vendor.scoped(caller, frozenset({f"{location}/"}), actions, seconds=target.seconds)
        if key is None:
            raise InvalidRequest(
                "The caller's session has a policy of its own, which no other can narrow.",
                remedy="Ask with the credentials of the user or the role itself.",
            )
        return {
            "AccessKeyId": key.access_key_id,
            "SecretAccessKey": key.secret_access_key,
            "SessionToken": key.token,
            "Expiration": key.expires,
        }

    return {"GetTemporaryGlueTableCredentials": of_table, "GetTemporaryGluePartitionCredentials": of_partition}


def _table(catalog: CatalogService, service: LakeFormation, arn: str) -> Table:
    parts = arn.split(":", 5)
    names = parts[-1].split("/")
    if len(parts) != 6 or parts[2] != "glue" or names[0] != "table" or len(names) != 3:
        raise InvalidRequest(
            f"{arn[:200]} is not a table's ARN.", remedy="Write arn:aws:glue:REGION:ACCOUNT:table/DATABASE/TABLE."
        )
    if parts[4] != service.account:
        raise InvalidRequest(f"The table of account {parts[4][:12]} is not this account's.")
    try:
        return catalog.table(names[1].lower(), names[2].lower())
    except NotFound as error:
        raise NoSuchEntity(error.message) from None


def _location(location: str | None) -> str:
    try:
        uri = parse_uri(location or "")
    except InvalidInput as error:
        raise InvalidRequest(error.message, remedy=error.remedy) from None
    return f"s3://{uri.bucket}/{uri.key}".rstrip("/")


def _check_registered(service: LakeFormation, location: str) -> None:
    arn = f"arn:aws:s3:::{location.removeprefix('s3://')}"
    if not any(arn == name or arn.startswith(f"{name}/") for name, _ in service.named("location")):
        raise InvalidRequest(
            f"{location} is not registered with Lake Formation.", remedy="An administrator registers it: RegisterResource."
        )


def _allowed(service: LakeFormation, principals: Sequence[str], table: Table, permissions: Sequence[str]) -> Sequence[str]:
    """Return the actions on objects that ``permissions`` are, or all that the caller has. Raises :class:`NotAuthorized`."""
    snapshot = service.snapshot()
    names = (table.database, table.name)
    granted = set(_ACTIONS)
    if principals:
        access = snapshot.on_table(principals, *names)
        granted = set(_ACTIONS) if access is None else set(_ACTIONS) & access
        columns = [column.name.lower() for column in (*table.storage.columns, *table.partition_keys)]
        if snapshot.reading(principals, *names, columns) is not None:
            granted.discard("SELECT")  # files know neither columns nor rows
    requested = set(_ACTIONS) if _EVERYTHING & set(permissions) else set(permissions) or granted
    missing = sorted(requested - granted)
    if missing or not requested:
        lacking = ", ".join(missing) or "SELECT"
        raise NotAuthorized(
            f"Insufficient Lake Formation permission(s): Required {lacking} on all of {'.'.join(names)}",
            remedy="Credentials are for who may select all columns and rows; SQL reads what is granted in part.",
        )
    return [action for permission in sorted(requested) for action in _ACTIONS[permission]]
