"""IAM's operations on groups and their users."""

from functools import partial

from penstock.access.identities.groups import Groups
from penstock.api.aws.iam.shapes import PATH, list_handler, named, paged
from penstock.api.aws.protocol.handlers import account, call, under
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request

__all__ = ["group_handlers"]

_shape = partial(named, "Group")


def group_handlers(groups: Groups) -> dict[str, Handler]:
    """Return the handlers by operation name."""

    def get(request: Request, context: RequestContext) -> Request:
        group = groups.get(context.account, request["GroupName"])
        users, shape = groups.users(context.account, group.name), partial(named, "User")
        page = paged(request, f"users:{group.name}", "Users", users, key=lambda user: user.name.lower(), shape=shape)
        return {"Group": _shape(group), **page}

    def of_user(request: Request, context: RequestContext) -> Request:
        name = request["UserName"]
        own = groups.of_user(context.account, name)
        return paged(request, f"groups:{name.lower()}", "Groups", own, key=lambda group: group.name.lower(), shape=_shape)

    return {
        "CreateGroup": call(groups.create, account, "GroupName", path=PATH, answer=under("Group", _shape)),
        "GetGroup": get,
        "ListGroups": list_handler("Groups", groups.list, _shape),
        "ListGroupsForUser": of_user,
        "AddUserToGroup": call(groups.add_user, account, "GroupName", "UserName"),
        "RemoveUserFromGroup": call(groups.remove_user, account, "GroupName", "UserName"),
        "DeleteGroup": call(groups.delete, account, "GroupName"),
    }
