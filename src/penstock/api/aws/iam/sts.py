"""Operations of AWS STS: temporary credentials, and the caller's identity."""

from typing import Any

from penstock.access.federation.web_identity import WebIdentities
from penstock.access.sessions import TemporaryKey
from penstock.access.sts import AssumedRole, AssumeRoleRequest, FederationTokenRequest, TokenService
from penstock.api.aws.protocol.operations import OperationSet, RequestContext
from penstock.api.aws.protocol.values import Request, present
from penstock.errors import InvalidInput
from penstock.names import account_of

__all__ = ["operations"]


def operations(tokens: TokenService, identities: WebIdentities) -> OperationSet:
    """Return AssumeRole, AssumeRoleWithWebIdentity, GetSessionToken, GetFederationToken and GetCallerIdentity."""

    def assume_role(request: Request, context: RequestContext) -> Request:
        return _assumed(tokens.assume_role(context.caller_or_root, _wanted(request), context.origin))

    def assume_role_with_identity(request: Request, context: RequestContext) -> Request:
        role_request = _wanted(request)
        # The token is verified first, so that a stranger cannot find out which roles exist.
        identity = identities.verify(account_of(role_request.role_arn) or "", request["WebIdentityToken"])
        assumed = tokens.assume_role_with_identity(identity, role_request, context.origin)
        return {
            **_assumed(assumed),
            "SubjectFromWebIdentityToken": identity.subject,
            "Provider": identity.provider.arn,
            "Audience": identity.audience,
        }

    def federation_token(request: Request, context: RequestContext) -> Request:
        token_request = FederationTokenRequest(
            name=request["Name"],
            seconds=request.get("DurationSeconds"),
            policy=request.get("Policy"),
            policy_arns=_policy_arns(request),
        )
        credentials = tokens.federation_token(context.caller_or_root, token_request)
        user = {"FederatedUserId": credentials.key.caller.user_id, "Arn": credentials.key.caller.principal}
        return {
            "Credentials": _credentials(credentials.key),
            "FederatedUser": user,
            "PackedPolicySize": credentials.packed_percent or 0,
        }

    def session_token(request: Request, context: RequestContext) -> Request:
        return {"Credentials": _credentials(tokens.session_token(context.caller_or_root, request.get("DurationSeconds")))}

    def identity(_request: Request, context: RequestContext) -> Request:
        caller = context.caller_or_root
        return {"UserId": caller.user_id or caller.account, "Account": caller.account, "Arn": caller.principal}

    handlers = {
        "AssumeRole": assume_role,
        "AssumeRoleWithWebIdentity": assume_role_with_identity,
        "GetSessionToken": session_token,
        "GetFederationToken": federation_token,
        "GetCallerIdentity": identity,
    }
    return OperationSet(
        service="sts",
        handlers=handlers,
        bounded=frozenset({"AssumeRole", "AssumeRoleWithWebIdentity", "GetFederationToken"}),
        unsigned=frozenset({"AssumeRoleWithWebIdentity"}),
    )


def _wanted(request: Request) -> AssumeRoleRequest:
    return AssumeRoleRequest(
        role_arn=request["RoleArn"],
        session_name=request["RoleSessionName"],
        seconds=request.get("DurationSeconds"),
        external_id=request.get("ExternalId"),
        policy=request.get("Policy"),
        policy_arns=_policy_arns(request),
    )


def _policy_arns(request: Request) -> tuple[str, ...]:
    arns = tuple(policy_arn.get("arn", "") for policy_arn in request.get("PolicyArns", ()))
    if not all(arns):
        raise InvalidInput("Each of PolicyArns needs arn.", remedy="Give the ARN of a managed policy.")
    return arns


def _assumed(assumed: AssumedRole) -> Request:
    user = {"AssumedRoleId": assumed.key.caller.user_id, "Arn": assumed.key.caller.principal}
    return present(Credentials=_credentials(assumed.key), AssumedRoleUser=user, PackedPolicySize=assumed.packed_percent)


def _credentials(key: TemporaryKey) -> dict[str, Any]:
    return {
        "AccessKeyId": key.access_key_id,
        "SecretAccessKey": key.secret_access_key,
        "SessionToken": key.token,
        "Expiration": key.expires,
    }
