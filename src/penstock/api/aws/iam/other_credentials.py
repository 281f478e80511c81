"""Credentials of the kinds that no user has here: they are listed as none, as for a user of AWS that never had any.

Who deletes a user looks for each of them first, as Terraform's ``force_destroy`` does. Source: IAM API reference.
"""

from collections.abc import Mapping

from penstock.access.identities.entities import NoSuchEntity
from penstock.access.identities.users import Users
from penstock.api.aws.iam.shapes import paged
from penstock.api.aws.iam.users import user_meant
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.registry.shapes import Request

__all__ = ["other_credential_handlers"]

_LISTS: Mapping[str, str] = {
    "ListMFADevices": "MFADevices",
    "ListServiceSpecificCredentials": "ServiceSpecificCredentials",
    "ListSigningCertificates": "Certificates",
    "ListSSHPublicKeys": "SSHPublicKeys",
}


def other_credential_handlers(users: Users) -> dict[str, Handler]:
    """The handlers by operation name; each looks whether the user is there (:class:`NoSuchEntity`)."""

    def checked(request: Request, context: RequestContext) -> str:
        name = user_meant(request, context)
        return "root" if name is None else users.get(context.account, name).name

    def none_of(member: str) -> Handler:
        def listed(request: Request, context: RequestContext) -> Request:
            checked(request, context)
            return _nothing(request, member)

        return listed

    def no_password(request: Request, context: RequestContext) -> Request:
        raise NoSuchEntity(f"Login Profile for User {checked(request, context)} cannot be found.")

    def no_devices(request: Request, _context: RequestContext) -> Request:
        # Neither assigned ones nor others: the answer is the same for each.
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
