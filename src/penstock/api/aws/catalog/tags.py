"""Tags of databases, connections and crawlers, by the ARNs that Glue gives them.

Tables and partitions have no tags in AWS either (Glue developer guide, "AWS tags in AWS Glue").
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from penstock.errors import NotFound
from penstock.names import parse_arn

__all__ = ["NamedTags", "Tagged"]


class Tagged(Protocol):
    """Keeps resources with tags by name; each method raises NotFound if the resource does not exist."""

    def tags(self, name: str) -> Mapping[str, str]:
        """Return the tags of the resource."""

    def change_tags(self, name: str, *, add: Mapping[str, str] | None = None, remove: Sequence[str] = ()) -> None:
        """Add or replace tags, then remove tags; removing a missing tag is not an error."""


class NamedTags:
    """A :class:`~penstock.api.aws.registry.resources.TagOwner` of one kind: ``database``, ``connection`` or ``crawler``."""

    def __init__(self, resource_type: str, things: Tagged, *, region: str, account: str) -> None:
        self._prefix = f"{resource_type}/"
        self._things = things
        self._place = ("glue", region, account)

    def owns(self, resource_arn: str) -> bool:
        """Return whether the ARN is of this kind."""
        return resource_arn.split(":", 5)[-1].startswith(self._prefix)

    def get(self, resource_arn: str) -> Mapping[str, str]:
        """The tags."""
        return self._things.tags(self._name(resource_arn))

    def add(self, resource_arn: str, tags: Mapping[str, str]) -> None:
        """Add or replace tags."""
        self._things.change_tags(self._name(resource_arn), add=tags)

    def remove(self, resource_arn: str, keys: Sequence[str]) -> None:
        """Remove tags."""
        self._things.change_tags(self._name(resource_arn), remove=keys)

    def _name(self, resource_arn: str) -> str:
        parsed = parse_arn(resource_arn)
        if (parsed.service, parsed.region, parsed.account) != self._place:
            raise NotFound(f"Entity not found: {resource_arn[:400]}.", remedy="Check the ARN's region, account and names.")
        return parsed.resource.removeprefix(self._prefix)
