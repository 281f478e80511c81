"""GetTags, TagResource, UntagResource: each calls the tag owner of the ARN's kind of resource."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request
from penstock.errors import InvalidInput

__all__ = ["TagOwner", "tag_handlers"]


class TagOwner(Protocol):
    """Keeps the tags of some kinds of resource; :class:`penstock.registry.tags.Tags` is one."""

    def owns(self, resource_arn: str) -> bool:
        """Return whether the ARN is of this owner's kinds; the resource need not exist."""

    def get(self, resource_arn: str) -> Mapping[str, str]:
        """Return the tags; raise NotFound if the resource does not exist."""

    def add(self, resource_arn: str, tags: Mapping[str, str]) -> None:
        """Add or replace tags."""

    def remove(self, resource_arn: str, keys: Sequence[str]) -> None:
        """Remove tags; a missing tag is not an error."""


def tag_handlers(owners: Sequence[TagOwner]) -> dict[str, Handler]:
    """Return the three operations; the first of ``owners`` that owns the ARN is used."""

    def owner(resource_arn: str) -> TagOwner:
        for candidate in owners:
            if candidate.owns(resource_arn):
                return candidate
        raise InvalidInput(
            f"Tags of '{resource_arn[:400]}' are not served.",
            remedy="Registries, schemas, databases, connections and crawlers have tags; check the ARN.",
        )

    def get(request: Request, _: RequestContext) -> Request:
        return {"Tags": dict(owner(request["ResourceArn"]).get(request["ResourceArn"]))}

    def add(request: Request, _: RequestContext) -> Request:
        owner(request["ResourceArn"]).add(request["ResourceArn"], request["TagsToAdd"])
        return {}

    def remove(request: Request, _: RequestContext) -> Request:
        owner(request["ResourceArn"]).remove(request["ResourceArn"], request["TagsToRemove"])
        return {}

    return {"GetTags": get, "TagResource": add, "UntagResource": remove}
