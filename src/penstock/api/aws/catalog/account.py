"""Glue's operations on the account's one catalog: its description, its encryption settings, the import from Athena."""

from datetime import UTC, datetime
from typing import Any

from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request, Response
from penstock.errors import InvalidInput
from penstock.names import arn

__all__ = ["account_handlers"]

_BEGINNING = datetime.fromtimestamp(0, UTC)


def account_handlers() -> dict[str, Handler]:
    """Return the handlers by operation name; all answers are fixed."""
    return {
        "GetCatalog": _get,
        "GetCatalogs": _get_all,
        "GetCatalogImportStatus": _import_status,
        "ImportCatalogToGlue": _import,
        "GetDataCatalogEncryptionSettings": _encryption,
        "PutDataCatalogEncryptionSettings": _put_encryption,
    }


def _get(_request: Request, context: RequestContext) -> Response:
    return {"Catalog": _shape(context)}


def _get_all(request: Request, context: RequestContext) -> Response:
    parent = request.get("ParentCatalogId")
    root = request.get("IncludeRoot") and parent in {None, context.account}
    return {"CatalogList": [_shape(context)] if root else []}


def _shape(context: RequestContext) -> dict[str, Any]:
    return {
        "CatalogId": context.account,
        "Name": context.account,
        "ResourceArn": arn("glue", context.region, context.account, "catalog"),
        "CreateTime": _BEGINNING,
        "UpdateTime": _BEGINNING,
        "Parameters": {},
    }


def _import_status(_request: Request, context: RequestContext) -> Response:
    # Athena's drivers ask for this: there has never been another catalog to import from.
    return {"ImportStatus": {"ImportCompleted": True, "ImportTime": _BEGINNING, "ImportedBy": context.account}}


def _import(_request: Request, _context: RequestContext) -> Response:
    return {}


def _encryption(_request: Request, _context: RequestContext) -> Response:
    return {
        "DataCatalogEncryptionSettings": {
            "EncryptionAtRest": {"CatalogEncryptionMode": "DISABLED"},
            "ConnectionPasswordEncryption": {"ReturnConnectionPasswordEncrypted": False},
        }
    }


def _put_encryption(request: Request, _context: RequestContext) -> Response:
    settings = request["DataCatalogEncryptionSettings"]
    mode = (settings.get("EncryptionAtRest") or {}).get("CatalogEncryptionMode", "DISABLED")
    passwords = (settings.get("ConnectionPasswordEncryption") or {}).get("ReturnConnectionPasswordEncrypted")
    if mode != "DISABLED" or passwords:
        raise InvalidInput(
            f"Encryption of the catalog by KMS (CatalogEncryptionMode {mode}) is not supported by Penstock.",
            remedy="Set DISABLED: passwords of connections are sealed with the master key anyway; encrypt the store's disk.",
        )
    return {}
