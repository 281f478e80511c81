"""Secrets Manager's operations on the resource policies of secrets, which are evaluated with the callers' own."""

from typing import Any

from penstock.access.policies.buckets import is_public
from penstock.access.policies.errors import MalformedPolicy
from penstock.access.policies.secrets import parse_secret_policy
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request
from penstock.errors import InvalidInput
from penstock.secrets.errors import InvalidSecretParameter, SecretNotFound
from penstock.secrets.service import SecretsService

__all__ = ["policy_handlers"]

_DEFAULT = "default"
_ANY = "arn:aws:secretsmanager:*:*:secret:*"


class MalformedPolicyDocument(InvalidInput):
    """The text is not a policy for a secret."""

    aws_code = "MalformedPolicyDocumentException"


class PublicPolicy(InvalidInput):
    """The policy allows something to everybody, which the caller asked not to store."""

    aws_code = "PublicPolicyException"


def policy_handlers(service: SecretsService) -> dict[str, Handler]:
    """Return the handlers by operation name."""

    def put(request: Request, context: RequestContext) -> dict[str, Any]:
        _check_name(request)
        secret = service.describe(context.account, request["SecretId"])
        text = request["ResourcePolicy"]
        try:
            parse_secret_policy(text, secret.arn)
        except MalformedPolicy as error:
            raise MalformedPolicyDocument(error.message, remedy=error.remedy) from None
        if request.get("BlockPublicPolicy") and is_public(text):
            raise PublicPolicy(
                "You can't attach a resource policy that allows broad access to the secret.",
                remedy="Name accounts, users or roles as the Principal, or leave BlockPublicPolicy out.",
            )
        service.put_policy(context.account, request["SecretId"], text)
        return {"ARN": secret.arn, "Name": secret.name}

    def get(request: Request, context: RequestContext) -> dict[str, Any]:
        secret = service.describe(context.account, request["SecretId"])
        if request.get("PolicyName", _DEFAULT) != _DEFAULT:
            raise SecretNotFound("Secrets Manager can't find the specified resource policy.")
        return {"ARN": secret.arn, "Name": secret.name, "ResourcePolicy": secret.policy}

    def delete(request: Request, context: RequestContext) -> dict[str, Any]:
        _check_name(request)
        secret = service.put_policy(context.account, request["SecretId"], None)
        return {"ARN": secret.arn, "Name": secret.name}

    def validate(request: Request, context: RequestContext) -> dict[str, Any]:
        text, secret_id = request["ResourcePolicy"], request.get("SecretId")
        arn = service.describe(context.account, secret_id).arn if secret_id is not None else _ANY
        try:
            parse_secret_policy(text, arn)
        except MalformedPolicy as error:
            return _invalid("Malformed policy", error.message)
        return _invalid("Public policy", "The policy allows everybody.") if is_public(text) else _VALID

    return {
        "PutResourcePolicy": put,
        "GetResourcePolicy": get,
        "DeleteResourcePolicy": delete,
        "ValidateResourcePolicy": validate,
    }


_VALID: dict[str, Any] = {"PolicyValidationPassed": True, "ValidationErrors": []}


def _invalid(check: str, message: str) -> dict[str, Any]:
    return {"PolicyValidationPassed": False, "ValidationErrors": [{"CheckName": check, "ErrorMessage": message}]}


def _check_name(request: Request) -> None:
    if request.get("PolicyName", _DEFAULT) != _DEFAULT:
        raise InvalidSecretParameter(f"A secret has one policy, of the name {_DEFAULT}.", remedy="Leave PolicyName out.")
