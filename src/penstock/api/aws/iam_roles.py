"""IAM's operations on roles."""

from typing import Any

from penstock.access.entities import Role
from penstock.access.roles import Roles
from penstock.api.aws.iam_shapes import document, named, paged, refuse_boundary, tags_of, tags_shape
from penstock.api.aws.operations import Handler, RequestContext
from penstock.api.aws.registry_shapes import Request, present

__all__ = ["role_handlers"]


def role_handlers(roles: Roles) -> dict[str, Handler]:
    """The handlers by operation name."""

    def create(request: Request, context: RequestContext) -> Request:
        refuse_boundary(request)
        role = roles.create(
            context.account,
            request["RoleName"],
            request["AssumeRolePolicyDocument"],
            path=request.get("Path", "/"),
            description=request.get("Description"),
            max_session=request.get("MaxSessionDuration", 3600),
            tags=tags_of(request),
        )
        return {"Role": _role(role) | present(Tags=tags_shape(role))}

    def get(request: Request, context: RequestContext) -> Request:
        role = roles.get(context.account, request["RoleName"])
        return {"Role": _role(role) | present(Tags=tags_shape(role))}

    def list_all(request: Request, context: RequestContext) -> Request:
        found = roles.list(context.account, request.get("PathPrefix", "/"))
        return paged(request, "roles", "Roles", found, key=lambda role: role.name.lower(), shape=_role)

    def update(request: Request, context: RequestContext) -> Request:
        roles.update(
            context.account,
            request["RoleName"],
            description=request.get("Description"),
            max_session=request.get("MaxSessionDuration"),
        )
        return {}

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
        "UpdateAssumeRolePolicy": trust,
        "DeleteRole": delete,
    }


def _role(role: Role) -> dict[str, Any]:
    """What every answer says of a role; its tags are GetRole's and CreateRole's."""
    return present(
        **named("Role", role),
        AssumeRolePolicyDocument=document(role.trust),
        Description=role.description,
        MaxSessionDuration=role.max_session,
    )
