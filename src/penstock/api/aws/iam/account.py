"""IAM's operations on a whole account: aliases, counts, all entities at once, service-linked roles."""

from collections.abc import Callable, Sequence
from typing import Any

from penstock.access.entities import (
    EntityKind,
    Group,
    Identity,
    InstanceProfile,
    ManagedPolicy,
    NoSuchEntity,
    Role,
    User,
)
from penstock.access.identities.aliases import Aliases
from penstock.access.identities.managed_policies import ManagedPolicies, PolicyUsage
from penstock.access.identities.roles import Roles
from penstock.access.keys import AccessStore
from penstock.api.aws.iam.roles import role_shape
from penstock.api.aws.iam.shapes import boundary_shape, document, named, paged, tags_shape
from penstock.api.aws.protocol.handlers import account, call, member, under
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request, present

__all__ = ["account_handlers"]

# IAM user guide, "IAM and AWS STS quotas": those that hold here.
_QUOTAS = {
    "AccessKeysPerUserQuota": 2,
    "AssumeRolePolicySizeQuota": 2_048,
    "AttachedPoliciesPerGroupQuota": 10,
    "AttachedPoliciesPerRoleQuota": 10,
    "AttachedPoliciesPerUserQuota": 10,
    "GroupPolicySizeQuota": 5_120,
    "PolicySizeQuota": 6_144,
    "RolePolicySizeQuota": 10_240,
    "UserPolicySizeQuota": 2_048,
    "VersionsPerPolicyQuota": 5,
}
_COUNTED = {
    "Users": EntityKind.USER,
    "Roles": EntityKind.ROLE,
    "Groups": EntityKind.GROUP,
    "Policies": EntityKind.POLICY,
    "InstanceProfiles": EntityKind.PROFILE,
    "Providers": EntityKind.OIDC,
}


def account_handlers(store: AccessStore, aliases: Aliases, roles: Roles, policies: ManagedPolicies) -> dict[str, Handler]:
    """Return the handlers by operation name."""
    return {**_alias_handlers(aliases), **_whole_account_handlers(store, policies), **_linked_role_handlers(roles)}


def _alias_handlers(aliases: Aliases) -> dict[str, Handler]:
    def list_all(request: Request, context: RequestContext) -> Request:
        return paged(request, "aliases", "AccountAliases", aliases.list(context.account), key=str, shape=str)

    return {
        "CreateAccountAlias": call(aliases.create, account, "AccountAlias"),
        "ListAccountAliases": list_all,
        "DeleteAccountAlias": call(aliases.delete, account, "AccountAlias"),
    }


def _whole_account_handlers(store: AccessStore, policies: ManagedPolicies) -> dict[str, Handler]:
    def summary(_request: Request, context: RequestContext) -> Request:
        by_type = {name: store.list_entities(entity_type, context.account) for name, entity_type in _COUNTED.items()}
        own = [policy for policy in by_type["Policies"] if isinstance(policy, ManagedPolicy)]
        root = any(key.principal.endswith(":root") for key in store.list(context.account))
        counts = {
            **{name: len(entities) for name, entities in by_type.items()},
            "AccountAccessKeysPresent": int(root),
            "AccountMFAEnabled": 0,
            "AccountSigningCertificatesPresent": 0,
            "MFADevices": 0,
            "MFADevicesInUse": 0,
            "PolicyVersionsInUse": sum(len(managed_policy.versions) for managed_policy in own),
            "ServerCertificates": 0,
        }
        return {"SummaryMap": counts | _QUOTAS}

    def details(request: Request, context: RequestContext) -> Request:
        types = set(request.get("Filter") or ("User", "Role", "Group", "LocalManagedPolicy", "AWSManagedPolicy"))
        entities = [detail for detail in _details(store, policies, context.account) if detail[0] in types]
        page = paged(request, f"details:{sorted(types)}", "All", entities, key=lambda pair: pair[1], shape=_of_entity)
        answer: dict[str, Any] = {"UserDetailList": [], "GroupDetailList": [], "RoleDetailList": [], "Policies": []}
        for filter_name, shape in page["All"]:
            answer["Policies" if filter_name.endswith("Policy") else f"{filter_name}DetailList"].append(shape)
        return answer | {name: value for name, value in page.items() if name != "All"}

    return {"GetAccountSummary": summary, "GetAccountAuthorizationDetails": details}


_Described = tuple[str, str, Callable[[], dict[str, Any]]]


def _of_entity(described: _Described) -> tuple[str, dict[str, Any]]:
    return described[0], described[2]()


def _details(store: AccessStore, policies: ManagedPolicies, account: str) -> list[_Described]:
    """Return the type, the ARN and what makes the shape of every entity."""
    profiles = [entity for entity in store.list_entities(EntityKind.PROFILE, account) if isinstance(entity, InstanceProfile)]
    usage = policies.usage(account)
    details: list[_Described] = []
    for identity in store.list_identities(account):
        filter_name = type(identity).__name__
        details.append((filter_name, identity.arn, lambda item=identity: _identity_detail(item, profiles)))  # type: ignore[misc]
    for policy in policies.list(account):
        filter_name = "LocalManagedPolicy" if policy.account == account else "AWSManagedPolicy"
        if filter_name == "LocalManagedPolicy" or usage.attached.get(policy.arn) or usage.bounding.get(policy.arn):
            # Of AWS's policies, those that are used: as AWS answers.
            details.append((filter_name, policy.arn, lambda item=policy: _policy_detail(item, usage)))  # type: ignore[misc]
    return details


def _identity_detail(identity: Identity, profiles: Sequence[InstanceProfile]) -> dict[str, Any]:
    entity_type = type(identity).__name__
    shape = named(entity_type, identity) | {
        f"{entity_type}PolicyList": [
            {"PolicyName": name, "PolicyDocument": document(text)} for name, text in sorted(identity.inline.items())
        ],
        "AttachedManagedPolicies": [
            {"PolicyName": arn.rpartition("/")[2], "PolicyArn": arn} for arn in sorted(identity.attached)
        ],
    }
    if isinstance(identity, User):
        return shape | present(
            GroupList=list(identity.groups), PermissionsBoundary=boundary_shape(identity), Tags=tags_shape(identity) or []
        )
    if isinstance(identity, Role):
        own = [profile for profile in profiles if (profile.role or "").lower() == identity.name.lower()]
        return shape | present(
            AssumeRolePolicyDocument=document(identity.trust),
            InstanceProfileList=[
                named("InstanceProfile", instance_profile) | {"Roles": [role_shape(identity)]} for instance_profile in own
            ],
            PermissionsBoundary=boundary_shape(identity),
            Tags=tags_shape(identity) or [],
            RoleLastUsed={},
        )
    assert isinstance(identity, Group)
    return shape


def _policy_detail(policy: ManagedPolicy, usage: PolicyUsage) -> dict[str, Any]:
    return present(
        **named("Policy", policy),
        DefaultVersionId=f"v{policy.default}",
        AttachmentCount=usage.attached.get(policy.arn, 0),
        PermissionsBoundaryUsageCount=usage.bounding.get(policy.arn, 0),
        IsAttachable=True,
        Description=policy.description,
        UpdateDate=policy.updated,
        PolicyVersionList=[
            {
                "Document": document(version.document),
                "VersionId": f"v{version.number}",
                "IsDefaultVersion": version.number == policy.default,
                "CreateDate": version.created,
            }
            for version in policy.versions
        ],
    )


def _linked_role_handlers(roles: Roles) -> dict[str, Handler]:
    def delete(request: Request, context: RequestContext) -> Request:
        role = roles.delete_linked(context.account, request["RoleName"])
        return {"DeletionTaskId": f"task{role.path}{role.name}/{role.id}"}

    def status(request: Request, context: RequestContext) -> Request:
        parts = request["DeletionTaskId"].split("/")
        if len(parts) != 5 or parts[:2] != ["task", "aws-service-role"]:
            raise NoSuchEntity(f"There is no deletion task {request['DeletionTaskId'][:200]}.")
        # Nothing here uses such a role, so that it is deleted at once.
        deleted = all(role.id != parts[4] for role in roles.list(context.account))
        return {"Status": "SUCCEEDED" if deleted else "IN_PROGRESS"}

    return {
        "CreateServiceLinkedRole": call(
            roles.create_linked,
            account,
            "AWSServiceName",
            suffix=member("CustomSuffix", default=""),
            description=member("Description", default=None),
            answer=under("Role", role_shape),
        ),
        "DeleteServiceLinkedRole": delete,
        "GetServiceLinkedRoleDeletionStatus": status,
    }
