"""Which resources the operations of IAM, STS and Organizations are authorized on."""

from collections.abc import Sequence

from penstock.access.identities.accounts import account_arn
from penstock.api.aws.authorization.resource_context import EVERYTHING, Builder, ResourceContext, each_by
from penstock.api.aws.protocol.values import Request
from penstock.names import arn

__all__ = ["IAM", "ORGANIZATIONS", "STS"]


def _user(request: Request, context: ResourceContext) -> Sequence[str]:
    return (_entity("user", request.get("UserName"), request, context),)


def _user_or_caller(request: Request, context: ResourceContext) -> Sequence[str]:
    return (_entity("user", request.get("UserName") or context.user, request, context),)


def _role(request: Request, context: ResourceContext) -> Sequence[str]:
    return (_entity("role", request.get("RoleName"), request, context),)


def _linked_role(request: Request, context: ResourceContext) -> Sequence[str]:
    task = str(request.get("DeletionTaskId", "")).split("/")
    service = request.get("AWSServiceName") or (task[2] if len(task) > 2 else "*")
    return (arn("iam", "", context.account, f"role/aws-service-role/{service}/*"),)


def _group(request: Request, context: ResourceContext) -> Sequence[str]:
    return (_entity("group", request.get("GroupName"), request, context),)


def _profile(request: Request, context: ResourceContext) -> Sequence[str]:
    return (_entity("profile", request.get("InstanceProfileName"), request, context),)


def _oidc(request: Request, _resource_context: ResourceContext) -> Sequence[str]:
    return (request["OpenIDConnectProviderArn"],)


def _new_oidc(request: Request, context: ResourceContext) -> Sequence[str]:
    return (arn("iam", "", context.account, f"oidc-provider/{request['Url'].removeprefix('https://')}"),)


def _all_oidc(_request: Request, context: ResourceContext) -> Sequence[str]:
    return (arn("iam", "", context.account, "oidc-provider/*"),)


def _federated_user(request: Request, context: ResourceContext) -> Sequence[str]:
    return (arn("sts", "", context.account, f"federated-user/{request['Name']}"),)


def _new_policy(request: Request, context: ResourceContext) -> Sequence[str]:
    return (_entity("policy", request["PolicyName"], request, context),)


def _policy(request: Request, _resource_context: ResourceContext) -> Sequence[str]:
    return (request["PolicyArn"],)


def _entity(kind: str, name: str | None, request: Request, context: ResourceContext) -> str:
    shown = "instance-profile" if kind == "profile" else kind
    if name is None:
        return arn("iam", "", context.account, f"{shown}/*")
    found = context.lookup.entity_arn(kind, name)
    return found or arn("iam", "", context.account, f"{shown}{request.get('Path', '/')}{name}")


def _organizations_account(request: Request, context: ResourceContext) -> Sequence[str]:
    named = next(filter(None, map(request.get, _NAMING_ACCOUNTS)))
    account = named.removeprefix("car-")
    # The root and units are named by the same members.
    return (account_arn(account, context.account),) if account.isdigit() else EVERYTHING


_ON_USERS = ("PutUserPolicy", "GetUserPolicy", "ListUserPolicies", "DeleteUserPolicy", "AttachUserPolicy")
_ON_ROLES = ("PutRolePolicy", "GetRolePolicy", "ListRolePolicies", "DeleteRolePolicy", "AttachRolePolicy")
IAM: dict[str, Builder] = {
    **each_by(_user, *_ON_USERS, "DetachUserPolicy", "ListAttachedUserPolicies", "TagUser", "UntagUser", "ListUserTags"),
    **each_by(_user, "CreateUser", "ListUsers", "DeleteUser", "ListGroupsForUser"),
    **each_by(_user_or_caller, "GetLoginProfile", "DeleteLoginProfile", "ListServiceSpecificCredentials"),
    **each_by(_user_or_caller, "ListMFADevices", "ListSigningCertificates", "ListSSHPublicKeys"),
    **each_by(_user, "PutUserPermissionsBoundary", "DeleteUserPermissionsBoundary"),
    **each_by(_group, "CreateGroup", "GetGroup", "ListGroups", "DeleteGroup", "AddUserToGroup", "RemoveUserFromGroup"),
    **each_by(_group, "PutGroupPolicy", "GetGroupPolicy", "ListGroupPolicies", "DeleteGroupPolicy", "AttachGroupPolicy"),
    **each_by(_group, "DetachGroupPolicy", "ListAttachedGroupPolicies"),
    **each_by(_profile, "CreateInstanceProfile", "GetInstanceProfile", "ListInstanceProfiles", "DeleteInstanceProfile"),
    **each_by(_profile, "AddRoleToInstanceProfile", "RemoveRoleFromInstanceProfile", "ListInstanceProfileTags"),
    **each_by(_profile, "TagInstanceProfile", "UntagInstanceProfile"),
    **each_by(_user_or_caller, "GetUser", "CreateAccessKey", "ListAccessKeys", "UpdateAccessKey", "DeleteAccessKey"),
    **each_by(_role, *_ON_ROLES, "DetachRolePolicy", "ListAttachedRolePolicies", "TagRole", "UntagRole", "ListRoleTags"),
    **each_by(_role, "CreateRole", "GetRole", "ListRoles", "UpdateRole", "UpdateAssumeRolePolicy", "DeleteRole"),
    **each_by(_role, "PutRolePermissionsBoundary", "DeleteRolePermissionsBoundary", "ListInstanceProfilesForRole"),
    **each_by(_role, "UpdateRoleDescription"),
    "CreatePolicy": _new_policy,
    **each_by(_policy, "GetPolicy", "DeletePolicy", "CreatePolicyVersion", "GetPolicyVersion", "ListPolicyVersions"),
    **each_by(_policy, "SetDefaultPolicyVersion", "DeletePolicyVersion", "ListEntitiesForPolicy"),
    **each_by(_oidc, "GetOpenIDConnectProvider", "DeleteOpenIDConnectProvider", "UpdateOpenIDConnectProviderThumbprint"),
    **each_by(_oidc, "AddClientIDToOpenIDConnectProvider", "RemoveClientIDFromOpenIDConnectProvider"),
    **each_by(_oidc, "TagOpenIDConnectProvider", "UntagOpenIDConnectProvider", "ListOpenIDConnectProviderTags"),
    "CreateOpenIDConnectProvider": _new_oidc,
    "ListOpenIDConnectProviders": _all_oidc,
    **each_by(_policy, "TagPolicy", "UntagPolicy", "ListPolicyTags"),
    **each_by(_linked_role, "CreateServiceLinkedRole", "GetServiceLinkedRoleDeletionStatus"),
    "DeleteServiceLinkedRole": _role,
    "SimulatePrincipalPolicy": lambda request, _context: (request["PolicySourceArn"],),
}
_NAMING_ACCOUNTS = ("AccountId", "ChildId", "CreateAccountRequestId", "ResourceId", "TargetId")
ORGANIZATIONS: dict[str, Builder] = {
    # A CreateAccount status is authorized as the account itself: it contains the same.
    **each_by(_organizations_account, "DescribeAccount", "DescribeCreateAccountStatus", "ListParents"),
    **each_by(_organizations_account, "ListPoliciesForTarget", "ListTagsForResource"),
}
STS: dict[str, Builder] = {"GetFederationToken": _federated_user}
