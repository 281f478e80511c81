"""IAM's operations on managed policies and their versions."""

import re
from functools import partial
from typing import Any

from penstock.access.entities import Identity, ManagedPolicy, NoSuchEntity, PolicyVersion
from penstock.access.identities.managed_policies import ManagedPolicies, PolicyUsage
from penstock.api.aws.iam.shapes import PATH, document, named, paged, tag_handlers, tags_of, tags_shape
from penstock.api.aws.protocol.handlers import account, call, member
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request, present

__all__ = ["policy_handlers"]

_IDENTITY_TYPES = ("User", "Role", "Group")
_VERSION = re.compile(r"v([1-9]\d{0,8})", re.ASCII)


def policy_handlers(policies: ManagedPolicies) -> dict[str, Handler]:
    """Return the handlers by operation name."""

    def get(request: Request, context: RequestContext) -> Request:
        policy = policies.get(context.account, request["PolicyArn"])
        shape = _shape(policy, policies.usage(context.account))
        return {"Policy": shape | present(Description=policy.description, Tags=tags_shape(policy) or [])}

    def list_all(request: Request, context: RequestContext) -> Request:
        scope = request.get("Scope", "All")
        listed = policies.list(
            context.account, local=scope != "AWS", aws=scope != "Local", path_prefix=request.get("PathPrefix", "/")
        )
        usage = policies.usage(context.account)
        by = request.get("PolicyUsageFilter")
        attached = {
            *(usage.attached if by != "PermissionsBoundary" else ()),
            *(usage.bounding if by != "PermissionsPolicy" else ()),
        }
        if by is not None or request.get("OnlyAttached"):
            listed = [policy for policy in listed if policy.arn in attached]
        shape = partial(_shape, usage=usage)
        return paged(request, "policies", "Policies", listed, key=lambda policy: policy.arn, shape=shape)

    def create_version(request: Request, context: RequestContext) -> Request:
        default = request.get("SetAsDefault", False)
        version = policies.add_version(context.account, request["PolicyArn"], request["PolicyDocument"], default=default)
        return {"PolicyVersion": _version(version, version.number if default else 0)}

    def get_version(request: Request, context: RequestContext) -> Request:
        policy = policies.get(context.account, request["PolicyArn"])
        version = policies.version(context.account, policy.arn, _number(request, context))
        return {"PolicyVersion": _version(version, policy.default) | {"Document": document(version.document)}}

    def list_versions(request: Request, context: RequestContext) -> Request:
        policy = policies.get(context.account, request["PolicyArn"])
        return paged(
            request,
            f"versions:{policy.arn}",
            "Versions",
            policy.versions,
            key=lambda version: f"{1_000_000_000 - version.number:010}",
            shape=lambda version: _version(version, policy.default),
        )

    return {
        "CreatePolicy": call(
            policies.create,
            account,
            "PolicyName",
            "PolicyDocument",
            path=PATH,
            description=member("Description", default=None),
            tags=tags_of,
            answer=lambda policy: {"Policy": _shape(policy, None) | present(Tags=tags_shape(policy))},
        ),
        "GetPolicy": get,
        "ListPolicies": list_all,
        "DeletePolicy": call(policies.delete, account, "PolicyArn"),
        "CreatePolicyVersion": create_version,
        "GetPolicyVersion": get_version,
        "ListPolicyVersions": list_versions,
        "SetDefaultPolicyVersion": call(policies.set_default, account, "PolicyArn", _number),
        "DeletePolicyVersion": call(policies.delete_version, account, "PolicyArn", _number),
        "ListEntitiesForPolicy": partial(_entities, policies),
        **tag_handlers("Policy", "PolicyArn", policies.tag, policies.get),
    }


def _entities(policies: ManagedPolicies, request: Request, context: RequestContext) -> Request:
    policy = policies.get(context.account, request["PolicyArn"])
    by, only = request.get("PolicyUsageFilter"), request.get("EntityFilter")
    identities: list[Identity] = []
    if by != "PermissionsBoundary":
        identities += policies.attached_identities(context.account, policy.arn)
    if by != "PermissionsPolicy":
        bounded = policies.bounded(context.account, policy.arn)
        identities += [principal for principal in bounded if principal not in identities]
    prefix = request.get("PathPrefix", "/")
    chosen = [
        identity for identity in identities if identity.path.startswith(prefix) and only in (None, type(identity).__name__)
    ]
    page = paged(request, f"entities:{policy.arn}", "Entities", chosen, key=lambda identity: identity.arn, shape=_entity)
    return {**page} | {
        f"Policy{entity_type}s": [shape for name, shape in page["Entities"] if name == entity_type]
        for entity_type in _IDENTITY_TYPES
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


def _number(request: Request, _context: RequestContext) -> int:
    number = _VERSION.fullmatch(request["VersionId"])
    if number is None:
        raise NoSuchEntity(f"Policy {request['PolicyArn'][:400]} has no version {request['VersionId'][:60]}.")
    return int(number[1])
