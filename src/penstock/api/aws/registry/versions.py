"""Glue's operations on schema versions and their metadata."""

import re
from collections.abc import Sequence
from typing import Any

from penstock.api.aws.protocol.operations import Answer, AnyHandler, BatchHandler, OperationCall, RequestContext, RunOnThread
from penstock.api.aws.protocol.values import Request, present
from penstock.api.aws.registry.shapes import number_of, schema_of, timestamp
from penstock.errors import InvalidInput, PenstockError
from penstock.registry.audit import Actor
from penstock.registry.errors import BadReference
from penstock.registry.model import MAX_VERSION, Version, VersionHead
from penstock.registry.service import RegistryService
from penstock.registry.versions.registration import Registration

__all__ = ["version_handlers"]

_PAGE = 25
_MAX_ERROR = 5_000  # SchemaValidationError in the Glue API model
_RANGE = re.compile(r"([1-9]\d{0,5})(?:-([1-9]\d{0,5}))?", re.ASCII)


def version_handlers(service: RegistryService) -> dict[str, AnyHandler]:
    """Return the handlers by operation name."""
    versions, metadata = _Versions(service), _Metadata(service)
    return {
        "RegisterSchemaVersion": BatchHandler(versions.register),
        "GetSchemaVersion": versions.get,
        "GetSchemaByDefinition": versions.find,
        "ListSchemaVersions": versions.list,
        "DeleteSchemaVersions": versions.delete,
        "GetSchemaVersionsDiff": versions.diff,
        "CheckSchemaVersionValidity": versions.check,
        "PutSchemaVersionMetadata": metadata.put,
        "QuerySchemaVersionMetadata": metadata.query,
        "RemoveSchemaVersionMetadata": metadata.remove,
    }


class _Versions:
    """Operations on versions."""

    def __init__(self, service: RegistryService) -> None:
        self._service = service
        self._versions = service.versions

    def register(self, calls: Sequence[OperationCall]) -> list[Answer]:
        answers: list[Answer | None] = []
        registrations: list[Registration] = []
        for request, context in calls:
            try:
                key = schema_of(self._service.identity, request["SchemaId"])
            except PenstockError as error:
                answers.append(error)
                continue
            actor = Actor(principal=context.principal, client=context.client)
            registrations.append(Registration(key=key, definition=request["SchemaDefinition"], bound=True, actor=actor))
            answers.append(None)
        registered = iter(self._versions.register_all(registrations))
        return [_registered(next(registered)) if answer is None else answer for answer in answers]

    def get(self, request: Request, context: RequestContext) -> Request:
        version = _version_of(self._service, request)
        if version.references and context.on_loop:
            raise RunOnThread  # its references have to be read and resolved
        text = self._service.standalone_text(version)
        return {**self._head(version), "SchemaDefinition": text, "DataFormat": version.data_format}

    def find(self, request: Request, _: RequestContext) -> Request:
        version = self._versions.find(schema_of(self._service.identity, request["SchemaId"]), request["SchemaDefinition"])
        head = self._head(version)
        del head["VersionNumber"]
        return {**head, "DataFormat": version.data_format}

    def list(self, request: Request, _: RequestContext) -> Request:
        key = schema_of(self._service.identity, request["SchemaId"])
        page = self._versions.list(key, token=request.get("NextToken"), size=request.get("MaxResults", _PAGE))
        return present(Schemas=[self._head(version) for version in page.items], NextToken=page.next_token)

    def delete(self, request: Request, _: RequestContext) -> Request:
        key = schema_of(self._service.identity, request["SchemaId"])
        self._service.configs.check_writable(key)
        deletion = self._service.deletion.delete(key, _range(request["Versions"]))
        errors = [
            {
                "VersionNumber": number,
                "ErrorDetails": {
                    "ErrorCode": "EntityNotFoundException",
                    "ErrorMessage": f"Schema version is not found. SchemaName: {key.name}, VersionNumber: {number}.",
                },
            }
            for number in deletion.missing
        ]
        return {"SchemaVersionErrors": errors}

    def diff(self, request: Request, _: RequestContext) -> Request:
        key = schema_of(self._service.identity, request["SchemaId"])
        first, second = number_of(request["FirstSchemaVersionNumber"]), number_of(request["SecondSchemaVersionNumber"])
        return {"Diff": self._service.diff(key, first, second)}

    def check(self, request: Request, _: RequestContext) -> Request:
        problem = self._versions.check(request["DataFormat"], request["SchemaDefinition"])
        return present(Valid=problem is None, Error=problem[:_MAX_ERROR] if problem else None)

    def _head(self, version: VersionHead) -> dict[str, Any]:
        return {
            "SchemaArn": self._service.identity.schema_arn(version.key),
            "SchemaVersionId": version.id,
            "VersionNumber": version.number,
            "Status": version.status,
            "CreatedTime": timestamp(version.created),
        }


def _registered(outcome: Version | Exception) -> Answer:
    if isinstance(outcome, Exception):
        return outcome
    return {"SchemaVersionId": outcome.id, "VersionNumber": outcome.number, "Status": outcome.status}


class _Metadata:
    """Operations on the metadata of versions."""

    def __init__(self, service: RegistryService) -> None:
        self._service = service
        self._metadata = service.metadata

    def put(self, request: Request, _: RequestContext) -> Request:
        version, key, value = self._pair(request)
        self._metadata.put(version, key, value)
        return self._shape(version, key, value)

    def remove(self, request: Request, _: RequestContext) -> Request:
        version, key, value = self._pair(request)
        self._metadata.remove(version, key, value)
        return self._shape(version, key, value)

    def query(self, request: Request, _: RequestContext) -> Request:
        version = _version_of(self._service, request)
        wanted = [(pair.get("MetadataKey"), pair.get("MetadataValue")) for pair in request.get("MetadataList", ())]
        page = self._metadata.query(version, wanted, token=request.get("NextToken"), size=request.get("MaxResults", 50))
        metadata: dict[str, Any] = {}
        for key, pairs in page.items:
            values = [{"MetadataValue": pair.value, "CreatedTime": timestamp(pair.created)} for pair in pairs]
            # The newest value is the main one, older values are in a list of their own.
            metadata[key] = present(**values[-1], OtherMetadataValueList=values[:-1] or None)
        return present(MetadataInfoMap=metadata, SchemaVersionId=version.id, NextToken=page.next_token)

    def _pair(self, request: Request) -> tuple[Version, str, str]:
        pair = request["MetadataKeyValue"]
        key, value = pair.get("MetadataKey"), pair.get("MetadataValue")
        if not key or not value:
            raise InvalidInput("MetadataKeyValue needs a MetadataKey and a MetadataValue.", remedy="Give both.")
        return _version_of(self._service, request), key, value

    def _shape(self, version: Version, key: str, value: str) -> Request:
        return {
            "SchemaArn": self._service.identity.schema_arn(version.key),
            "SchemaName": version.key.name,
            "RegistryName": version.key.registry,
            "LatestVersion": self._service.schemas.get(version.key).latest == version.number,
            "VersionNumber": version.number,
            "SchemaVersionId": version.id,
            "MetadataKey": key,
            "MetadataValue": value,
        }


def _version_of(service: RegistryService, request: Request) -> Version:
    """Return the version that a request names by its id, or by SchemaId and SchemaVersionNumber."""
    version_id, schema_id, number = (request.get(name) for name in ("SchemaVersionId", "SchemaId", "SchemaVersionNumber"))
    if version_id:
        if schema_id or number:
            raise BadReference("No other input parameters can be specified when fetching by SchemaVersionId.")
        return service.versions.get(version_id)
    if not schema_id or not number:
        raise BadReference(
            "The request names no schema version.",
            remedy="Give SchemaVersionId, or SchemaId together with SchemaVersionNumber.",
        )
    return service.versions.get_numbered(schema_of(service.identity, schema_id), number_of(number))


def _range(text: str) -> range:
    match = _RANGE.fullmatch(text)
    low, high = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
    if low > high or high > MAX_VERSION:
        raise InvalidInput(
            f"'{text[:60]}' is not a range of versions.", remedy="Write a number, or two with a hyphen: 3 or 3-7."
        )
    return range(low, high + 1)
