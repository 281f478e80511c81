"""Attacks on a Deny on identities and accounts: each operation of IAM, STS and Organizations that is served."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Protocol

__all__ = ["DENIED", "LISTED", "NEITHER", "make_identities"]

Arguments = Mapping[str, Any]
_POLICY = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]})


class Named(Protocol):
    """The part of the test's world that is needed here."""

    @property
    def target(self) -> Any: ...
    @property
    def secret(self) -> str:
        """The name of everything that is hidden."""

    @property
    def shown(self) -> str:
        """The name of everything that is not."""

    @property
    def hidden_account(self) -> str: ...


def make_identities(target: Any, shown: str, hidden: str) -> str:
    """Make a user, group, role, policy, profile and provider of each name, each holding the other's; the hidden account."""
    iam = target.client("iam")
    for name in (shown, hidden):
        iam.create_user(UserName=name)
        iam.create_group(GroupName=name)
        iam.create_role(RoleName=name, AssumeRolePolicyDocument=_trust(target))
        iam.create_policy(PolicyName=name, PolicyDocument=_POLICY)
        iam.create_instance_profile(InstanceProfileName=name)
        iam.create_open_id_connect_provider(Url=f"https://{name}.example.com", ClientIDList=["c"])
    for one, other in ((shown, hidden), (hidden, shown)):
        policy = _arn(target, f"policy/{one}")
        iam.add_user_to_group(GroupName=one, UserName=other)
        iam.attach_user_policy(UserName=other, PolicyArn=policy)
        iam.attach_group_policy(GroupName=other, PolicyArn=policy)
        iam.attach_role_policy(RoleName=other, PolicyArn=policy)
        iam.add_role_to_instance_profile(InstanceProfileName=one, RoleName=other)
    organizations = target.client("organizations")
    made = organizations.create_account(AccountName=hidden, Email=f"{hidden}@example.com")["CreateAccountStatus"]
    return str(made["AccountId"])


def _trust(target: Any) -> str:
    statement = {"Effect": "Allow", "Principal": {"AWS": target.account}, "Action": "sts:AssumeRole"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def _arn(target: Any, resource: str) -> str:
    return f"arn:aws:iam::{target.account}:{resource}"


def _user(**more: Any) -> Callable[[Named], Arguments]:
    return lambda world: {"UserName": world.secret, **more}


def _role(**more: Any) -> Callable[[Named], Arguments]:
    return lambda world: {"RoleName": world.secret, **more}


def _group(**more: Any) -> Callable[[Named], Arguments]:
    # IAM's names are case-insensitive.
    return lambda world: {"GroupName": world.secret.upper(), **more}


def _member(world: Named) -> Arguments:
    return {"GroupName": world.secret, "UserName": world.shown}


def _profile(**more: Any) -> Callable[[Named], Arguments]:
    return lambda world: {"InstanceProfileName": world.secret, **more}


def _policy(**more: Any) -> Callable[[Named], Arguments]:
    return lambda world: {"PolicyArn": _arn(world.target, f"policy/{world.secret}"), **more}


def _provider(**more: Any) -> Callable[[Named], Arguments]:
    return lambda world: {
        "OpenIDConnectProviderArn": _arn(world.target, f"oidc-provider/{world.secret}.example.com"),
        **more,
    }


_TAGS = [{"Key": "a", "Value": "b"}]
_INLINE = {"PolicyName": "p", "PolicyDocument": _POLICY}
_ADMIN = {"PolicyArn": "arn:aws:iam::aws:policy/AdministratorAccess"}
_BOUND = {"PermissionsBoundary": _ADMIN["PolicyArn"]}


def _of_holder(noun: str, of: Callable[..., Callable[[Named], Arguments]]) -> dict[str, Callable[[Named], Arguments]]:
    return {
        f"Put{noun}Policy": of(**_INLINE),
        f"Get{noun}Policy": of(PolicyName="p"),
        f"List{noun}Policies": of(),
        f"Delete{noun}Policy": of(PolicyName="p"),
        f"Attach{noun}Policy": of(**_ADMIN),
        f"Detach{noun}Policy": of(**_ADMIN),
        f"ListAttached{noun}Policies": of(),
        f"Delete{noun}": of(),
        f"Get{noun}": of(),
    }


def _of_tagged(
    noun: str, of: Callable[..., Callable[[Named], Arguments]], *, bounded: bool = False
) -> dict[str, Callable[[Named], Arguments]]:
    bounds = {f"Put{noun}PermissionsBoundary": of(**_BOUND), f"Delete{noun}PermissionsBoundary": of()} if bounded else {}
    return {f"Tag{noun}": of(Tags=_TAGS), f"Untag{noun}": of(TagKeys=["a"]), f"List{noun}Tags": of(), **bounds}


_KEY = {"AccessKeyId": "AKIAIOSFODNN7EXAMPLE"}
_IAM: Mapping[str, Callable[[Named], Arguments]] = {
    **_of_holder("User", _user),
    **_of_holder("Role", _role),
    **_of_holder("Group", _group),
    **_of_tagged("User", _user, bounded=True),
    **_of_tagged("Role", _role, bounded=True),
    **_of_tagged("InstanceProfile", _profile),
    **_of_tagged("Policy", _policy),
    **_of_tagged("OpenIDConnectProvider", _provider),
    "CreateUser": _user(),
    "ListGroupsForUser": _user(),
    "CreateAccessKey": _user(),
    "ListAccessKeys": _user(),
    # Credentials that users never have here, and that clients list before they delete a user.
    "GetLoginProfile": _user(),
    "DeleteLoginProfile": _user(),
    "ListMFADevices": _user(),
    "ListSSHPublicKeys": _user(),
    "ListServiceSpecificCredentials": _user(),
    "ListSigningCertificates": _user(),
    "UpdateAccessKey": _user(Status="Inactive", **_KEY),
    "DeleteAccessKey": _user(**_KEY),
    "CreateRole": lambda world: {"RoleName": world.secret, "AssumeRolePolicyDocument": _trust(world.target)},
    "UpdateRole": _role(Description="x"),
    "UpdateRoleDescription": _role(Description="x"),
    "UpdateAssumeRolePolicy": lambda world: {"RoleName": world.secret, "PolicyDocument": _trust(world.target)},
    "ListInstanceProfilesForRole": _role(),
    "CreateGroup": lambda world: {"GroupName": world.secret},
    "AddUserToGroup": _member,
    "RemoveUserFromGroup": _member,
    "CreateInstanceProfile": _profile(),
    "GetInstanceProfile": _profile(),
    "DeleteInstanceProfile": _profile(),
    "AddRoleToInstanceProfile": lambda world: {"InstanceProfileName": world.secret, "RoleName": world.shown},
    "RemoveRoleFromInstanceProfile": lambda world: {"InstanceProfileName": world.secret, "RoleName": world.shown},
    "CreatePolicy": lambda world: {"PolicyName": world.secret, "PolicyDocument": _POLICY},
    "GetPolicy": _policy(),
    "DeletePolicy": _policy(),
    "CreatePolicyVersion": _policy(PolicyDocument=_POLICY),
    "GetPolicyVersion": _policy(VersionId="v1"),
    "ListPolicyVersions": _policy(),
    "SetDefaultPolicyVersion": _policy(VersionId="v1"),
    "DeletePolicyVersion": _policy(VersionId="v2"),
    "ListEntitiesForPolicy": _policy(),
    "CreateOpenIDConnectProvider": lambda world: {"Url": f"https://{world.secret}.example.com", "ClientIDList": ["c"]},
    "GetOpenIDConnectProvider": _provider(),
    "DeleteOpenIDConnectProvider": _provider(),
    "UpdateOpenIDConnectProviderThumbprint": _provider(ThumbprintList=["a" * 40]),
    "AddClientIDToOpenIDConnectProvider": _provider(ClientID="d"),
    "RemoveClientIDFromOpenIDConnectProvider": _provider(ClientID="c"),
    "DeleteServiceLinkedRole": _role(),
    "SimulatePrincipalPolicy": lambda world: {
        "PolicySourceArn": _arn(world.target, f"user/{world.secret}"),
        "ActionNames": ["glue:GetTable"],
    },
}
_ORGANIZATIONS: Mapping[str, Callable[[Named], Arguments]] = {
    "DescribeAccount": lambda world: {"AccountId": world.hidden_account},
    "DescribeCreateAccountStatus": lambda world: {"CreateAccountRequestId": f"car-{world.hidden_account}"},
    "ListParents": lambda world: {"ChildId": world.hidden_account},
    "ListPoliciesForTarget": lambda world: {"TargetId": world.hidden_account, "Filter": "SERVICE_CONTROL_POLICY"},
    "ListTagsForResource": lambda world: {"ResourceId": world.hidden_account},
}

DENIED: Mapping[tuple[str, str], Callable[[Named], Arguments]] = {
    **{("iam", name): arguments for name, arguments in _IAM.items()},
    **{("organizations", name): arguments for name, arguments in _ORGANIZATIONS.items()},
    ("sts", "AssumeRole"): lambda world: {
        "RoleArn": _arn(world.target, f"role/{world.secret}"),
        "RoleSessionName": "session",
    },
    ("sts", "GetFederationToken"): lambda world: {"Name": world.secret},
}

LISTED: Mapping[tuple[str, str], Callable[[Named], Arguments]] = {
    ("iam", "ListUsers"): lambda _: {},
    ("iam", "ListRoles"): lambda _: {},
    ("iam", "ListGroups"): lambda _: {},
    ("iam", "ListPolicies"): lambda _: {"Scope": "Local"},
    ("iam", "ListInstanceProfiles"): lambda _: {},
    ("iam", "ListOpenIDConnectProviders"): lambda _: {},
    ("iam", "ListAttachedUserPolicies"): lambda world: {"UserName": world.shown},
    ("iam", "ListAttachedRolePolicies"): lambda world: {"RoleName": world.shown},
    ("iam", "ListAttachedGroupPolicies"): lambda world: {"GroupName": world.shown},
    ("iam", "ListGroupsForUser"): lambda world: {"UserName": world.shown},
    ("iam", "ListInstanceProfilesForRole"): lambda world: {"RoleName": world.shown},
    ("iam", "ListEntitiesForPolicy"): lambda world: {"PolicyArn": _arn(world.target, f"policy/{world.shown}")},
    ("iam", "GetGroup"): lambda world: {"GroupName": world.shown},
    ("iam", "GetInstanceProfile"): lambda world: {"InstanceProfileName": world.shown},
    ("organizations", "ListAccounts"): lambda _: {},
    ("organizations", "ListAccountsForParent"): lambda _: {"ParentId": "r-penstock"},
    ("organizations", "ListChildren"): lambda _: {"ParentId": "r-penstock", "ChildType": "ACCOUNT"},
    ("organizations", "ListCreateAccountStatus"): lambda _: {},
}

NEITHER = {
    # Of the caller itself, or of what a token says: the role's trust policy decides.
    ("sts", "AssumeRoleWithWebIdentity"),
    ("sts", "GetCallerIdentity"),
    ("sts", "GetSessionToken"),
    # Has no resource, or one that there is once.
    ("cloudtrail", "LookupEvents"),
    ("organizations", "CreateAccount"),
    ("organizations", "DescribeOrganization"),
    ("organizations", "ListRoots"),
    # Of virtual MFA devices there are none.
    ("iam", "ListVirtualMFADevices"),
    # About the account as a whole, or about nothing that is stored.
    *(("iam", f"{verb}AccountAlias{s}") for verb, s in (("Create", ""), ("Delete", ""), ("List", "es"))),
    ("iam", "GetAccountSummary"),
    # Its documents name what is hidden: test_deny.py looks at the names.
    ("iam", "GetAccountAuthorizationDetails"),
    # Of services' own roles, whose names the services choose.
    ("iam", "CreateServiceLinkedRole"),
    ("iam", "GetServiceLinkedRoleDeletionStatus"),
    ("iam", "SimulateCustomPolicy"),
    # About units and policies, of which an organization here has none.
    ("organizations", "DescribeOrganizationalUnit"),
    ("organizations", "DescribePolicy"),
    ("organizations", "ListAWSServiceAccessForOrganization"),
    ("organizations", "ListDelegatedAdministrators"),
    ("organizations", "ListOrganizationalUnitsForParent"),
    ("organizations", "ListPolicies"),
}
