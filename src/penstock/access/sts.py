"""Temporary credentials by AWS STS's rules: assumed roles, session tokens and federation tokens.

Source: AWS STS API reference; IAM user guide, "Methods to assume a role", for who may assume one and for how long.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from penstock.access.authorize import Authorizer, denial
from penstock.access.context_keys import Origin, RequestContextKeys
from penstock.access.entities import EntityKind, Role
from penstock.access.errors import NotAuthorized
from penstock.access.federation.web_identity import WebIdentity
from penstock.access.keys import AccessStore
from penstock.access.policies.aws_managed import AWS_MANAGED
from penstock.access.policies.documents import PolicyType, parse_policy, parsed_policy
from penstock.access.policies.errors import MalformedPolicy
from penstock.access.policies.evaluate import AccessRequest, decide
from penstock.access.principals import Caller, SessionContext, federated_arn, session_arn
from penstock.access.sessions import Sessions, TemporaryKey
from penstock.errors import InvalidInput
from penstock.names import parse_arn

__all__ = [
    "AssumeRoleRequest",
    "AssumedRole",
    "BadDuration",
    "BadRole",
    "FederationTokenRequest",
    "PackedPolicyTooLarge",
    "TokenService",
]

DEFAULT_SECONDS = 3600
CHAINED_SECONDS = 3600  # at most, for a role assumed with a role's credentials
_TOKEN_SECONDS = 43_200
_ROOT_TOKEN_SECONDS = 3600
_MAX_SESSION_POLICY = 2048  # characters of the text and the ARNs together
_ASSUME = "sts:AssumeRole"
_ASSUME_WITH_IDENTITY = "sts:AssumeRoleWithWebIdentity"


class BadDuration(InvalidInput):
    """The session would be longer than allowed."""

    aws_code = "ValidationError"


class BadRole(InvalidInput):
    """The RoleArn is not a role's."""

    aws_code = "ValidationError"


class PackedPolicyTooLarge(InvalidInput):
    """The session policies are longer than allowed."""

    aws_code = "PackedPolicyTooLarge"


@dataclass(frozen=True, slots=True, kw_only=True)
class AssumeRoleRequest:
    """A request for AssumeRole; ``seconds`` None is one hour."""

    role_arn: str
    session_name: str
    seconds: int | None = None
    external_id: str | None = None
    policy: str | None = None
    policy_arns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FederationTokenRequest:
    """A request for GetFederationToken; ``seconds`` None is twelve hours."""

    name: str
    seconds: int | None = None
    policy: str | None = None
    policy_arns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AssumedRole:
    """The credentials, and the used share of a session policy's maximal size (in percent; None without a policy)."""

    key: TemporaryKey
    packed_percent: int | None


def _utcnow() -> datetime:
    return datetime.now(UTC)


class TokenService:
    """AssumeRole and GetSessionToken over the roles in ``store``."""

    def __init__(
        self,
        store: AccessStore,
        authorizer: Authorizer,
        sessions: Sessions,
        *,
        now: Callable[[], datetime] = _utcnow,
    ) -> None:
        self._store = store
        self._authorizer = authorizer
        self._sessions = sessions
        self._now = now

    def assume_role(self, caller: Caller, request: AssumeRoleRequest, origin: Origin) -> AssumedRole:
        """Return credentials of the role for a limited time.

        Raises :class:`~penstock.access.errors.NotAuthorized` if the role's trust policy or the caller's own policies do not
        allow it, or if the role does not exist; :class:`BadDuration`, :class:`MalformedPolicy`,
        :class:`PackedPolicyTooLarge`, :class:`BadRole`.
        """
        if caller.federated_by is not None:
            raise denial(caller, _ASSUME, request.role_arn)
        role = self._role(request.role_arn)
        if role is None or not self._may_assume(caller, role, request, origin):
            # The same error for each reason, so that strangers cannot find out which roles exist.
            raise denial(caller, _ASSUME, request.role_arn)
        return self._begin(role, request, "AssumeRole", chained=caller.role_name is not None)

    def assume_role_with_identity(self, identity: WebIdentity, request: AssumeRoleRequest, origin: Origin) -> AssumedRole:
        """Return credentials of the role for the owner of a web identity token; the errors are :meth:`assume_role`'s.

        The role's trust policy has to name the provider, which belongs to the role's account.
        """
        role = self._role(request.role_arn)
        extra = {
            "aws:federatedprovider": identity.provider.arn,
            "sts:rolesessionname": request.session_name,
            **identity.condition_keys,
        }
        if role is None or role.account != identity.provider.account or not _trusts(role, identity, origin, extra):
            raise NotAuthorized(f"Not authorized to perform {_ASSUME_WITH_IDENTITY}")
        begun_by = f" by {identity.subject[:255]} of {identity.provider.issuer}"
        return self._begin(role, request, "AssumeRoleWithWebIdentity", note=begun_by)

    def assume_role_as_service(
        self, service: str, name: str, session_name: str, *, account: str, region: str
    ) -> TemporaryKey:
        """Return credentials of a role of ``account`` for work of ``service``, for as long as the role permits.

        ``name`` is the role's name or ARN, ``service`` such as ``glue.amazonaws.com``. Raises :class:`NotAuthorized` if the
        role does not exist or its trust policy does not name the service; :class:`BadRole`.
        """
        entity = self._role(name) if name.startswith("arn:") else self._named_role(account, name)
        role = entity if entity is not None and entity.account == account else None
        stranger = Caller(account="", principal=service, user_id=service)
        extra = {"sts:rolesessionname": session_name, "aws:sourceaccount": account}
        if role is None or not _trusts_service(role, stranger, Origin(region=region), extra):
            raise NotAuthorized(
                f"{service} may not assume the role {name}, or it does not exist.",
                remedy=f"Let its trust policy allow sts:AssumeRole for the Service {service}.",
            )
        request = AssumeRoleRequest(role_arn=role.arn, session_name=session_name, seconds=role.max_session)
        return self._begin(role, request, "AssumeRole", note=f" by {service}").key

    def federation_token(self, caller: Caller, request: FederationTokenRequest) -> AssumedRole:
        """Return credentials of a federated user, who may do what the caller's and the session policies both allow.

        Raises :class:`NotAuthorized` for temporary credentials; :class:`MalformedPolicy`, :class:`PackedPolicyTooLarge`.
        """
        if caller.session is not None:
            raise NotAuthorized("Cannot call GetFederationToken with session credentials")
        texts = () if request.policy is None else (request.policy,)
        percent = _check_session_policies(texts, request.policy_arns)
        self._check_policies_exist(caller.account, request.policy_arns)
        longest = _ROOT_TOKEN_SECONDS if caller.is_root else 3 * _TOKEN_SECONDS
        granted = min(request.seconds or _TOKEN_SECONDS, longest)
        now = int(self._now().timestamp())
        session = SessionContext(
            issued=now,
            expires=now + granted,
            policies=texts,
            policy_arns=request.policy_arns,
            federated_by=caller.principal,
            federated_by_id=caller.user_id,
        )
        principal = federated_arn(caller.account, request.name)
        key = self._sessions.issue(caller.account, principal, session, user_id=f"{caller.account}:{request.name}")
        self._store.write_audit(
            "GetFederationToken", caller.principal, f"{principal} as {key.access_key_id} for {granted} seconds"
        )
        return AssumedRole(key=key, packed_percent=percent)

    def _begin(
        self, role: Role, request: AssumeRoleRequest, operation: str, *, chained: bool = False, note: str = ""
    ) -> AssumedRole:
        seconds = _seconds(request, role, chained=chained)
        texts = () if request.policy is None else (request.policy,)
        percent = _check_session_policies(texts, request.policy_arns)
        self._check_policies_exist(role.account, request.policy_arns)
        now = int(self._now().timestamp())
        principal = session_arn(role.account, role.name, request.session_name)
        session = SessionContext(
            issued=now,
            expires=now + seconds,
            role=role.arn,
            session_name=request.session_name,
            policies=texts,
            policy_arns=request.policy_arns,
        )
        key = self._sessions.issue(role.account, principal, session, user_id=f"{role.id}:{request.session_name}")
        self._store.write_audit(operation, role.arn, f"{principal} as {key.access_key_id} for {seconds} seconds{note}")
        return AssumedRole(key=key, packed_percent=percent)

    def session_token(self, caller: Caller, seconds: int | None) -> TemporaryKey:
        """Return temporary credentials of a user or an account's root; raise :class:`NotAuthorized` for temporary ones."""
        if caller.session is not None:
            raise NotAuthorized("Cannot call GetSessionToken with session credentials")
        longest = _ROOT_TOKEN_SECONDS if caller.is_root else 3 * _TOKEN_SECONDS
        # AWS silently shortens a root's session, too.
        granted = min(seconds or _TOKEN_SECONDS, longest)
        now = int(self._now().timestamp())
        session = SessionContext(issued=now, expires=now + granted)
        return self._sessions.issue(caller.account, caller.principal, session, user_id=caller.user_id)

    def _role(self, text: str) -> Role | None:
        try:
            arn = parse_arn(text)
        except InvalidInput:
            raise BadRole(f"{text[:200]} is invalid", remedy="A role's ARN is arn:aws:iam::ACCOUNT:role/NAME.") from None
        if arn.service != "iam" or not arn.resource.startswith("role/"):
            raise BadRole(f"{text[:200]} is invalid", remedy="A role's ARN is arn:aws:iam::ACCOUNT:role/NAME.")
        entity = self._store.get_entity(EntityKind.ROLE, arn.account, arn.resource.rpartition("/")[2])
        return entity if isinstance(entity, Role) and entity.arn == text else None

    def _named_role(self, account: str, name: str) -> Role | None:
        entity = self._store.get_entity(EntityKind.ROLE, account, name.rpartition("/")[2])
        return entity if isinstance(entity, Role) else None

    def _may_assume(self, caller: Caller, role: Role, request: AssumeRoleRequest, origin: Origin) -> bool:
        extra = {"sts:rolesessionname": request.session_name}
        if request.external_id is not None:
            extra["sts:externalid"] = request.external_id
        trust = parsed_policy(role.trust, PolicyType.TRUST)
        return self._authorizer.decide(
            caller, _ASSUME, role.arn, origin, owner=role.account, policy=trust, must_grant=True, extra=extra
        ).allowed

    def _check_policies_exist(self, account: str, arns: Sequence[str]) -> None:
        for arn in arns:
            if arn not in AWS_MANAGED:
                policy = self._store.get_entity(EntityKind.POLICY, account, arn.rpartition("/")[2])
                if policy is None or policy.arn != arn:
                    raise MalformedPolicy("PolicyArns", f"names '{arn[:200]}', which is not a policy of {account}")


def _seconds(request: AssumeRoleRequest, role: Role, *, chained: bool) -> int:
    seconds = DEFAULT_SECONDS if request.seconds is None else request.seconds
    if seconds > role.max_session:
        raise BadDuration("The requested DurationSeconds exceeds the MaxSessionDuration set for this role.")
    if chained and seconds > CHAINED_SECONDS:
        raise BadDuration(
            "The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining."
        )
    return seconds


def _trusts(role: Role, identity: WebIdentity, origin: Origin, extra: Mapping[str, str]) -> bool:
    """Return whether the role's trust policy names the provider, and its conditions match the token."""
    provider = identity.provider
    # Without an account: a policy that trusts an account does not trust the identities of its providers.
    stranger = Caller(account="", principal=provider.arn, user_id=f"{provider.arn}:{identity.subject}")
    context = RequestContextKeys(stranger, origin, resource_account=role.account, extra=extra)
    request = AccessRequest(caller=stranger, action=_ASSUME_WITH_IDENTITY, resource=role.arn, context=context)
    trust = parsed_policy(role.trust, PolicyType.TRUST)
    return decide(request, (), resource=trust, own_account=True, must_grant=True, must_name=True).allowed


def _trusts_service(role: Role, service: Caller, origin: Origin, extra: Mapping[str, str]) -> bool:
    """Return whether the role's trust policy names the service, and its conditions match."""
    context = RequestContextKeys(service, origin, resource_account=role.account, extra=extra)
    request = AccessRequest(caller=service, action=_ASSUME, resource=role.arn, context=context)
    trust = parsed_policy(role.trust, PolicyType.TRUST)
    return decide(request, (), resource=trust, own_account=True, must_grant=True, must_name=True).allowed


def _check_session_policies(texts: Sequence[str], arns: Sequence[str]) -> int | None:
    if not texts and not arns:
        return None
    length = sum(map(len, texts)) + sum(map(len, arns))
    if length > _MAX_SESSION_POLICY:
        raise PackedPolicyTooLarge(
            f"The session policies have {length} characters; {_MAX_SESSION_POLICY} is the maximum.", remedy="Shorten them."
        )
    for text in texts:
        parse_policy(text, PolicyType.IDENTITY)
    return -(-100 * length // _MAX_SESSION_POLICY)
