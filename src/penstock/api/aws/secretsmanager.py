"""Secrets Manager's operations over :class:`~penstock.secrets.service.SecretsService`."""

import base64
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from penstock.api.aws.operations import OperationSet, RequestContext
from penstock.secrets.errors import InvalidSecretParameter, InvalidSecretRequest, InvalidSecretToken
from penstock.secrets.model import Secret, SecretValue
from penstock.secrets.service import SecretsService

__all__ = ["operations"]

Request = Mapping[str, Any]
Response = dict[str, Any]

_PAGE = 100


def operations(service: SecretsService) -> OperationSet:
    """The operations that ``service`` answers."""
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
        return _named(secret) | {
            "VersionId": version.id,
            "SecretString": version.value.text,
            "SecretBinary": version.value.binary,
            "VersionStages": sorted(version.stages),
            "CreatedDate": version.created,
        }

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
        return _details(secret) | {
            "VersionIdsToStages": {version.id: sorted(version.stages) for version in secret.versions if version.stages}
        }

    def list(self, request: Request, context: RequestContext) -> Response:
        found = self._service.list(context.account, include_deleted=request.get("IncludePlannedDeletion", False))
        matching = [secret for secret in found if all(_matches(secret, item) for item in request.get("Filters", ()))]
        descending = request.get("SortOrder", "desc") == "desc"
        ordered = sorted(matching, key=_position, reverse=descending)
        after = _position_of_token(request.get("NextToken"))
        if after is not None:
            ordered = [
                secret for secret in ordered if (_position(secret) < after if descending else _position(secret) > after)
            ]
        size = request.get("MaxResults", _PAGE)
        page = ordered[:size]
        entries = [
            _details(secret)
            | {
                "SecretVersionsToStages": {
                    version.id: sorted(version.stages) for version in secret.versions if version.stages
                }
            }
            for secret in page
        ]
        return {"SecretList": entries, "NextToken": _token(page[-1]) if len(ordered) > size else None}

    def list_versions(self, request: Request, context: RequestContext) -> Response:
        secret = self._service.describe(context.account, request["SecretId"])
        everyone = request.get("IncludeDeprecated", False)
        return _named(secret) | {
            "Versions": [
                {"VersionId": version.id, "VersionStages": sorted(version.stages), "CreatedDate": version.created}
                for version in secret.versions
                if version.stages or everyone
            ]
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


def _value(request: Request) -> SecretValue | None:
    text, binary = request.get("SecretString"), request.get("SecretBinary")
    if text is not None and binary is not None:
        raise InvalidSecretParameter(
            "You can't specify both a binary secret value and a string secret value in the same secret."
        )
    return None if text is None and binary is None else SecretValue(text=text, binary=binary)


def _tags(listed: Any) -> dict[str, str]:
    return {tag["Key"]: tag.get("Value", "") for tag in listed if "Key" in tag}


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
        "Tags": [{"Key": key, "Value": value} for key, value in sorted(secret.tags.items())] or None,
    }


def _words(secret: Secret) -> list[str]:
    return (secret.description or "").lower().split()


# What a filter's values are prefixes of. Names and tags tell capitals apart, descriptions do not.
_FILTERED: dict[str, Callable[[Secret], list[str]]] = {
    "name": lambda secret: [secret.name],
    "description": _words,
    "tag-key": lambda secret: list(secret.tags),
    "tag-value": lambda secret: list(secret.tags.values()),
    "primary-region": lambda _secret: [],
    "owning-service": lambda _secret: [],
    "all": lambda secret: [secret.name, *_words(secret), *secret.tags, *secret.tags.values()],
}


def _matches(secret: Secret, item: Mapping[str, Any]) -> bool:
    """True where one of the filter's values fits; ``!`` in front of a value turns it round."""
    key = item.get("Key", "all")
    texts = _FILTERED[key](secret)
    for value in item.get("Values", ()):
        wanted = value.removeprefix("!")
        wanted = wanted.lower() if key == "description" else wanted
        if any(text.startswith(wanted) for text in texts) != value.startswith("!"):
            return True
    return False


def _position(secret: Secret) -> tuple[datetime, str]:
    return secret.created, secret.arn


def _token(secret: Secret) -> str:
    return base64.urlsafe_b64encode(f"{secret.created.isoformat()} {secret.arn}".encode()).decode()


def _position_of_token(token: str | None) -> tuple[datetime, str] | None:
    if token is None:
        return None
    try:
        created, _, arn = base64.urlsafe_b64decode(token).decode().partition(" ")
        return datetime.fromisoformat(created), arn
    except ValueError:
        raise InvalidSecretToken("The NextToken value is invalid.", remedy="Start the listing again.") from None
