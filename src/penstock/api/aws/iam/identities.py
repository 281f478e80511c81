"""IAM's operations on the policies, boundaries and tags of users, groups and roles."""

from typing import Any

from penstock.access.entities import EntityKind
from penstock.access.identities.identities import Identities
from penstock.api.aws.iam.shapes import document, paged, tags_of, tags_shape
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request

__all__ = ["identity_handlers"]


def identity_handlers(identities: Identities) -> dict[str, Handler]:
    """Return the handlers by operation name, of users, roles and groups; a group has neither tags nor a boundary."""
    handlers: dict[str, Handler] = {}
    for entity_type, noun in ((EntityKind.USER, "User"), (EntityKind.ROLE, "Role"), (EntityKind.GROUP, "Group")):
        served = _Identities(identities, entity_type, f"{noun}Name")
        handlers |= {
            f"Put{noun}Policy": served.put,
            f"Get{noun}Policy": served.get,
            f"List{noun}Policies": served.list,
            f"Delete{noun}Policy": served.delete,
            f"Attach{noun}Policy": served.attach,
            f"Detach{noun}Policy": served.detach,
            f"ListAttached{noun}Policies": served.list_attached,
        }
        if entity_type is not EntityKind.GROUP:
            handlers |= {
                f"Put{noun}PermissionsBoundary": served.put_boundary,
                f"Delete{noun}PermissionsBoundary": served.delete_boundary,
                f"Tag{noun}": served.tag,
                f"Untag{noun}": served.untag,
                f"List{noun}Tags": served.list_tags,
            }
    return handlers


class _Identities:
    """The operations on one kind; ``member`` is the member of its requests that has the name."""

    def __init__(self, identities: Identities, entity_type: EntityKind, member: str) -> None:
        self._identities = identities
        self._kind = entity_type
        self._member = member

    def put(self, request: Request, context: RequestContext) -> Request:
        self._identities.put_inline(*self._place(request, context), request["PolicyName"], request["PolicyDocument"])
        return {}

    def get(self, request: Request, context: RequestContext) -> Request:
        text = self._identities.inline(*self._place(request, context), request["PolicyName"])
        return {
            self._member: request[self._member],
            "PolicyName": request["PolicyName"],
            "PolicyDocument": document(text),
        }

    def list(self, request: Request, context: RequestContext) -> Request:
        names = list(self._identities.get(*self._place(request, context)).inline)
        return paged(request, self._listing("inline", request), "PolicyNames", names, key=str, shape=str)

    def delete(self, request: Request, context: RequestContext) -> Request:
        self._identities.delete_inline(*self._place(request, context), request["PolicyName"])
        return {}

    def attach(self, request: Request, context: RequestContext) -> Request:
        self._identities.attach(*self._place(request, context), request["PolicyArn"])
        return {}

    def detach(self, request: Request, context: RequestContext) -> Request:
        self._identities.detach(*self._place(request, context), request["PolicyArn"])
        return {}

    def list_attached(self, request: Request, context: RequestContext) -> Request:
        attached = self._identities.get(*self._place(request, context)).attached
        prefix = request.get("PathPrefix", "/")
        arns = [arn for arn in attached if _path(arn).startswith(prefix)]
        return paged(request, self._listing("attached", request), "AttachedPolicies", arns, key=str, shape=_attached)

    def put_boundary(self, request: Request, context: RequestContext) -> Request:
        self._identities.bound(*self._place(request, context), request["PermissionsBoundary"])
        return {}

    def delete_boundary(self, request: Request, context: RequestContext) -> Request:
        self._identities.bound(*self._place(request, context), None)
        return {}

    def tag(self, request: Request, context: RequestContext) -> Request:
        self._identities.tag(*self._place(request, context), add=tags_of(request))
        return {}

    def untag(self, request: Request, context: RequestContext) -> Request:
        self._identities.tag(*self._place(request, context), remove=request["TagKeys"])
        return {}

    def list_tags(self, request: Request, context: RequestContext) -> Request:
        tags = tags_shape(self._identities.get(*self._place(request, context))) or []
        return paged(request, self._listing("tags", request), "Tags", tags, key=lambda tag: tag["Key"], shape=dict)

    def _place(self, request: Request, context: RequestContext) -> tuple[EntityKind, str, str]:
        return self._kind, context.account, request[self._member]

    def _listing(self, what: str, request: Request) -> str:
        return f"{what}:{self._kind.value}:{request[self._member]}"


def _path(arn: str) -> str:
    """Return the path in a policy's ARN, between the slashes."""
    return arn[arn.index("/") : arn.rindex("/") + 1]


def _attached(arn: str) -> dict[str, Any]:
    return {"PolicyName": arn.rpartition("/")[2], "PolicyArn": arn}
