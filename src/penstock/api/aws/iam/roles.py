"""IAM's operations on roles."""

from typing import Any

from penstock.access.entities import Role
from penstock.access.identities.roles import Roles
from penstock.api.aws.iam.shapes import boundary_shape, document, named, paged, tags_of, tags_shape
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request, present

__all__ = ["role_handlers", "role_shape"]


def role_handlers(roles: Roles) -> dict[str, Handler]:
    """Return the handlers by operation name."""

    def create(request: Request, context: RequestContext) -> Request:
        role = roles.create(
            context.account,
            request["RoleName"],
            request["AssumeRolePolicyDocument"],
            path=request.get("Path", "/"),
            description=request.get("Description"),
            max_session=request.get("MaxSessionDuration", 3600),
            tags=tags_of(request),
            boundary=request.get("PermissionsBoundary"),
        )
        return {"Role": _whole(role)}

    def get(request: Request, context: RequestContext) -> Request:
        return {"Role": _whole(roles.get(context.account, request["RoleName"]))}

    def list_all(request: Request, context: RequestContext) -> Request:
        listing = roles.list(context.account, request.get("PathPrefix", "/"))
        return paged(request, "roles", "Roles", listing, key=lambda role: role.name.lower(), shape=role_shape)

    def update(request: Request, context: RequestContext) -> Request:
        roles.update(
            context.account,
            request["RoleName"],
            description=request.get("Description"),
            max_session=request.get("MaxSessionDuration"),
        )
        return {}

    def describe(request: Request, context: RequestContext) -> Request:
        return {"Role": _whole(roles.update(context.account, request["RoleName"], description=request["Description"]))}

    def trust(request: Request, context: RequestContext) -> Request:
        roles.trust(context.account, request["RoleName"], request["PolicyDocument"])
        return {}

    def delete(request: Request, context: RequestContext) -> Request:
        roles.delete(context.account, request["RoleName"])
        return {}

    return {
        "CreateRole": create,
        "GetRole": get,
        "ListRoles": list_all,
        "UpdateRole": update,
        "UpdateRoleDescription": describe,
        "UpdateAssumeRolePolicy": trust,
        "DeleteRole": delete,
    }


def _whole(role: Role) -> dict[str, Any]:
    """Return the role's members in the answers of CreateRole and GetRole."""
    return role_shape(role) | present(PermissionsBoundary=boundary_shape(role), Tags=tags_shape(role))


def role_shape(role: Role) -> dict[str, Any]:
    """Return the members that every answer has of a role."""
    return present(
        **named("Role", role),
        AssumeRolePolicyDocument=document(role.trust),
        Description=role.description,
        MaxSessionDuration=role.max_session,
    )
