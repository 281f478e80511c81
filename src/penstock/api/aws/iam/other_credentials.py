"""Kinds of credentials that no user has here: lists of them are empty, as for an AWS user that never had any.

Clients that delete a user list each kind first, as Terraform's ``force_destroy`` does. Source: IAM API reference.
"""

from collections.abc import Mapping

from penstock.access.identities.entities import NoSuchEntity
from penstock.access.identities.users import Users
from penstock.api.aws.iam.shapes import paged
from penstock.api.aws.iam.users import resolve_user
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request

__all__ = ["other_credential_handlers"]

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
            return _nothing(request, member)

        return listed

    def no_password(request: Request, context: RequestContext) -> Request:
        raise NoSuchEntity(f"Login Profile for User {checked(request, context)} cannot be found.")

    def no_devices(request: Request, _context: RequestContext) -> Request:
        # There are no assigned and no unassigned devices: the answer is the same for each status.
        request.get("AssignmentStatus")
        return _nothing(request, "VirtualMFADevices")

    return {
        **{operation: none_of(member) for operation, member in _LISTS.items()},
        "ListVirtualMFADevices": no_devices,
        "GetLoginProfile": no_password,
        "DeleteLoginProfile": no_password,
    }


def _nothing(request: Request, member: str) -> Request:
    none: list[str] = []
    return paged(request, member, member, none, key=str, shape=str)
