"""The Resource Groups Tagging API: tags of all resources of an account, by the services' own operations.

Source: Resource Groups Tagging API reference. As at AWS, the resources are those that have tags; identities of IAM are not
among them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.api.aws.protocol.operations import AnyHandler, BatchHandler, Handler, OperationSet, RequestContext
from penstock.api.aws.protocol.values import Request, Response, present
from penstock.errors import InvalidInput, PenstockError
from penstock.names import arn
from penstock.paging import InvalidToken, page_of

__all__ = ["operations"]

_PAGE = 50
_MOST = 100
Tags = Mapping[str, str]
Buckets = Callable[[], Iterable[tuple[str, Tags]]]


class InvalidParameter(InvalidInput):
    """A filter or a token is not one that the service takes."""

    aws_code = "InvalidParameterException"


class ExpiredToken(InvalidInput):
    """The token is not one of this listing."""

    aws_code = "PaginationTokenExpiredException"


@dataclass(frozen=True, slots=True)
class _ResourceType:
    """A type of resource: the operation that lists them, the member of its answer, and the member with name or ARN."""

    type: str
    lists: str
    member: str
    name: str = ""
    token: str = "NextToken"

    @property
    def service(self) -> str:
        return self.type.partition(":")[0]


_RESOURCE_TYPES = (
    _ResourceType("athena:datacatalog", "ListDataCatalogs", "DataCatalogsSummary", "CatalogName"),
    _ResourceType("athena:workgroup", "ListWorkGroups", "WorkGroups", "Name"),
    _ResourceType("glue:connection", "GetConnections", "ConnectionList", "Name"),
    _ResourceType("glue:crawler", "ListCrawlers", "CrawlerNames"),
    _ResourceType("glue:dataQualityRuleset", "ListDataQualityRulesets", "Rulesets", "Name"),
    _ResourceType("glue:database", "GetDatabases", "DatabaseList", "Name"),
    _ResourceType("glue:job", "ListJobs", "JobNames"),
    _ResourceType("glue:registry", "ListRegistries", "Registries", "RegistryArn"),
    _ResourceType("glue:schema", "ListSchemas", "Schemas", "SchemaArn"),
    _ResourceType("glue:session", "ListSessions", "Ids"),
    _ResourceType("glue:trigger", "ListTriggers", "TriggerNames"),
    _ResourceType("glue:workflow", "ListWorkflows", "Workflows"),
    _ResourceType("logs:log-group", "DescribeLogGroups", "logGroups", "logGroupArn", "nextToken"),
    _ResourceType("secretsmanager:secret", "ListSecrets", "SecretList", "ARN"),
)
# How each service reads, adds and removes tags of an ARN: the operation and its request.
_READ: Mapping[str, Callable[[str], tuple[str, Request]]] = {
    "athena": lambda text: ("ListTagsForResource", {"ResourceARN": text}),
    "glue": lambda text: ("GetTags", {"ResourceArn": text}),
    "logs": lambda text: ("ListTagsForResource", {"resourceArn": text}),
    "secretsmanager": lambda text: ("DescribeSecret", {"SecretId": text}),
}
_ADD: Mapping[str, Callable[[str, Tags], Request]] = {
    "athena": lambda text, tags: {"ResourceARN": text, "Tags": _pairs(tags)},
    "glue": lambda text, tags: {"ResourceArn": text, "TagsToAdd": tags},
    "logs": lambda text, tags: {"resourceArn": text, "tags": tags},
    "secretsmanager": lambda text, tags: {"SecretId": text, "Tags": _pairs(tags)},
}
_REMOVE: Mapping[str, Callable[[str, Sequence[str]], Request]] = {
    "athena": lambda text, keys: {"ResourceARN": text, "TagKeys": keys},
    "glue": lambda text, keys: {"ResourceArn": text, "TagsToRemove": keys},
    "logs": lambda text, keys: {"resourceArn": text, "tagKeys": keys},
    "secretsmanager": lambda text, keys: {"SecretId": text, "TagKeys": keys},
}


def operations(services: Sequence[OperationSet], buckets: Buckets) -> OperationSet:
    """Return the operations over ``services`` of one account, and the tags of its S3 ``buckets`` by name."""
    tagging = _Tagging(services, buckets)
    handlers: dict[str, Handler] = {
        "GetResources": tagging.resources,
        "GetTagKeys": tagging.keys,
        "GetTagValues": tagging.values,
        "TagResources": lambda request, context: tagging.change(
            request, context, lambda service, text: ("TagResource", _ADD[service](text, request["Tags"]))
        ),
        "UntagResources": lambda request, context: tagging.change(
            request, context, lambda service, text: ("UntagResource", _REMOVE[service](text, request["TagKeys"]))
        ),
    }
    return OperationSet(service="resourcegroupstaggingapi", handlers=handlers)


class _Tagging:
    def __init__(self, services: Sequence[OperationSet], buckets: Buckets) -> None:
        self._handlers = {
            (service.service, name): handler for service in services for name, handler in service.handlers.items()
        }
        self._buckets = buckets

    def resources(self, request: Request, context: RequestContext) -> Response:
        arns = request.get("ResourceARNList")
        if arns and (request.get("TagFilters") or request.get("ResourceTypeFilters")):
            raise InvalidParameter("ResourceARNList is given with filters.", remedy="Give one of them.")
        types, filters = request.get("ResourceTypeFilters") or (), request.get("TagFilters") or ()
        conditions = [(filter_.get("Key"), filter_.get("Values")) for filter_ in filters]
        if any(not key for key, _ in conditions):
            raise InvalidParameter("A tag filter needs a Key.")
        resources = [
            (text, tags)
            for text, tags in self._tagged(context, types)
            if (not arns or text in arns)
            and all(key in tags and (not values or tags[key] in values) for key, values in conditions)
        ]
        limit = min(request.get("ResourcesPerPage") or _PAGE, _MOST)
        page, token = _paged("resources", request, sorted(resources), limit, lambda resource: resource[0])
        return {
            "ResourceTagMappingList": [{"ResourceARN": text, "Tags": _pairs(tags)} for text, tags in page],
            "PaginationToken": token,
        }

    def keys(self, request: Request, context: RequestContext) -> Response:
        tag_keys = sorted({key for _, tags in self._tagged(context, ()) for key in tags})
        page, token = _paged("keys", request, tag_keys, _MOST, str)
        return {"TagKeys": list(page), "PaginationToken": token}

    def values(self, request: Request, context: RequestContext) -> Response:
        key = request["Key"]
        tag_values = sorted({tags[key] for _, tags in self._tagged(context, ()) if key in tags})
        page, token = _paged(f"values:{key}", request, tag_values, _MOST, str)
        return {"TagValues": list(page), "PaginationToken": token}

    def change(
        self, request: Request, context: RequestContext, request_of: Callable[[str, str], tuple[str, Request]]
    ) -> Response:
        """Carry out the service's own operation on each resource: an error of one is not an error of the others."""
        failed: dict[str, Any] = {}
        for text in request["ResourceARNList"]:
            service = text.split(":", 3)[2] if text.count(":") >= 5 else ""
            if service not in _ADD:
                failed[text] = _failure("InvalidParameterException", f"{service or text} has no tags that are served here.")
                continue
            try:
                self._call(service, *request_of(service, text), context)
            except PenstockError as error:
                failed[text] = _failure("InvalidParameterException", f"{error.aws_code}: {error}")
        return {"FailedResourcesMap": failed}

    def _tagged(self, context: RequestContext, types: Sequence[str]) -> Iterator[tuple[str, Tags]]:
        """Yield ARN and tags of every resource that has tags."""
        for owner_type in _RESOURCE_TYPES:
            if types and owner_type.type not in types and owner_type.service not in types:
                continue
            for resource in self._listed(owner_type, context):
                text = _arn_of(owner_type, resource, context)
                tags = _read_tags(
                    resource
                    if "Tags" in resource
                    else self._call(owner_type.service, *_READ[owner_type.service](text), context)
                )
                if tags:
                    yield text, tags
        if not types or {"s3", "s3:bucket"} & set(types):
            yield from ((f"arn:aws:s3:::{name}", tags) for name, tags in self._buckets() if tags)

    def _listed(self, owner_type: _ResourceType, context: RequestContext) -> Iterator[Any]:
        token: str | None = None
        while True:
            answer = self._call(
                owner_type.service, owner_type.lists, {} if token is None else {owner_type.token: token}, context
            )
            yield from answer.get(owner_type.member) or ()
            token = answer.get(owner_type.token)
            if token is None:
                return

    def _call(self, service: str, operation: str, request: Request, context: RequestContext) -> Mapping[str, Any]:
        own = context._replace(service=service, operation=operation)
        return _called(self._handlers[service, operation], request, own)


def _called(handler: AnyHandler, request: Request, context: RequestContext) -> Mapping[str, Any]:
    if not isinstance(handler, BatchHandler):
        return handler(request, context)
    [answer] = handler.answer([(request, context)])
    if isinstance(answer, Exception):
        raise answer
    return answer


def _arn_of(owner_type: _ResourceType, resource: Any, context: RequestContext) -> str:
    name = resource[owner_type.name] if owner_type.name else resource
    if str(name).startswith("arn:"):
        return str(name)
    return arn(owner_type.service, context.region, context.account, f"{owner_type.type.partition(':')[2]}/{name}")


def _read_tags(answer: Any) -> Tags:
    tags = answer.get("Tags") or answer.get("tags") or {}
    return tags if isinstance(tags, Mapping) else {tag["Key"]: tag["Value"] for tag in tags}


def _pairs(tags: Tags) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in sorted(tags.items())]


def _failure(code: str, message: str) -> dict[str, Any]:
    return present(StatusCode=400, ErrorCode=code, ErrorMessage=message)


def _paged(
    listing: str, request: Request, items: Sequence[Any], limit: int, key: Callable[[Any], str]
) -> tuple[Sequence[Any], str]:
    try:
        page = page_of(listing, request.get("PaginationToken") or None, limit, items, key)
    except InvalidToken as error:
        raise ExpiredToken("The specified PaginationToken is invalid.", remedy=error.remedy) from error
    # As at AWS, the last page has an empty token.
    return page.items, page.next_token or ""
