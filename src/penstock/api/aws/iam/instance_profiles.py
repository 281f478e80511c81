"""IAM's operations on instance profiles."""

from collections.abc import Sequence
from typing import Any

from penstock.access.entities import InstanceProfile
from penstock.access.identities.instance_profiles import InstanceProfiles
from penstock.api.aws.iam.roles import role_shape
from penstock.api.aws.iam.shapes import named, paged, tags_of, tags_shape
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request, present

__all__ = ["instance_profile_handlers"]


def instance_profile_handlers(profiles: InstanceProfiles) -> dict[str, Handler]:
    """Return the handlers by operation name."""
    served = _Profiles(profiles)
    return {
        "CreateInstanceProfile": served.create,
        "GetInstanceProfile": served.get,
        "ListInstanceProfiles": served.list,
        "ListInstanceProfilesForRole": served.of_role,
        "AddRoleToInstanceProfile": served.add_role,
        "RemoveRoleFromInstanceProfile": served.remove_role,
        "DeleteInstanceProfile": served.delete,
        "TagInstanceProfile": served.tag,
        "UntagInstanceProfile": served.untag,
        "ListInstanceProfileTags": served.list_tags,
    }


class _Profiles:
    def __init__(self, profiles: InstanceProfiles) -> None:
        self._profiles = profiles

    def create(self, request: Request, context: RequestContext) -> Request:
        profile = self._profiles.create(
            context.account, request["InstanceProfileName"], path=request.get("Path", "/"), tags=tags_of(request)
        )
        return {"InstanceProfile": self._shape(profile) | present(Tags=tags_shape(profile))}

    def get(self, request: Request, context: RequestContext) -> Request:
        profile = self._profiles.get(context.account, request["InstanceProfileName"])
        return {"InstanceProfile": self._shape(profile) | present(Tags=tags_shape(profile))}

    def list(self, request: Request, context: RequestContext) -> Request:
        return self._page(request, "profiles", self._profiles.list(context.account, request.get("PathPrefix", "/")))

    def of_role(self, request: Request, context: RequestContext) -> Request:
        name = request["RoleName"]
        return self._page(request, f"profiles:{name.lower()}", self._profiles.of_role(context.account, name))

    def add_role(self, request: Request, context: RequestContext) -> Request:
        self._profiles.add_role(context.account, request["InstanceProfileName"], request["RoleName"])
        return {}

    def remove_role(self, request: Request, context: RequestContext) -> Request:
        self._profiles.remove_role(context.account, request["InstanceProfileName"], request["RoleName"])
        return {}

    def delete(self, request: Request, context: RequestContext) -> Request:
        self._profiles.delete(context.account, request["InstanceProfileName"])
        return {}

    def tag(self, request: Request, context: RequestContext) -> Request:
        self._profiles.tag(context.account, request["InstanceProfileName"], add=tags_of(request))
        return {}

    def untag(self, request: Request, context: RequestContext) -> Request:
        self._profiles.tag(context.account, request["InstanceProfileName"], remove=request["TagKeys"])
        return {}

    def list_tags(self, request: Request, context: RequestContext) -> Request:
        profile = self._profiles.get(context.account, request["InstanceProfileName"])
        tags = tags_shape(profile) or []
        return paged(request, f"tags:profile:{profile.name}", "Tags", tags, key=lambda tag: tag["Key"], shape=dict)

    def _page(self, request: Request, listing: str, profiles: Sequence[InstanceProfile]) -> Request:
        return paged(
            request,
            listing,
            "InstanceProfiles",
            profiles,
            key=lambda instance_profile: instance_profile.name.lower(),
            shape=self._shape,
        )

    def _shape(self, profile: InstanceProfile) -> dict[str, Any]:
        role = self._profiles.role(profile)
        return named("InstanceProfile", profile) | {"Roles": [] if role is None else [role_shape(role)]}
