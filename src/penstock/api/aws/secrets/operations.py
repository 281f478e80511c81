"""Secrets Manager's operations over :class:`~penstock.secrets.service.SecretsService`."""

import re
from functools import partial
from typing import Any

from penstock.api.aws.protocol.handlers import account, call, member
from penstock.api.aws.protocol.operations import OperationSet, RequestContext
from penstock.api.aws.protocol.values import Request
from penstock.api.aws.secrets.listing import matching, page_of_secrets, page_of_versions
from penstock.api.aws.secrets.policies import policy_handlers
from penstock.errors import AccessDenied, InvalidInput, NotFound
from penstock.secrets.errors import InvalidSecretParameter, InvalidSecretRequest
from penstock.secrets.model import Secret, SecretValue, SecretVersion
from penstock.secrets.passwords import PasswordRules, random_password
from penstock.secrets.schedules import next_rotation
from penstock.secrets.service import SecretsService

__all__ = ["operations"]

Response = dict[str, Any]

_PAGE = 100
_BATCH = 20
_FUNCTION = re.compile(
    r"arn:aws[a-z-]*:lambda:[a-z0-9-]+:\d{12}:function:[A-Za-z0-9_-]{1,64}(?::[A-Za-z0-9$_-]+)?", re.ASCII
)


_SECRET = "SecretId"
_TOKEN = member("ClientRequestToken", default=None)
_DESCRIPTION = member("Description", default=None)
_KEY = member("KmsKeyId", default=None)


def operations(service: SecretsService) -> OperationSet:
    """Return the operations that ``service`` answers."""
    return OperationSet(
        service="secretsmanager",
        handlers={
            "CreateSecret": call(
                service.create,
                account,
                "Name",
                value=_value,
                tags=member("Tags", _tags, default={}),
                answer=_with_version,
                token=_TOKEN,
                description=_DESCRIPTION,
                kms_key_id=_KEY,
            ),
            "DeleteSecret": call(
                service.delete,
                account,
                _SECRET,
                recovery_days=member("RecoveryWindowInDays", default=None),
                force=member("ForceDeleteWithoutRecovery", default=False),
                answer=lambda deleted: dict(zip(("ARN", "Name", "DeletionDate"), deleted, strict=True)),
            ),
            "DescribeSecret": call(
                service.describe,
                account,
                _SECRET,
                answer=lambda secret: _details(secret) | {"VersionIdsToStages": _stages(secret)},
            ),
            "GetSecretValue": call(
                service.value,
                account,
                _SECRET,
                version_id=member("VersionId", default=None),
                stage=member("VersionStage", default=None),
                answer=lambda read: _read(*read),
            ),
            "ListSecretVersionIds": partial(_list_versions, service),
            "ListSecrets": partial(_list, service),
            "PutSecretValue": call(
                service.put,
                account,
                _SECRET,
                _required_value,
                token=_TOKEN,
                stages=member("VersionStages", default=()),
                answer=_put,
            ),
            "RestoreSecret": call(service.restore, account, _SECRET, answer=_named),
            "TagResource": call(service.tag, account, _SECRET, add=member("Tags", _tags)),
            "UntagResource": call(service.tag, account, _SECRET, remove="TagKeys"),
            "UpdateSecret": call(
                service.update,
                account,
                _SECRET,
                value=_value,
                answer=_with_version,
                token=_TOKEN,
                description=_DESCRIPTION,
                kms_key_id=_KEY,
            ),
            "UpdateSecretVersionStage": call(
                service.move_stage,
                account,
                _SECRET,
                "VersionStage",
                remove_from=member("RemoveFromVersionId", default=None),
                move_to=member("MoveToVersionId", default=None),
                answer=_named,
            ),
            "RotateSecret": partial(_rotate, service),
            "CancelRotateSecret": call(service.cancel_rotation, account, _SECRET, answer=_named),
            "GetRandomPassword": _random_password,
            "BatchGetSecretValue": partial(_batch_get, service),
            **policy_handlers(service),
        },
    )


def _batch_get(service: SecretsService, request: Request, context: RequestContext) -> Response:
    """Return values of up to 20 secrets: the error of one secret is beside the others' values."""
    ids, filters = request.get("SecretIdList"), request.get("Filters")
    if (ids is None) == (filters is None):
        raise InvalidSecretParameter("You must include Filters or SecretIdList, but not both.")
    size, token = request.get("MaxResults"), None
    if ids is None:
        if context.check_operation is not None:
            context.check_operation("ListSecrets", {})
        secrets = matching(service.list(context.account), filters or ())
        page, token = page_of_secrets(secrets, token=request.get("NextToken"), size=size or _BATCH)
        ids = [secret.arn for secret in page]
    elif size is not None or request.get("NextToken") is not None:
        raise InvalidSecretParameter("MaxResults and NextToken are only valid with Filters.")
    values, errors = [], []
    for secret_id in ids:
        try:
            if context.check_operation is not None:
                context.check_operation("GetSecretValue", {"SecretId": secret_id})
            values.append(_read(*service.value(context.account, secret_id)))
        except (AccessDenied, InvalidInput, NotFound) as error:
            errors.append({"SecretId": secret_id, "ErrorCode": error.aws_code, "Message": str(error)})
    return {"SecretValues": values, "Errors": errors, "NextToken": token}


def _rotate(service: SecretsService, request: Request, context: RequestContext) -> Response:
    function, now = request.get("RotationLambdaARN") or None, request.get("RotateImmediately", True)
    if function is not None and _FUNCTION.fullmatch(function) is None:
        raise InvalidSecretParameter(
            f"'{function[:200]}' is not a function.",
            remedy="Give an ARN such as arn:aws:lambda:REGION:ACCOUNT:function:NAME.",
        )
    secret, version = service.rotate(
        context.account,
        request["SecretId"],
        function=function,
        token=request.get("ClientRequestToken"),
        rules=_rules(request.get("RotationRules")),
        now=now,
    )
    return _named(secret) | {"VersionId": version if now else None}


def _random_password(request: Request, _context: RequestContext) -> Response:
    rules = PasswordRules(
        length=request.get("PasswordLength", 32),
        excluded=request.get("ExcludeCharacters", ""),
        lowercase=not request.get("ExcludeLowercase", False),
        uppercase=not request.get("ExcludeUppercase", False),
        numbers=not request.get("ExcludeNumbers", False),
        punctuation=not request.get("ExcludePunctuation", False),
        space=request.get("IncludeSpace", False),
        item=request.get("RequireEachIncludedType", True),
    )
    return {"RandomPassword": random_password(rules)}


def _list(service: SecretsService, request: Request, context: RequestContext) -> Response:
    secrets = service.list(context.account, include_deleted=request.get("IncludePlannedDeletion", False))
    page, token = page_of_secrets(
        matching(secrets, request.get("Filters", ())),
        token=request.get("NextToken"),
        size=request.get("MaxResults", _PAGE),
        sort_by=request.get("SortBy"),
        order=request.get("SortOrder"),
    )
    entries = [_details(secret) | {"SecretVersionsToStages": _stages(secret)} for secret in page]
    return {"SecretList": entries, "NextToken": token}


def _list_versions(service: SecretsService, request: Request, context: RequestContext) -> Response:
    secret = service.describe(context.account, request["SecretId"])
    deprecated = request.get("IncludeDeprecated", False)
    shown = [version for version in secret.versions if version.stages or deprecated]
    page = page_of_versions(secret, shown, token=request.get("NextToken"), size=request.get("MaxResults", _PAGE))
    versions = [
        {"VersionId": version.id, "VersionStages": sorted(version.stages), "CreatedDate": version.created}
        for version in page.items
    ]
    return _named(secret) | {"Versions": versions, "NextToken": page.next_token}


def _rules(rules: Request | None) -> Request | None:
    if rules is None:
        return None
    return {name: rules[name] for name in ("AutomaticallyAfterDays", "ScheduleExpression", "Duration") if name in rules}


def _required_value(request: Request, context: RequestContext) -> SecretValue:
    value = _value(request, context)
    if value is None:
        raise InvalidSecretRequest("You must provide either SecretString or SecretBinary.")
    return value


def _value(request: Request, _context: RequestContext) -> SecretValue | None:
    text, binary = request.get("SecretString"), request.get("SecretBinary")
    if text is not None and binary is not None:
        raise InvalidSecretParameter(
            "You can't specify both a binary secret value and a string secret value in the same secret."
        )
    return None if text is None and binary is None else SecretValue(text=text, binary=binary)


def _tags(listed: Any) -> dict[str, str]:
    return {tag["Key"]: tag.get("Value", "") for tag in listed if "Key" in tag}


def _rotation(secret: Secret) -> Response:
    """Return the members on a secret's rotation; none for a secret that was never rotated."""
    if secret.rotation is None:
        return {}
    return {
        "RotationEnabled": secret.rotation.enabled,
        "RotationLambdaARN": secret.rotation.function,
        "LastRotatedDate": secret.rotation.rotated,
        "RotationRules": dict(secret.rotation.rules) or None,
        "NextRotationDate": next_rotation(secret.rotation),
    }


def _read(secret: Secret, version: SecretVersion) -> Response:
    return _named(secret) | {
        "VersionId": version.id,
        "SecretString": version.value.text,
        "SecretBinary": version.value.binary,
        "VersionStages": sorted(version.stages),
        "CreatedDate": version.created,
    }


def _with_version(changed: tuple[Secret, SecretVersion | None]) -> Response:
    secret, version = changed
    return _named(secret) | {"VersionId": version.id if version else None}


def _put(changed: tuple[Secret, SecretVersion]) -> Response:
    return _with_version(changed) | {"VersionStages": sorted(changed[1].stages)}


def _named(secret: Secret) -> Response:
    return {"ARN": secret.arn, "Name": secret.name}


def _details(secret: Secret) -> Response:
    return _named(secret) | {
        "Description": secret.description,
        "KmsKeyId": secret.kms_key_id,
        "CreatedDate": secret.created,
        "LastChangedDate": secret.changed,
        "LastAccessedDate": secret.accessed,
        "DeletedDate": secret.deletion,
        **_rotation(secret),
        "Tags": [{"Key": key, "Value": value} for key, value in sorted(secret.tags.items())] or None,
    }


def _stages(secret: Secret) -> dict[str, list[str]] | None:
    """Return the labelled versions; None if there are none, so that the answer leaves them out."""
    return {version.id: sorted(version.stages) for version in secret.versions if version.stages} or None
