"""Athena's operations on tags: those of work groups and data catalogs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.errors import InvalidInput
from penstock.names import parse_arn
from penstock.statements.data_catalogs import DataCatalogs
from penstock.statements.errors import ResourceNotFound, UnknownName
from penstock.statements.work_groups import WorkGroups
from penstock.tags import changed_tags, check_tags

__all__ = ["tag_handlers", "tags_of"]


class _Tagged(Protocol):
    """A kind of resource with tags, by name. Raises :class:`UnknownName`."""

    def tags(self, name: str) -> Mapping[str, str]: ...

    def change(self, name: str, add: Mapping[str, str], remove: Sequence[str]) -> None: ...


class _WorkGroups:
    def __init__(self, groups: WorkGroups) -> None:
        self._groups = groups

    def tags(self, name: str) -> Mapping[str, str]:
        return self._groups.get(name).tags

    def change(self, name: str, add: Mapping[str, str], remove: Sequence[str]) -> None:
        check_tags(add)
        self._groups.change(name, lambda old: replace(old, tags=changed_tags(old.tags, add, remove)))


class _Catalogs:
    def __init__(self, catalogs: DataCatalogs) -> None:
        self._catalogs = catalogs

    def tags(self, name: str) -> Mapping[str, str]:
        return self._catalogs.get(name).tags

    def change(self, name: str, add: Mapping[str, str], remove: Sequence[str]) -> None:
        self._catalogs.change_tags(name, add=add, remove=remove)


def tag_handlers(groups: WorkGroups, catalogs: DataCatalogs) -> Mapping[str, Handler]:
    """Return the handlers over work groups and data catalogs, by operation."""
    handlers = _Tags({"workgroup": _WorkGroups(groups), "datacatalog": _Catalogs(catalogs)})
    return {"ListTagsForResource": handlers.list, "TagResource": handlers.tag, "UntagResource": handlers.untag}


def tags_of(request: Mapping[str, Any]) -> dict[str, str]:
    """Return the tags of a request. Raises :class:`InvalidInput` for one without a key."""
    pairs = request.get("Tags", ())
    if not all(pair.get("Key") for pair in pairs):
        raise InvalidInput("Each tag needs a Key.", remedy="Give tags as Key and Value.")
    return {pair["Key"]: pair.get("Value", "") for pair in pairs}


class _Tags:
    def __init__(self, resource_types: Mapping[str, _Tagged]) -> None:
        self._resource_types = resource_types

    def list(self, request: Mapping[str, Any], context: RequestContext) -> Mapping[str, Any]:
        # At most 50 tags, which fit on the smallest page that the operation has.
        resource_type, name = self._named(request, context)
        return {"Tags": [{"Key": key, "Value": value} for key, value in sorted(resource_type.tags(name).items())]}

    def tag(self, request: Mapping[str, Any], context: RequestContext) -> Mapping[str, Any]:
        added = tags_of(request)
        resource_type, name = self._named(request, context)
        resource_type.change(name, added, ())
        return {}

    def untag(self, request: Mapping[str, Any], context: RequestContext) -> Mapping[str, Any]:
        resource_type, name = self._named(request, context)
        resource_type.change(name, {}, request["TagKeys"])
        return {}

    def _named(self, request: Mapping[str, Any], context: RequestContext) -> tuple[_Tagged, str]:
        """Return kind and name of the request's ARN. Raises :class:`ResourceNotFound` for any other resource."""
        text = request["ResourceARN"]
        missing = ResourceNotFound(
            f"Resource {text[:400]} was not found.",
            remedy="Give the ARN of a work group or data catalog of this account and Region.",
        )
        try:
            parsed = parse_arn(text)
            word, _, name = parsed.resource.partition("/")
            resource_type = self._resource_types.get(word)
            if resource_type is None or (parsed.service, parsed.region, parsed.account) != (
                "athena",
                context.region,
                context.account,
            ):
                raise missing
            resource_type.tags(name)
        except (InvalidInput, UnknownName):
            raise missing from None
        return resource_type, name
