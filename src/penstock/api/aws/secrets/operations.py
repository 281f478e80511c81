"""Secrets Manager's operations over :class:`~penstock.secrets.service.SecretsService`."""

import re
from typing import Any

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


def operations(service: SecretsService) -> OperationSet:
    """Return the operations that ``service`` answers."""
    handlers = _Handlers(service)
    return OperationSet(
        service="secretsmanager",
        handlers={
            "CreateSecret": handlers.create,
            "DeleteSecret": handlers.delete,
            "DescribeSecret": handlers.describe,
            "GetSecretValue": handlers.get_value,
            "ListSecretVersionIds": handlers.list_versions,
            "ListSecrets": handlers.list,
            "PutSecretValue": handlers.put_value,
            "RestoreSecret": handlers.restore,
            "TagResource": handlers.tag,
            "UntagResource": handlers.untag,
            "UpdateSecret": handlers.update,
            "UpdateSecretVersionStage": handlers.move_stage,
            "RotateSecret": handlers.rotate,
            "CancelRotateSecret": handlers.cancel_rotation,
            "GetRandomPassword": handlers.random_password,
            "BatchGetSecretValue": handlers.batch_get,
            **policy_handlers(service),
        },
    )


class _Handlers:
    def __init__(self, service: SecretsService) -> None:
        self._service = service

    def create(self, request: Request, context: RequestContext) -> Response:
        secret, version = self._service.create(
            context.account,
            request["Name"],
            value=_value(request),
            token=request.get("ClientRequestToken"),
            description=request.get("Description"),
            kms_key_id=request.get("KmsKeyId"),
            tags=_tags(request.get("Tags", ())),
        )
        return _named(secret) | {"VersionId": version.id if version else None}

    def get_value(self, request: Request, context: RequestContext) -> Response:
        secret, version = self._service.value(
            context.account, request["SecretId"], version_id=request.get("VersionId"), stage=request.get("VersionStage")
        )
        return _read(secret, version)

    def batch_get(self, request: Request, context: RequestContext) -> Response:
        """Return values of up to 20 secrets: the error of one secret is beside the others' values."""
        named, filters = request.get("SecretIdList"), request.get("Filters")
        if (named is None) == (filters is None):
            raise InvalidSecretParameter("You must include Filters or SecretIdList, but not both.")
        size, token = request.get("MaxResults"), None
        if named is None:
            if context.check_operation is not None:
                context.check_operation("ListSecrets", {})
            page, token = page_of_secrets(
                matching(self._service.list(context.account), filters or ()),
                token=request.get("NextToken"),
                size=size or _BATCH,
            )
            named = [secret.arn for secret in page]
        elif size is not None or request.get("NextToken") is not None:
            raise InvalidSecretParameter("MaxResults and NextToken are only valid with Filters.")
        values, errors = [], []
        for secret_id in named:
            try:
                if context.check_operation is not None:
                    context.check_operation("GetSecretValue", {"SecretId": secret_id})
                values.append(_read(*self._service.value(context.account, secret_id)))
            except (AccessDenied, InvalidInput, NotFound) as error:
                errors.append({"SecretId": secret_id, "ErrorCode": error.aws_code, "Message": str(error)})
        return {"SecretValues": values, "Errors": errors, "NextToken": token}

    def move_stage(self, request: Request, context: RequestContext) -> Response:
        secret = self._service.move_stage(
            context.account,
            request["SecretId"],
            request["VersionStage"],
            remove_from=request.get("RemoveFromVersionId"),
            move_to=request.get("MoveToVersionId"),
        )
        return _named(secret)

    def rotate(self, request: Request, context: RequestContext) -> Response:
        function = request.get("RotationLambdaARN") or None
        if function is not None and _FUNCTION.fullmatch(function) is None:
            raise InvalidSecretParameter(
                f"'{function[:200]}' is not a function.",
                remedy="Give an ARN such as arn:aws:lambda:REGION:ACCOUNT:function:NAME.",
            )
        secret, version = self._service.rotate(
            context.account,
            request["SecretId"],
            function=function,
            token=request.get("ClientRequestToken"),
            rules=_rules(request.get("RotationRules")),
            now=request.get("RotateImmediately", True),
        )
        return _named(secret) | {"VersionId": version if request.get("RotateImmediately", True) else None}

    def cancel_rotation(self, request: Request, context: RequestContext) -> Response:
        return _named(self._service.cancel_rotation(context.account, request["SecretId"]))

    def random_password(self, request: Request, _context: RequestContext) -> Response:
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

    def put_value(self, request: Request, context: RequestContext) -> Response:
        value = _value(request)
        if value is None:
            raise InvalidSecretRequest("You must provide either SecretString or SecretBinary.")
        secret, version = self._service.put(
            context.account,
            request["SecretId"],
            value,
            token=request.get("ClientRequestToken"),
            stages=request.get("VersionStages", ()),
        )
        return _named(secret) | {"VersionId": version.id, "VersionStages": sorted(version.stages)}

    def update(self, request: Request, context: RequestContext) -> Response:
        secret, version = self._service.update(
            context.account,
            request["SecretId"],
            value=_value(request),
            token=request.get("ClientRequestToken"),
            description=request.get("Description"),
            kms_key_id=request.get("KmsKeyId"),
        )
        return _named(secret) | {"VersionId": version.id if version else None}

    def describe(self, request: Request, context: RequestContext) -> Response:
        secret = self._service.describe(context.account, request["SecretId"])
        return _details(secret) | {"VersionIdsToStages": _stages(secret)}

    def list(self, request: Request, context: RequestContext) -> Response:
        secrets = self._service.list(context.account, include_deleted=request.get("IncludePlannedDeletion", False))
        page, token = page_of_secrets(
            matching(secrets, request.get("Filters", ())),
            token=request.get("NextToken"),
            size=request.get("MaxResults", _PAGE),
            sort_by=request.get("SortBy"),
            order=request.get("SortOrder"),
        )
        entries = [_details(secret) | {"SecretVersionsToStages": _stages(secret)} for secret in page]
        return {"SecretList": entries, "NextToken": token}

    def list_versions(self, request: Request, context: RequestContext) -> Response:
        secret = self._service.describe(context.account, request["SecretId"])
        everyone = request.get("IncludeDeprecated", False)
        shown = [version for version in secret.versions if version.stages or everyone]
        versions = page_of_versions(secret, shown, token=request.get("NextToken"), size=request.get("MaxResults", _PAGE))
        return _named(secret) | {
            "Versions": [
                {"VersionId": version.id, "VersionStages": sorted(version.stages), "CreatedDate": version.created}
                for version in versions.items
            ],
            "NextToken": versions.next_token,
        }

    def delete(self, request: Request, context: RequestContext) -> Response:
        arn, name, goes = self._service.delete(
            context.account,
            request["SecretId"],
            recovery_days=request.get("RecoveryWindowInDays"),
            force=request.get("ForceDeleteWithoutRecovery", False),
        )
        return {"ARN": arn, "Name": name, "DeletionDate": goes}

    def restore(self, request: Request, context: RequestContext) -> Response:
        return _named(self._service.restore(context.account, request["SecretId"]))

    def tag(self, request: Request, context: RequestContext) -> Response:
        self._service.tag(context.account, request["SecretId"], add=_tags(request["Tags"]))
        return {}

    def untag(self, request: Request, context: RequestContext) -> Response:
        self._service.tag(context.account, request["SecretId"], remove=request["TagKeys"])
        return {}


def _rules(rules: Request | None) -> Request | None:
    if rules is None:
        return None
    return {name: rules[name] for name in ("AutomaticallyAfterDays", "ScheduleExpression", "Duration") if name in rules}


def _value(request: Request) -> SecretValue | None:
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
