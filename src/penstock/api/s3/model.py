"""Which operation a request asks for, and its members: botocore's model of S3 from the server's side."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl

from botocore.loaders import create_loader
from botocore.model import OperationModel, ServiceModel

from penstock.lake.objects.errors import S3Error

__all__ = ["Route", "operation_of", "output_of", "parse_members", "parse_query", "service_model", "subresources"]

# Root elements that are not named after the output's shape: Amazon S3 API reference, the response of each operation.
_ROOTS = {
    "CompleteMultipartUpload": "CompleteMultipartUploadResult",
    "CreateMultipartUpload": "InitiateMultipartUploadResult",
    "DeleteObjects": "DeleteResult",
    "GetBucketAcl": "AccessControlPolicy",
    "GetBucketLogging": "BucketLoggingStatus",
    "GetBucketNotificationConfiguration": "NotificationConfiguration",
    "GetBucketRequestPayment": "RequestPaymentConfiguration",
    "GetBucketTagging": "Tagging",
    "GetBucketVersioning": "VersioningConfiguration",
    "GetObjectAcl": "AccessControlPolicy",
    "GetObjectAttributes": "GetObjectAttributesOutput",
    "GetObjectTagging": "Tagging",
    "ListBuckets": "ListAllMyBucketsResult",
    "ListMultipartUploads": "ListMultipartUploadsResult",
    "ListObjectVersions": "ListVersionsResult",
    "ListObjects": "ListBucketResult",
    "ListObjectsV2": "ListBucketResult",
    "ListParts": "ListPartsResult",
}
# Subresources that botocore's model does not have: Amazon S3 API reference and user guide, also earlier versions of them.
_OTHER_SUBRESOURCES = frozenset({"append", "partNumber", "torrent", "uploadId", "versionId"})
_BARE_NAME = re.compile(r"[A-Za-z][A-Za-z-]{0,49}", re.ASCII)
_NUMBER = re.compile(r"-?\d{1,18}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """What tells an operation from others with its method: required query parameters and headers."""

    operation: str
    query: frozenset[tuple[str, str]]
    needed: frozenset[str]
    copies: bool
    read: frozenset[str] = frozenset()
    """All parameters of the query that the operation has."""


@lru_cache(maxsize=1)
def service_model() -> ServiceModel:
    """Return botocore's model of S3, loaded for this module alone: a client takes ``{Bucket}`` out of its model's paths."""
    return ServiceModel(create_loader().load_service_model("s3", "service-2"), "s3")


@lru_cache(maxsize=256)
def _model(operation: str) -> OperationModel:
    return service_model().operation_model(operation)


@lru_cache(maxsize=1)
def _routes() -> Mapping[tuple[str, int], tuple[Route, ...]]:
    """Return routes by method and depth (0 for the service, 1 for a bucket, 2 for an object), the most specific first."""
    by_method: dict[tuple[str, int], list[Route]] = {}
    for name in service_model().operation_names:
        model = _model(name)
        path, _, query = model.http["requestUri"].partition("?")
        # AWS serves these on other hosts.
        if model.deprecated or name in {"WriteGetObjectResponse", "ListDirectoryBuckets", "CreateSession"}:
            continue
        depth = 2 if "{Key+}" in path else 1 if "{Bucket}" in path else 0
        shape = model.input_shape
        required = set(shape.required_members) if shape is not None else set()
        members = shape.members if shape is not None else {}
        route = Route(
            operation=name,
            query=frozenset(parse_qsl(query, keep_blank_values=True)),
            needed=frozenset(
                members[item].serialization["name"]
                for item in required
                if members[item].serialization.get("location") == "querystring"
            ),
            copies="CopySource" in required,
            read=frozenset(
                member.serialization["name"]
                for member in members.values()
                if member.serialization.get("location") == "querystring"
            ),
        )
        by_method.setdefault((model.http["method"], depth), []).append(route)
    return {
        key: tuple(
            sorted(routes, key=lambda route: (-len(route.query) - len(route.needed), not route.copies, route.operation))
        )
        for key, routes in by_method.items()
    }


@lru_cache(maxsize=1)
def subresources() -> frozenset[str]:
    """Return the names in queries that stand for a part of a bucket or object (``acl``, ``session``), in any operation."""
    names = set(_OTHER_SUBRESOURCES)
    for name in service_model().operation_names:
        query = _model(name).http["requestUri"].partition("?")[2]
        names |= {parameter for parameter, value in parse_qsl(query, keep_blank_values=True) if not value}
    return frozenset(names)


def operation_of(method: str, depth: int, query: Mapping[str, str], headers: Mapping[str, str]) -> OperationModel:
    """Return the operation; raise :class:`S3Error` if S3 has none for the method.

    A subresource that the operation does not have is refused by its name: to answer for the whole object or bucket instead
    would read, replace or delete something else than what was meant.
    """
    for route in _routes().get((method, depth), ()):
        if not all(query.get(name) == value if value else name in query for name, value in route.query):
            continue
        if all(name in query for name in route.needed) and (not route.copies or "x-amz-copy-source" in headers):
            _check_subresources(method, query, route)
            return _model(route.operation)
    raise S3Error(
        "MethodNotAllowed", "The specified method is not allowed against this resource.", details={"Method": method}
    )


def _check_subresources(method: str, query: Mapping[str, str], route: Route) -> None:
    names = route.read | {name for name, _ in route.query}
    for name, value in query.items():
        if name in names or not (name in subresources() or (not value and _BARE_NAME.fullmatch(name))):
            continue
        if route.query:
            own = sorted(name for name, _ in route.query)
            raise S3Error(
                "InvalidArgument",
                f"Conflicting query string parameters: {', '.join([*own, name])}",
                details={"ArgumentName": "ResourceType", "ArgumentValue": name},
            )
        raise S3Error(
            "NotImplemented",
            f"{method} with the subresource {name} is not implemented.",
            remedy="See docs/lake/s3.md for the operations that are served.",
            details={"Header": name},
        )


def parse_query(raw: str) -> dict[str, str]:
    """Return the parameters of a query; raise :class:`S3Error` if one is given twice or is not UTF-8."""
    parameters: dict[str, str] = {}
    try:
        pairs = parse_qsl(raw, keep_blank_values=True, errors="strict", max_num_fields=200)
    except ValueError:
        raise S3Error("InvalidURI", "Couldn't parse the specified URI.") from None
    for name, value in pairs:
        if name in parameters:
            raise S3Error("InvalidArgument", f"The query parameter '{name[:100]}' is given twice.")
        parameters[name] = value
    return parameters


def parse_members(model: OperationModel, query: Mapping[str, str], headers: Mapping[str, str]) -> dict[str, Any]:
    """Return the members that are in the query and the headers."""
    members: dict[str, Any] = {}
    if model.input_shape is None:
        return members
    for name, member in model.input_shape.members.items():
        location, sent_name = member.serialization.get("location"), member.serialization.get("name", name)
        if location == "querystring" and sent_name in query:
            members[name] = _parsed(sent_name, query[sent_name], member.type_name)
        elif location == "header" and sent_name.lower() in headers:
            members[name] = _parsed(sent_name, headers[sent_name.lower()], member.type_name)
        elif location == "headers":
            members[name] = {
                key.removeprefix(sent_name): value
                for key, value in headers.items()
                if key.startswith(sent_name) and key != sent_name
            }
    return members


def _parsed(name: str, text: str, type_name: str) -> Any:
    if type_name in {"integer", "long"}:
        if _NUMBER.fullmatch(text) is None:
            raise S3Error(
                "InvalidArgument",
                f"Provided {name} not an integer or within integer range",
                details={"ArgumentName": name, "ArgumentValue": text[:100]},
            )
        return int(text)
    if type_name == "boolean":
        return text.lower() == "true"
    if type_name == "list":
        return [part.strip() for part in text.split(",") if part.strip()]
    return text


def output_of(operation: str) -> tuple[Any, str]:
    """Return the output's shape, None if there is none, and the name of the document's root."""
    shape = _model(operation).output_shape
    if shape is None:
        return None, ""
    payload = shape.serialization.get("payload")
    if payload is not None:
        member = shape.members[payload]
        return shape, member.serialization.get("name", member.name)
    return shape, _ROOTS.get(operation, shape.name)
