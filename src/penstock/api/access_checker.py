"""Access checks that all APIs share: whether a caller may do an action on resources of an account."""

from collections.abc import Callable, Mapping, Sequence

from penstock.access.authorize import Authorizer, denial
from penstock.access.context_keys import Origin
from penstock.access.policies.documents import Policy
from penstock.access.policies.evaluate import Decision
from penstock.access.policies.secrets import stored_secret_policy
from penstock.access.principals import Caller
from penstock.api.tenants import Tenant
from penstock.names import arn

__all__ = ["AccessChecker"]

_OBJECTS = "arn:aws:s3:::"


class AccessChecker:
    """Authorizes actions on the resources of an account, by the policies of the caller and of the resources.

    ``bucket_policy`` returns the policy of an account's bucket; it may block.
    """

    def __init__(
        self, authorizer: Authorizer, *, region: str, bucket_policy: Callable[[str, str], Policy | None] = lambda *_: None
    ) -> None:
        self._authorizer = authorizer
        self._region = region
        self._bucket_policy = bucket_policy

    def is_cached(self, caller: Caller, tenant: Tenant | None) -> bool:
        """Return whether all policies that :meth:`check` evaluates are in memory."""
        is_fresh = tenant is None or tenant.schemas.resource_policies.cache.is_fresh
        return is_fresh and self._authorizer.fresh(caller) is not None

    def check(
        self,
        caller: Caller,
        action: str,
        resources: Sequence[str],
        origin: Origin,
        *,
        owner: str,
        tenant: Tenant | None,
        extra: Mapping[str, str] | None = None,
    ) -> None:
        """Raise :class:`~penstock.access.errors.NotAuthorized` unless the caller may do ``action`` with each resource.

        ``owner`` is the account that they belong to, ``tenant`` its services if resource policies are to be evaluated.
        """
        if caller.is_root and caller.account == owner:
            return
        for resource in resources:
            policy = self._policy_of(resource, owner, tenant)
            decision = self._authorizer.decide(caller, action, resource, origin, owner=owner, policy=policy, extra=extra)
            if not decision.allowed:
                raise denial(caller, action, resource, decision.reason)

    def member_denial(
        self,
        caller: Caller,
        actions: Sequence[str],
        resources: Sequence[str],
        origin: Origin,
        *,
        owner: str,
        tenant: Tenant | None,
        allowed: str | None = None,
    ) -> Decision | None:
        """Return the decision that hides a member of a container from the caller; None if the caller may see it.

        A member is hidden if a policy explicitly denies one of ``actions`` on one of its ``resources``, or if no policy
        allows the action ``allowed`` on each of them.
        """
        if caller.is_root and caller.account == owner:
            return None
        for resource in resources:
            policy = self._policy_of(resource, owner, tenant)
            for action in actions:
                decision = self._authorizer.decide(caller, action, resource, origin, owner=owner, policy=policy)
                if decision.explicit or (action == allowed and not decision.allowed):
                    return decision
        return None

    def on_objects(
        self,
        caller: Caller,
        action: str,
        resource: str,
        origin: Origin,
        *,
        owner: str,
        below: bool = False,
        extra: Mapping[str, str] | None = None,
    ) -> Decision | None:
        """Return the decision on ``action`` on a bucket or an object of the account ``owner``, as the S3 endpoint makes it.

        With ``below`` it is about everything whose ARN begins with ``resource``; None if not all of that is treated alike.
        """
        policy = self._policy_of(resource, owner, None)
        if caller.is_root and caller.account == owner and policy is None:
            return Decision(allowed=True)
        keys = {"s3:resourceaccount": owner, **(extra or {})}
        decide = self._authorizer.decide_below if below else self._authorizer.decide
        return decide(caller, action, resource, origin, owner=owner, policy=policy, extra=keys)

    def _policy_of(self, resource: str, owner: str, tenant: Tenant | None) -> Policy | None:
        if resource.startswith(_OBJECTS):
            return self._bucket_policy(owner, resource.removeprefix(_OBJECTS).partition("/")[0])
        if tenant is None:
            return None
        if resource.startswith("arn:aws:secretsmanager:"):
            text = tenant.secrets.policy(resource)
            return None if text is None else stored_secret_policy(text)
        prefix = arn("glue", self._region, tenant.account, "")
        if not resource.startswith(prefix):
            return None
        return tenant.schemas.resource_policies.cache.of(resource.removeprefix(prefix))
