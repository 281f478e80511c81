"""Glue's operations on security configurations."""

from collections.abc import Mapping
from typing import Any

from penstock.api.aws.jobs.shapes import chosen
from penstock.api.aws.protocol.handlers import call, listing, under
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

    handlers = {
        "CreateSecurityConfiguration": create,
        "GetSecurityConfiguration": call(service.get, "Name", answer=under("SecurityConfiguration", _shape)),
        "GetSecurityConfigurations": listing("SecurityConfigurations", _shape, service.page),
        "DeleteSecurityConfiguration": call(service.delete, "Name"),
    }
    return OperationSet(service="glue", handlers=handlers)


def _encryption(shape: Request) -> Mapping[str, Any]:
    encryption: dict[str, Any] = {}
    if shape.get("S3Encryption"):
        encryption["S3Encryption"] = [chosen(entry, ("S3EncryptionMode", _KEY)) for entry in shape["S3Encryption"]]
    for part in ("CloudWatch", "JobBookmarks"):
        if shape.get(f"{part}Encryption"):
            encryption[f"{part}Encryption"] = chosen(shape[f"{part}Encryption"], (f"{part}EncryptionMode", _KEY))
    return encryption


def _shape(configuration: SecurityConfiguration) -> Mapping[str, Any]:
    return {
        "Name": configuration.name,
        "CreatedTimeStamp": configuration.created,
        "EncryptionConfiguration": configuration.encryption,
    }
