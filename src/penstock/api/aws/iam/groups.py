"""IAM's operations on groups and their users."""

from typing import Any

from penstock.access.entities import Group, User
from penstock.access.identities.groups import Groups
from penstock.api.aws.iam.shapes import named, paged
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request

__all__ = ["group_handlers"]


def group_handlers(groups: Groups) -> dict[str, Handler]:
    """Return the handlers by operation name."""

    def create(request: Request, context: RequestContext) -> Request:
        return {"Group": _group(groups.create(context.account, request["GroupName"], path=request.get("Path", "/")))}

    def get(request: Request, context: RequestContext) -> Request:
        group = groups.get(context.account, request["GroupName"])
        users = groups.users(context.account, group.name)
        page = paged(request, f"users:{group.name}", "Users", users, key=lambda user: user.name.lower(), shape=_user)
        return {"Group": _group(group), **page}

    def list_all(request: Request, context: RequestContext) -> Request:
        matches = groups.list(context.account, request.get("PathPrefix", "/"))
        return _page(request, "groups", matches)

    def of_user(request: Request, context: RequestContext) -> Request:
        name = request["UserName"]
        return _page(request, f"groups:{name.lower()}", groups.of_user(context.account, name))

    def add_user(request: Request, context: RequestContext) -> Request:
        groups.add_user(context.account, request["GroupName"], request["UserName"])
        return {}

    def remove_user(request: Request, context: RequestContext) -> Request:
        groups.remove_user(context.account, request["GroupName"], request["UserName"])
        return {}

    def delete(request: Request, context: RequestContext) -> Request:
        groups.delete(context.account, request["GroupName"])
        return {}

    return {
        "CreateGroup": create,
        "GetGroup": get,
        "ListGroups": list_all,
        "ListGroupsForUser": of_user,
        "AddUserToGroup": add_user,
        "RemoveUserFromGroup": remove_user,
        "DeleteGroup": delete,
    }


def _page(request: Request, listing: str, groups: Any) -> Request:
    return paged(request, listing, "Groups", groups, key=lambda group: group.name.lower(), shape=_group)


def _group(group: Group) -> dict[str, Any]:
    return named("Group", group)


def _user(user: User) -> dict[str, Any]:
    return named("User", user)
