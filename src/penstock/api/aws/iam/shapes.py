"""Shared by the modules of IAM's operations: pages, documents and tags in IAM's form."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from urllib.parse import quote

from penstock.access.entities import Entity, Principal
from penstock.access.identities.tags import unique_tags
from penstock.api.aws.protocol.values import Request, present
from penstock.paging import page

__all__ = ["boundary_shape", "document", "named", "paged", "tags_of", "tags_shape"]

T = TypeVar("T")
_PAGE = 100


def document(text: str) -> str:
    """Return a policy's text as IAM answers it: percent-encoded (RFC 3986)."""
    return quote(text, safe="")


def boundary_shape(identity: Principal) -> dict[str, str] | None:
    """Return the permissions boundary of a user or role; None if it has none."""
    if identity.boundary is None:
        return None
    return {"PermissionsBoundaryType": "Policy", "PermissionsBoundaryArn": identity.boundary}


def tags_of(request: Request) -> dict[str, str]:
    """Return the tags of a request; raise :class:`~penstock.access.identities.tags.InvalidTags` if a key occurs twice."""
    return unique_tags((tag["Key"], tag["Value"]) for tag in request.get("Tags", ()))


def tags_shape(entity: Entity) -> list[dict[str, str]] | None:
    """Return the tags of an entity; None if it has none."""
    return [{"Key": key, "Value": value} for key, value in sorted(entity.tags.items())] or None


def named(entity_type: str, entity: Entity) -> dict[str, Any]:
    """Return the members that all shapes of an entity have; ``entity_type`` is ``User``, ``Role``, ``Policy`` or alike."""
    return {
        "Path": entity.path,
        f"{entity_type}Name": entity.name,
        f"{entity_type}Id": entity.id,
        "Arn": entity.arn,
        "CreateDate": entity.created,
    }


def paged(
    request: Request, listing: str, member: str, items: Sequence[T], *, key: Callable[[T], str], shape: Callable[[T], Any]
) -> Request:
    """Return the page of ``items``, in the order of ``key``, that the request's Marker and MaxItems ask for."""

    def read(after: str | None, count: int) -> Sequence[T]:
        return [item for item in items if after is None or key(item) > after][:count]

    items = sorted(items, key=key)
    one_page = page(listing, request.get("Marker"), request.get("MaxItems", _PAGE), read, key, kind=str)
    shown = [shape(item) for item in one_page.items]
    return present(**{member: shown}, IsTruncated=one_page.next_token is not None, Marker=one_page.next_token)
