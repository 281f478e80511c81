"""IAM's operations on instance profiles."""

from typing import Any

from penstock.access.entities import InstanceProfile
from penstock.access.identities.instance_profiles import InstanceProfiles
from penstock.api.aws.iam.roles import role_shape
from penstock.api.aws.iam.shapes import PATH, list_handler, named, paged, tag_handlers, tags_of, tags_shape
from penstock.api.aws.protocol.handlers import account, call
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request, Response, present

__all__ = ["instance_profile_handlers"]

_NAME = "InstanceProfileName"


def instance_profile_handlers(profiles: InstanceProfiles) -> dict[str, Handler]:
    """Return the handlers by operation name."""

    def shape(profile: InstanceProfile) -> dict[str, Any]:
        role = profiles.role(profile)
        return named("InstanceProfile", profile) | {"Roles": [] if role is None else [role_shape(role)]}

    def with_tags(profile: InstanceProfile) -> Response:
        return {"InstanceProfile": shape(profile) | present(Tags=tags_shape(profile))}

    def of_role(request: Request, context: RequestContext) -> Request:
        name = request["RoleName"]
        rows, listing = profiles.of_role(context.account, name), f"profiles:{name.lower()}"
        return paged(request, listing, "InstanceProfiles", rows, key=lambda profile: profile.name.lower(), shape=shape)

    return {
        "CreateInstanceProfile": call(profiles.create, account, _NAME, path=PATH, tags=tags_of, answer=with_tags),
        "GetInstanceProfile": call(profiles.get, account, _NAME, answer=with_tags),
        "ListInstanceProfiles": list_handler("InstanceProfiles", profiles.list, shape),
        "ListInstanceProfilesForRole": of_role,
        "AddRoleToInstanceProfile": call(profiles.add_role, account, _NAME, "RoleName"),
        "RemoveRoleFromInstanceProfile": call(profiles.remove_role, account, _NAME, "RoleName"),
        "DeleteInstanceProfile": call(profiles.delete, account, _NAME),
        **tag_handlers("InstanceProfile", _NAME, profiles.tag, profiles.get),
    }
