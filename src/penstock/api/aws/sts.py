"""Operations of AWS STS: temporary credentials, and who calls."""

from typing import Any

from penstock.access.facts import Origin
from penstock.access.principals import Caller, root_arn
from penstock.access.sessions import TemporaryKey
from penstock.access.sts import TokenService, WantedRole
from penstock.api.aws.operations import OperationSet, RequestContext
from penstock.api.aws.registry_shapes import Request, present

__all__ = ["caller_in", "operations", "origin_of"]


def operations(tokens: TokenService) -> OperationSet:
    """AssumeRole, GetSessionToken, GetCallerIdentity and GetAccessKeyInfo."""

    def assume_role(request: Request, context: RequestContext) -> Request:
        wanted = WantedRole(
            role_arn=request["RoleArn"],
            session_name=request["RoleSessionName"],
            seconds=request.get("DurationSeconds"),
            external_id=request.get("ExternalId"),
            policy=request.get("Policy"),
            policy_arns=tuple(each["arn"] for each in request.get("PolicyArns", ())),
        )
        made = tokens.assume_role(caller_in(context), wanted, origin_of(context))
        user = {"AssumedRoleId": made.key.caller.user_id, "Arn": made.key.caller.principal}
        return present(Credentials=_credentials(made.key), AssumedRoleUser=user, PackedPolicySize=made.packed_percent)

    def session_token(request: Request, context: RequestContext) -> Request:
        return {"Credentials": _credentials(tokens.session_token(caller_in(context), request.get("DurationSeconds")))}

    def identity(_request: Request, context: RequestContext) -> Request:
        caller = caller_in(context)
        return {"UserId": caller.user_id or caller.account, "Account": caller.account, "Arn": caller.principal}

    handlers = {"AssumeRole": assume_role, "GetSessionToken": session_token, "GetCallerIdentity": identity}
    return OperationSet(service="sts", handlers=handlers, bounded=frozenset({"AssumeRole"}))


def caller_in(context: RequestContext) -> Caller:
    """Who calls; under --no-auth the root of the account."""
    caller = context.caller
    if caller is None or caller.principal == context.principal == "anonymous":
        return Caller(account=context.account, principal=root_arn(context.account), user_id=context.account)
    return caller


def origin_of(context: RequestContext) -> Origin:
    """Where the request comes from, for conditions of policies."""
    return Origin(client=context.client, secure=context.secure, region=context.region, user_agent=context.user_agent)


def _credentials(key: TemporaryKey) -> dict[str, Any]:
    return {
        "AccessKeyId": key.access_key_id,
        "SecretAccessKey": key.secret_access_key,
        "SessionToken": key.token,
        "Expiration": key.expires,
    }
