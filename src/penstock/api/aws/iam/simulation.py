"""IAM's policy simulator: SimulatePrincipalPolicy and SimulateCustomPolicy, by the evaluator that decides on requests."""

from collections.abc import Sequence
from typing import Any

from penstock.access.authorize import Authorizer
from penstock.access.entities import EntityKind, Identity, NoSuchEntity, Principal
from penstock.access.keys import AccessStore
from penstock.access.policies.documents import PolicyType, parse_policy
from penstock.access.policies.simulation import NamedPolicy, Outcome, Simulation
from penstock.access.principals import Caller
from penstock.api.aws.iam.shapes import paged
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request, present
from penstock.errors import InvalidInput

__all__ = ["simulation_handlers"]

_MOST = 1_000  # actions times resources
_ENTITY_TYPES = {"user": EntityKind.USER, "role": EntityKind.ROLE, "group": EntityKind.GROUP}


class _InvalidSimulation(InvalidInput):
    """What is to be simulated makes no sense."""

    aws_code = "InvalidInput"


def simulation_handlers(store: AccessStore, authorizer: Authorizer) -> dict[str, Handler]:
    """Return the handlers by operation name."""

    def principal(request: Request, context: RequestContext) -> Request:
        identity = _identity(store, context.account, request["PolicySourceArn"])
        own = [
            NamedPolicy(
                name=source.name,
                source_type=source.source_type,
                policy=parse_policy(source.text, PolicyType.IDENTITY, stored=True),
            )
            for source in authorizer.sources(identity)
        ]
        boundary = _boundary(request)
        bound = identity.boundary if isinstance(identity, Principal) else None
        if boundary is None and bound is not None:
            boundary = [parse_policy(text, PolicyType.IDENTITY, stored=True) for _, text in authorizer.managed([bound])]
        if request.get("CallerArn") and not isinstance(identity, Principal) and request.get("ResourcePolicy"):
            _check_user(request["CallerArn"])
        caller = Caller(account=context.account, principal=request.get("CallerArn") or identity.arn, user_id=identity.id)
        return _simulated(request, caller, [*own, *_context_values(request)], boundary, tags=identity.tags)

    def custom(request: Request, context: RequestContext) -> Request:
        arn = request.get("CallerArn") or f"arn:aws:iam::{context.account}:user/simulated"
        return _simulated(
            request, Caller(account=context.account, principal=arn), _context_values(request), _boundary(request)
        )

    return {"SimulatePrincipalPolicy": principal, "SimulateCustomPolicy": custom}


def _identity(store: AccessStore, account: str, arn: str) -> Identity:
    parts = arn.split(":", 5)
    entity_type = _ENTITY_TYPES.get(parts[-1].partition("/")[0])
    if len(parts) != 6 or parts[2] != "iam" or entity_type is None:
        raise _InvalidSimulation(
            f"Invalid Entity Arn: {arn[:200]} does not clearly define entity type and name.",
            remedy="Give the ARN of a user, a group or a role.",
        )
    identity = store.get_entity(entity_type, account, arn.rpartition("/")[2])
    if not isinstance(identity, Identity) or identity.arn != arn:
        raise NoSuchEntity(f"The {entity_type.value} with name {arn.rpartition('/')[2][:200]} cannot be found.")
    return identity


def _check_user(arn: str) -> None:
    if ":user/" not in arn:
        raise _InvalidSimulation("CallerArn has to be the ARN of a user.")


def _context_values(request: Request) -> list[NamedPolicy]:
    return [
        NamedPolicy(name=f"PolicyInputList.{number}", source_type="none", policy=parse_policy(text, PolicyType.IDENTITY))
        for number, text in enumerate(request.get("PolicyInputList") or (), 1)
    ]


def _boundary(request: Request) -> Any:
    texts = request.get("PermissionsBoundaryPolicyInputList")
    return None if texts is None else [parse_policy(text, PolicyType.IDENTITY) for text in texts]


def _simulated(
    request: Request, caller: Caller, policies: Sequence[NamedPolicy], boundary: Any, *, tags: Any = None
) -> Request:
    actions, resources = list(request["ActionNames"]), list(request.get("ResourceArns") or ("*",))
    if len(actions) * len(resources) > _MOST:
        raise _InvalidSimulation(
            f"{len(actions)} actions on {len(resources)} resources are more than {_MOST:,} decisions.",
            remedy="Simulate fewer at a time.",
        )
    for action in actions:
        if ":" not in action:
            raise _InvalidSimulation(f"Invalid Input: {action[:100]} is not an action.", remedy="Write SERVICE:OPERATION.")
    own = request.get("ResourcePolicy")
    simulation = Simulation(
        caller=caller,
        identity=policies,
        boundary=boundary,
        resource_policy=None
        if own is None
        else NamedPolicy(name="ResourcePolicy", source_type="resource", policy=parse_policy(own, PolicyType.RESOURCE)),
        owner=_owner(request, caller.account),
        keys={entry["ContextKeyName"].lower(): tuple(entry["ContextKeyValues"]) for entry in _entries(request)},
        tags=tags or {},
    )
    outcomes = [simulation.run(action, resource) for action in actions for resource in resources]
    numbered = list(enumerate(outcomes))
    return paged(
        request,
        "simulation",
        "EvaluationResults",
        numbered,
        key=lambda pair: f"{pair[0]:06}",
        shape=lambda pair: _shape(pair[1]),
    )


def _entries(request: Request) -> Sequence[Request]:
    entries = request.get("ContextEntries") or ()
    for entry in entries:
        if not entry.get("ContextKeyName") or not entry.get("ContextKeyValues"):
            raise _InvalidSimulation("A context entry needs ContextKeyName and ContextKeyValues.")
    return list(entries)


def _owner(request: Request, account: str) -> str:
    parts = str(request.get("ResourceOwner") or "").split(":")
    return parts[4] if len(parts) == 6 else account


def _shape(outcome: Outcome) -> dict[str, Any]:
    within = outcome.within_boundary
    return present(
        EvalActionName=outcome.action,
        EvalResourceName=outcome.resource,
        EvalDecision=outcome.decision,
        MatchedStatements=[
            {"SourcePolicyId": named_policy.name, "SourcePolicyType": named_policy.source_type}
            for named_policy in outcome.matched
        ],
        MissingContextValues=list(outcome.missing),
        PermissionsBoundaryDecisionDetail=None if within is None else {"AllowedByPermissionsBoundary": within},
    )
