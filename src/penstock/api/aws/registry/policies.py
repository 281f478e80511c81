"""Glue's operations on resource policies."""

from typing import Any

from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request, present
from penstock.registry.model import ResourcePolicy
from penstock.registry.policies.resources import ResourcePolicies

__all__ = ["policy_handlers"]

_EXISTS = {"MUST_EXIST": True, "NOT_EXIST": False, "NONE": None}


def policy_handlers(policies: ResourcePolicies) -> dict[str, Handler]:
    """Return the four operations, by name."""

    def put(request: Request, _: RequestContext) -> Request:
        stored = policies.put(
            request.get("ResourceArn"),
            request["PolicyInJson"],
            hash_condition=request.get("PolicyHashCondition"),
            exists=_EXISTS[request.get("PolicyExistsCondition", "NONE")],
        )
        return {"PolicyHash": stored.hash}

    def get(request: Request, _: RequestContext) -> Request:
        return _shape(policies.get(request.get("ResourceArn")))

    def list_all(request: Request, _: RequestContext) -> Request:
        page = policies.list(token=request.get("NextToken"), size=request.get("MaxResults", 100))
        found = [_shape(policy) for policy in page.items]
        return present(GetResourcePoliciesResponseList=found, NextToken=page.next_token)

    def delete(request: Request, _: RequestContext) -> Request:
        policies.delete(request.get("ResourceArn"), hash_condition=request.get("PolicyHashCondition"))
        return {}

    return {
        "PutResourcePolicy": put,
        "GetResourcePolicy": get,
        "GetResourcePolicies": list_all,
        "DeleteResourcePolicy": delete,
    }


def _shape(policy: ResourcePolicy) -> dict[str, Any]:
    return {
        "PolicyInJson": policy.text,
        "PolicyHash": policy.hash,
        "CreateTime": policy.created,
        "UpdateTime": policy.updated,
    }
