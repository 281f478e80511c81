"""Glue's operations on resources by their ARNs: policies, and tags, which the owner of the resource keeps."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request, present
from penstock.errors import InvalidInput
from penstock.registry.model import ResourcePolicy
from penstock.registry.policies.resources import ResourcePolicies

__all__ = ["TagOwner", "policy_handlers", "tag_handlers"]

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
        shapes = [_shape(policy) for policy in page.items]
        return present(GetResourcePoliciesResponseList=shapes, NextToken=page.next_token)

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


class TagOwner(Protocol):
    """Keeps the tags of some kinds of resource; :class:`penstock.registry.resources.Tags` is one."""

    def owns(self, resource_arn: str) -> bool:
        """Return whether the ARN is of this owner's kinds; the resource need not exist."""

    def get(self, resource_arn: str) -> Mapping[str, str]:
        """Return the tags; raise NotFound if the resource does not exist."""

    def add(self, resource_arn: str, tags: Mapping[str, str]) -> None:
        """Add or replace tags."""

    def remove(self, resource_arn: str, keys: Sequence[str]) -> None:
        """Remove tags; a missing tag is not an error."""


def tag_handlers(owners: Sequence[TagOwner]) -> dict[str, Handler]:
    """Return the three operations; the first of ``owners`` that owns the ARN is used."""

    def owner(resource_arn: str) -> TagOwner:
        for candidate in owners:
            if candidate.owns(resource_arn):
                return candidate
        raise InvalidInput(
            f"Tags of '{resource_arn[:400]}' are not served.",
            remedy="Registries, schemas, databases, connections and crawlers have tags; check the ARN.",
        )

    def get(request: Request, _: RequestContext) -> Request:
        return {"Tags": dict(owner(request["ResourceArn"]).get(request["ResourceArn"]))}

    def add(request: Request, _: RequestContext) -> Request:
        owner(request["ResourceArn"]).add(request["ResourceArn"], request["TagsToAdd"])
        return {}

    def remove(request: Request, _: RequestContext) -> Request:
        owner(request["ResourceArn"]).remove(request["ResourceArn"], request["TagsToRemove"])
        return {}

    return {"GetTags": get, "TagResource": add, "UntagResource": remove}
