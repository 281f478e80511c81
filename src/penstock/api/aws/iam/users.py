"""IAM's operations on users and access keys."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from penstock.access.entities import NoSuchEntity, User
from penstock.access.identities.accounts import Accounts
from penstock.access.identities.users import Users
from penstock.access.keys import AccessKey
from penstock.api.aws.iam.shapes import PATH, boundary_shape, list_handler, named, paged, tags_of, tags_shape
from penstock.api.aws.protocol.handlers import account, call, member, under
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request, present
from penstock.errors import InvalidInput

__all__ = ["other_credential_handlers", "resolve_user", "user_handlers"]


class NeedsUserName(InvalidInput):
    """The caller is not a user, so the request has to name one."""

    aws_code = "ValidationError"


def user_handlers(users: Users, accounts: Accounts) -> dict[str, Handler]:
    """Return the handlers by operation name; ``accounts`` has the time at which an account's root was created."""

    def get(request: Request, context: RequestContext) -> Request:
        caller = context.caller_or_root
        name = request.get("UserName") or caller.user_name
        if name is None and caller.is_root:
            # The root has neither a name nor a path.
            created = accounts.get(caller.account).created
            return {"User": {"UserId": caller.account, "Arn": caller.principal, "CreateDate": created}}
        if name is None:
            raise NeedsUserName("Must specify userName when calling with non-User credentials")
        return {"User": _whole(users.get(context.account, name))}

    def list_keys(request: Request, context: RequestContext) -> Request:
        keys = users.keys(context.account, resolve_user(request, context))
        return paged(request, "keys", "AccessKeyMetadata", keys, key=lambda key: key.access_key_id, shape=_key)

    return {
        "CreateUser": call(
            users.create,
            account,
            "UserName",
            path=PATH,
            tags=tags_of,
            boundary=member("PermissionsBoundary", default=None),
            answer=under("User", _whole),
        ),
        "GetUser": get,
        "ListUsers": list_handler("Users", users.list, partial(named, "User")),
        "DeleteUser": call(users.delete, account, "UserName"),
        "CreateAccessKey": call(users.create_key, account, resolve_user, answer=under("AccessKey", _new_key)),
        "ListAccessKeys": list_keys,
        "UpdateAccessKey": call(
            users.set_active, account, resolve_user, "AccessKeyId", member("Status", lambda status: status == "Active")
        ),
        "DeleteAccessKey": call(users.delete_key, account, resolve_user, "AccessKeyId"),
    }


def resolve_user(request: Request, context: RequestContext) -> str | None:
    """Return the user of a request on credentials: the named one, else the caller; None for the account's root."""
    name: str | None = request.get("UserName")
    if name is not None:
        return name
    caller = context.caller_or_root
    own = caller.user_name
    if own is None and not caller.is_root:
        raise NeedsUserName("Must specify userName when calling with non-User credentials")
    return own


def _whole(user: User) -> dict[str, Any]:
    """Return the user's members in the answers of CreateUser and GetUser."""
    return named("User", user) | present(PermissionsBoundary=boundary_shape(user), Tags=tags_shape(user))


def _key(key: AccessKey) -> dict[str, Any]:
    name = key.principal.rpartition("/")[2] if "/" in key.principal else None
    status = "Active" if key.active else "Inactive"
    return present(UserName=name, AccessKeyId=key.access_key_id, Status=status, CreateDate=key.created)


def _new_key(key: AccessKey) -> dict[str, Any]:
    return _key(key) | {"SecretAccessKey": key.secret_access_key}


_LISTS: Mapping[str, str] = {
    "ListMFADevices": "MFADevices",
    "ListServiceSpecificCredentials": "ServiceSpecificCredentials",
    "ListSigningCertificates": "Certificates",
    "ListSSHPublicKeys": "SSHPublicKeys",
}


def other_credential_handlers(users: Users) -> dict[str, Handler]:
    """Return the handlers by operation name; each raises :class:`NoSuchEntity` if the user does not exist."""

    def checked(request: Request, context: RequestContext) -> str:
        name = resolve_user(request, context)
        return "root" if name is None else users.get(context.account, name).name

    def none_of(member: str) -> Handler:
        def listed(request: Request, context: RequestContext) -> Request:
            checked(request, context)
            return _empty_page(request, member)

        return listed

    def no_password(request: Request, context: RequestContext) -> Request:
        raise NoSuchEntity(f"Login Profile for User {checked(request, context)} cannot be found.")

    def no_devices(request: Request, _context: RequestContext) -> Request:
        # There are no assigned and no unassigned devices: the answer is the same for each status.
        request.get("AssignmentStatus")
        return _empty_page(request, "VirtualMFADevices")

    return {
        **{operation: none_of(member) for operation, member in _LISTS.items()},
        "ListVirtualMFADevices": no_devices,
        "GetLoginProfile": no_password,
        "DeleteLoginProfile": no_password,
    }


def _empty_page(request: Request, member: str) -> Request:
    return paged(request, member, member, list[str](), key=str, shape=str)
