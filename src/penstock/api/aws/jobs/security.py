"""Glue's operations on security configurations."""

from collections.abc import Mapping
from typing import Any

from penstock.api.aws.jobs.shapes import PAGE, paged, wanted
from penstock.api.aws.protocol.operations import OperationSet, RequestContext
from penstock.api.aws.protocol.values import Request, Response
from penstock.jobs.security import SecurityConfiguration, SecurityService

__all__ = ["operations"]

_KEY = "KmsKeyArn"


def operations(service: SecurityService) -> OperationSet:
    """Return every operation of Glue on security configurations."""

    def create(request: Request, _context: RequestContext) -> Response:
        configuration = service.create(request["Name"], _encryption(request["EncryptionConfiguration"]))
        return {"Name": configuration.name, "CreatedTimestamp": configuration.created}

    def get(request: Request, _context: RequestContext) -> Response:
        return {"SecurityConfiguration": _shape(service.get(request["Name"]))}

    def get_all(request: Request, _context: RequestContext) -> Response:
        page = service.page(limit=request.get("MaxResults") or PAGE, token=request.get("NextToken"))
        return paged(page, SecurityConfigurations=[_shape(item) for item in page.items])

    def delete(request: Request, _context: RequestContext) -> Response:
        service.delete(request["Name"])
        return {}

    handlers = {
        "CreateSecurityConfiguration": create,
        "GetSecurityConfiguration": get,
        "GetSecurityConfigurations": get_all,
        "DeleteSecurityConfiguration": delete,
    }
    return OperationSet(service="glue", handlers=handlers)


def _encryption(shape: Request) -> Mapping[str, Any]:
    encryption: dict[str, Any] = {}
    if shape.get("S3Encryption"):
        encryption["S3Encryption"] = [wanted(item, ("S3EncryptionMode", _KEY)) for item in shape["S3Encryption"]]
    for part in ("CloudWatch", "JobBookmarks"):
        if shape.get(f"{part}Encryption"):
            encryption[f"{part}Encryption"] = wanted(shape[f"{part}Encryption"], (f"{part}EncryptionMode", _KEY))
    return encryption


def _shape(configuration: SecurityConfiguration) -> Mapping[str, Any]:
    return {
        "Name": configuration.name,
        "CreatedTimeStamp": configuration.created,
        "EncryptionConfiguration": configuration.encryption,
    }
