"""IAM's operations on roles."""

from typing import Any

from penstock.access.entities import Role
from penstock.access.identities.roles import Roles
from penstock.api.aws.iam.shapes import PATH, boundary_shape, document, list_handler, named, tags_of, tags_shape
from penstock.api.aws.protocol.handlers import account, call, member, under
from penstock.api.aws.protocol.operations import Handler
from penstock.api.aws.protocol.values import present

__all__ = ["role_handlers", "role_shape"]

_DESCRIPTION = member("Description", default=None)


def role_handlers(roles: Roles) -> dict[str, Handler]:
    """Return the handlers by operation name."""
    whole = under("Role", _whole)
    return {
        "CreateRole": call(
            roles.create,
            account,
            "RoleName",
            "AssumeRolePolicyDocument",
            path=PATH,
            description=_DESCRIPTION,
            max_session=member("MaxSessionDuration", default=3600),
            tags=tags_of,
            boundary=member("PermissionsBoundary", default=None),
            answer=whole,
        ),
        "GetRole": call(roles.get, account, "RoleName", answer=whole),
        "ListRoles": list_handler("Roles", roles.list, role_shape),
        "UpdateRole": call(
            roles.update,
            account,
            "RoleName",
            description=_DESCRIPTION,
            max_session=member("MaxSessionDuration", default=None),
        ),
        "UpdateRoleDescription": call(roles.update, account, "RoleName", description="Description", answer=whole),
        "UpdateAssumeRolePolicy": call(roles.trust, account, "RoleName", "PolicyDocument"),
        "DeleteRole": call(roles.delete, account, "RoleName"),
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
