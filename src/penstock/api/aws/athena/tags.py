"""Athena's operations on tags: those of work groups and data catalogs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request, Response
from penstock.errors import InvalidInput
from penstock.names import parse_arn
from penstock.statements.data_catalogs import DataCatalogs
from penstock.statements.errors import ResourceNotFound, UnknownName
from penstock.statements.work_groups import WorkGroups
from penstock.tags import changed_tags, check_tags

__all__ = ["tag_handlers", "tags_of"]


@dataclass(frozen=True, slots=True)
class _ResourceType:
    """How tags of a type of resource are read and changed by its name. Both raise :class:`UnknownName`."""

    tags: Callable[[str], Mapping[str, str]]
    change: Callable[[str, Mapping[str, str], Sequence[str]], object]


def tag_handlers(groups: WorkGroups, catalogs: DataCatalogs) -> Mapping[str, Handler]:
    """Return the handlers over work groups and data catalogs, by operation."""

    def change_group(name: str, add: Mapping[str, str], remove: Sequence[str]) -> None:
        check_tags(add)
        groups.change(name, lambda old: replace(old, tags=changed_tags(old.tags, add, remove)))

    resource_types = {
        "workgroup": _ResourceType(lambda name: groups.get(name).tags, change_group),
        "datacatalog": _ResourceType(
            lambda name: catalogs.get(name).tags,
            lambda name, add, remove: catalogs.change_tags(name, add=add, remove=remove),
        ),
    }

    def list_all(request: Request, context: RequestContext) -> Response:
        # At most 50 tags, which fit on the smallest page that the operation has.
        resource_type, name = _resource(resource_types, request, context)
        return {"Tags": [{"Key": key, "Value": value} for key, value in sorted(resource_type.tags(name).items())]}

    def tag(request: Request, context: RequestContext) -> Response:
        added = tags_of(request)
        resource_type, name = _resource(resource_types, request, context)
        resource_type.change(name, added, ())
        return {}

    def untag(request: Request, context: RequestContext) -> Response:
        resource_type, name = _resource(resource_types, request, context)
        resource_type.change(name, {}, request["TagKeys"])
        return {}

    return {"ListTagsForResource": list_all, "TagResource": tag, "UntagResource": untag}


def tags_of(request: Request) -> dict[str, str]:
    """Return the tags of a request. Raises :class:`InvalidInput` for one without a key."""
    pairs = request.get("Tags", ())
    if not all(pair.get("Key") for pair in pairs):
        raise InvalidInput("Each tag needs a Key.", remedy="Give tags as Key and Value.")
    return {pair["Key"]: pair.get("Value", "") for pair in pairs}


def _resource(
    resource_types: Mapping[str, _ResourceType], request: Request, context: RequestContext
) -> tuple[_ResourceType, str]:
    """Return type and name of the request's ARN. Raises :class:`ResourceNotFound` for any other resource."""
    text = request["ResourceARN"]
    missing = ResourceNotFound(
        f"Resource {text[:400]} was not found.",
        remedy="Give the ARN of a work group or data catalog of this account and Region.",
    )
    try:
        parsed = parse_arn(text)
        word, _, name = parsed.resource.partition("/")
        resource_type = resource_types.get(word)
        own = (parsed.service, parsed.region, parsed.account) == ("athena", context.region, context.account)
        if resource_type is None or not own:
            raise missing
        resource_type.tags(name)
    except (InvalidInput, UnknownName):
        raise missing from None
    return resource_type, name
