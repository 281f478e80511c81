"""IAM's operations on managed policies and their versions."""

import re
from typing import Any

from penstock.access.entities import Identity, ManagedPolicy, NoSuchEntity, PolicyVersion
from penstock.access.identities.managed_policies import ManagedPolicies, PolicyUsage
from penstock.api.aws.iam.shapes import document, named, paged, tags_of, tags_shape
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request, present

__all__ = ["policy_handlers"]

_IDENTITY_KINDS = ("User", "Role", "Group")
_VERSION = re.compile(r"v([1-9]\d{0,8})", re.ASCII)


def policy_handlers(policies: ManagedPolicies) -> dict[str, Handler]:
    """Return the handlers by operation name."""
    served = _Policies(policies)
    return {
        "CreatePolicy": served.create,
        "GetPolicy": served.get,
        "ListPolicies": served.list,
        "DeletePolicy": served.delete,
        "CreatePolicyVersion": served.create_version,
        "GetPolicyVersion": served.get_version,
        "ListPolicyVersions": served.list_versions,
        "SetDefaultPolicyVersion": served.set_default,
        "DeletePolicyVersion": served.delete_version,
        "ListEntitiesForPolicy": served.list_entities,
        "TagPolicy": served.tag,
        "UntagPolicy": served.untag,
        "ListPolicyTags": served.list_tags,
    }


class _Policies:
    def __init__(self, policies: ManagedPolicies) -> None:
        self._policies = policies

    def create(self, request: Request, context: RequestContext) -> Request:
        policy = self._policies.create(
            context.account,
            request["PolicyName"],
            request["PolicyDocument"],
            path=request.get("Path", "/"),
            description=request.get("Description"),
            tags=tags_of(request),
        )
        return {"Policy": _shape(policy, None) | present(Tags=tags_shape(policy))}

    def get(self, request: Request, context: RequestContext) -> Request:
        policy = self._policies.get(context.account, request["PolicyArn"])
        shape = _shape(policy, self._policies.usage(context.account))
        return {"Policy": shape | present(Description=policy.description, Tags=tags_shape(policy) or [])}

    def list(self, request: Request, context: RequestContext) -> Request:
        scope = request.get("Scope", "All")
        policies = self._policies.list(
            context.account, local=scope != "AWS", aws=scope != "Local", path_prefix=request.get("PathPrefix", "/")
        )
        usage = self._policies.usage(context.account)
        by = request.get("PolicyUsageFilter")
        attached = {
            *(usage.attached if by != "PermissionsBoundary" else ()),
            *(usage.bounding if by != "PermissionsPolicy" else ()),
        }
        if by is not None or request.get("OnlyAttached"):
            policies = [policy for policy in policies if policy.arn in attached]
        return paged(
            request,
            "policies",
            "Policies",
            policies,
            key=lambda policy: policy.arn,
            shape=lambda policy: _shape(policy, usage),
        )

    def delete(self, request: Request, context: RequestContext) -> Request:
        self._policies.delete(context.account, request["PolicyArn"])
        return {}

    def create_version(self, request: Request, context: RequestContext) -> Request:
        default = request.get("SetAsDefault", False)
        version = self._policies.add_version(
            context.account, request["PolicyArn"], request["PolicyDocument"], default=default
        )
        return {"PolicyVersion": _version(version, version.number if default else 0)}

    def get_version(self, request: Request, context: RequestContext) -> Request:
        policy = self._policies.get(context.account, request["PolicyArn"])
        version = self._policies.version(context.account, policy.arn, _number(request))
        return {"PolicyVersion": _version(version, policy.default) | {"Document": document(version.document)}}

    def list_versions(self, request: Request, context: RequestContext) -> Request:
        policy = self._policies.get(context.account, request["PolicyArn"])
        return paged(
            request,
            f"versions:{policy.arn}",
            "Versions",
            policy.versions,
            key=lambda version: f"{1_000_000_000 - version.number:010}",
            shape=lambda version: _version(version, policy.default),
        )

    def set_default(self, request: Request, context: RequestContext) -> Request:
        self._policies.set_default(context.account, request["PolicyArn"], _number(request))
        return {}

    def delete_version(self, request: Request, context: RequestContext) -> Request:
        self._policies.delete_version(context.account, request["PolicyArn"], _number(request))
        return {}

    def tag(self, request: Request, context: RequestContext) -> Request:
        self._policies.tag(context.account, request["PolicyArn"], add=tags_of(request))
        return {}

    def untag(self, request: Request, context: RequestContext) -> Request:
        self._policies.tag(context.account, request["PolicyArn"], remove=request["TagKeys"])
        return {}

    def list_tags(self, request: Request, context: RequestContext) -> Request:
        policy = self._policies.get(context.account, request["PolicyArn"])
        tags = tags_shape(policy) or []
        return paged(request, f"tags:{policy.arn}", "Tags", tags, key=lambda tag: tag["Key"], shape=dict)

    def list_entities(self, request: Request, context: RequestContext) -> Request:
        policy = self._policies.get(context.account, request["PolicyArn"])
        by, only = request.get("PolicyUsageFilter"), request.get("EntityFilter")
        identities: list[Identity] = []
        if by != "PermissionsBoundary":
            identities += self._policies.attached_identities(context.account, policy.arn)
        if by != "PermissionsPolicy":
            identities += [
                principal for principal in self._policies.bounded(context.account, policy.arn) if principal not in identities
            ]
        prefix = request.get("PathPrefix", "/")
        chosen = [
            identity
            for identity in identities
            if identity.path.startswith(prefix) and only in (None, type(identity).__name__)
        ]
        page = paged(request, f"entities:{policy.arn}", "Entities", chosen, key=lambda identity: identity.arn, shape=_entity)
        listed = page["Entities"]
        return {**page} | {
            f"Policy{entity_type}s": [shape for name, shape in listed if name == entity_type]
            for entity_type in _IDENTITY_KINDS
        }


def _entity(identity: Identity) -> tuple[str, dict[str, str]]:
    entity_type = type(identity).__name__
    return entity_type, {f"{entity_type}Name": identity.name, f"{entity_type}Id": identity.id}


def _shape(policy: ManagedPolicy, usage: PolicyUsage | None) -> dict[str, Any]:
    """Return the members that every answer has of a policy; only GetPolicy has its description and tags."""
    return present(
        **named("Policy", policy),
        DefaultVersionId=f"v{policy.default}",
        AttachmentCount=usage.attached.get(policy.arn, 0) if usage else 0,
        PermissionsBoundaryUsageCount=usage.bounding.get(policy.arn, 0) if usage else 0,
        IsAttachable=True,
        UpdateDate=policy.updated,
    )


def _version(version: PolicyVersion, default: int) -> dict[str, Any]:
    return {
        "VersionId": f"v{version.number}",
        "IsDefaultVersion": version.number == default,
        "CreateDate": version.created,
    }


def _number(request: Request) -> int:
    number = _VERSION.fullmatch(request["VersionId"])
    if number is None:
        raise NoSuchEntity(f"Policy {request['PolicyArn'][:400]} has no version {request['VersionId'][:60]}.")
    return int(number[1])
