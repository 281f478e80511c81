"""Lake Formation's operations on registered data lake locations."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

from penstock.api.aws.protocol.handlers import call, member
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request, Response
from penstock.lakeformation.resources import location_arn
from penstock.lakeformation.service import LakeFormation

__all__ = ["location_handlers"]

_LOCATION = "location"
_MEMBERS = ("RoleArn", "WithFederation", "HybridAccessEnabled")


def location_handlers(service: LakeFormation) -> dict[str, Handler]:
    """Return the handlers."""

    def register(request: Request, context: RequestContext) -> Response:
        document = {name: request[name] for name in _MEMBERS if name in request}
        if request.get("UseServiceLinkedRole"):
            name = "aws-service-role/lakeformation.amazonaws.com/AWSServiceRoleForLakeFormationDataAccess"
            document["RoleArn"] = f"arn:aws:iam::{context.account}:role/{name}"
        service.put_named(_LOCATION, _arn(request), document, new=True)
        return {}

    def update(request: Request, _context: RequestContext) -> Response:
        location = service.get_named(_LOCATION, _arn(request))
        changed = {**location, **{name: request[name] for name in _MEMBERS if name in request}}
        service.put_named(_LOCATION, _arn(request), changed, new=False)
        return {}

    def describe(request: Request, _context: RequestContext) -> Response:
        return {"ResourceInfo": _shown(_arn(request), service.get_named(_LOCATION, _arn(request)))}

    def list_all(_request: Request, _context: RequestContext) -> Response:
        return {"ResourceInfoList": [_shown(*pair) for pair in service.named(_LOCATION)]}

    return {
        "RegisterResource": register,
        "UpdateResource": update,
        "DescribeResource": describe,
        "DeregisterResource": call(partial(service.delete_named, _LOCATION), member("ResourceArn", location_arn)),
        "ListResources": list_all,
    }


def _arn(request: Request) -> str:
    return location_arn(str(request["ResourceArn"]))


def _shown(arn: str, document: Mapping[str, Any]) -> dict[str, Any]:
    modified = datetime.fromtimestamp(document["LastModified"], UTC)
    return {"ResourceArn": arn, **{name: document[name] for name in _MEMBERS if name in document}, "LastModified": modified}
