"""IAM's operations on the policies, boundaries and tags of users, groups and roles."""

from functools import partial
from typing import Any

from penstock.access.entities import EntityKind
from penstock.access.identities.identities import Identities
from penstock.api.aws.iam.shapes import document, paged, tag_handlers
from penstock.api.aws.protocol.handlers import account, call
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request

__all__ = ["identity_handlers"]


def identity_handlers(identities: Identities) -> dict[str, Handler]:
    """Return the handlers by operation name, of users, roles and groups; a group has neither tags nor a boundary."""
    handlers = _policy_handlers(identities, EntityKind.GROUP, "Group")
    for entity_type, noun in ((EntityKind.USER, "User"), (EntityKind.ROLE, "Role")):
        name, bound = f"{noun}Name", partial(identities.bound, entity_type)
        handlers |= {
            **_policy_handlers(identities, entity_type, noun),
            f"Put{noun}PermissionsBoundary": call(bound, account, name, "PermissionsBoundary"),
            f"Delete{noun}PermissionsBoundary": call(bound, account, name, lambda _request, _context: None),
            **tag_handlers(noun, name, partial(identities.tag, entity_type), partial(identities.get, entity_type)),
        }
    return handlers


def _policy_handlers(identities: Identities, entity_type: EntityKind, noun: str) -> dict[str, Handler]:
    name = f"{noun}Name"

    def get(request: Request, context: RequestContext) -> Request:
        text = identities.inline(entity_type, context.account, request[name], request["PolicyName"])
        return {name: request[name], "PolicyName": request["PolicyName"], "PolicyDocument": document(text)}

    def list_inline(request: Request, context: RequestContext) -> Request:
        names = list(identities.get(entity_type, context.account, request[name]).inline)
        return paged(request, f"inline:{noun}:{request[name]}", "PolicyNames", names, key=str, shape=str)

    def list_attached(request: Request, context: RequestContext) -> Request:
        attached = identities.get(entity_type, context.account, request[name]).attached
        prefix = request.get("PathPrefix", "/")
        arns = [arn for arn in attached if _path(arn).startswith(prefix)]
        return paged(request, f"attached:{noun}:{request[name]}", "AttachedPolicies", arns, key=str, shape=_attached)

    put, delete, attach, detach = (
        partial(of, entity_type)
        for of in (identities.put_inline, identities.delete_inline, identities.attach, identities.detach)
    )
    return {
        f"Put{noun}Policy": call(put, account, name, "PolicyName", "PolicyDocument"),
        f"Get{noun}Policy": get,
        f"List{noun}Policies": list_inline,
        f"Delete{noun}Policy": call(delete, account, name, "PolicyName"),
        f"Attach{noun}Policy": call(attach, account, name, "PolicyArn"),
        f"Detach{noun}Policy": call(detach, account, name, "PolicyArn"),
        f"ListAttached{noun}Policies": list_attached,
    }


def _path(arn: str) -> str:
    """Return the path in a policy's ARN, between the slashes."""
    return arn[arn.index("/") : arn.rindex("/") + 1]


def _attached(arn: str) -> dict[str, Any]:
    return {"PolicyName": arn.rpartition("/")[2], "PolicyArn": arn}
