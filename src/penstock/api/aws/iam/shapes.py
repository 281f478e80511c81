"""Shared by the modules of IAM's operations: pages, documents and tags in IAM's form."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from urllib.parse import quote

from penstock.access.entities import Entity, Principal
from penstock.access.identities.tags import unique_tags
from penstock.api.aws.protocol.handlers import account, call, member
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request, present
from penstock.paging import page_of

__all__ = ["PATH", "boundary_shape", "document", "list_handler", "named", "paged", "tag_handlers", "tags_of", "tags_shape"]

T = TypeVar("T")
E = TypeVar("E", bound=Entity)
PATH = member("Path", default="/")
_PAGE = 100


def document(text: str) -> str:
    """Return a policy's text as IAM answers it: percent-encoded (RFC 3986)."""
    return quote(text, safe="")


def boundary_shape(identity: Principal) -> dict[str, str] | None:
    """Return the permissions boundary of a user or role; None if it has none."""
    if identity.boundary is None:
        return None
    return {"PermissionsBoundaryType": "Policy", "PermissionsBoundaryArn": identity.boundary}


def tags_of(request: Request, _context: RequestContext) -> dict[str, str]:
    """Return the tags of a request; raise :class:`~penstock.access.identities.tags.InvalidTags` if a key occurs twice."""
    return unique_tags((tag["Key"], tag["Value"]) for tag in request.get("Tags", ()))


def tags_shape(entity: Entity) -> list[dict[str, str]] | None:
    """Return the tags of an entity; None if it has none."""
    return [{"Key": key, "Value": value} for key, value in sorted(entity.tags.items())] or None


def list_handler(member: str, entities: Callable[[str, str], Sequence[E]], shape: Callable[[E], Any]) -> Handler:
    """Return the listing of an account's entities below a path, by name; ``entities`` takes the account and the path."""

    def handle(request: Request, context: RequestContext) -> Request:
        rows = entities(context.account, request.get("PathPrefix", "/"))
        return paged(request, member, member, rows, key=lambda entity: entity.name.lower(), shape=shape)

    return handle


def tag_handlers(noun: str, name: str, tag: Callable[..., Any], get: Callable[[str, str], Entity]) -> dict[str, Handler]:
    """Return the three operations on the tags of entities, which requests name by the member ``name``.

    ``tag`` and ``get`` take the account and the name.
    """

    def list_tags(request: Request, context: RequestContext) -> Request:
        entity = get(context.account, request[name])
        tags = tags_shape(entity) or []
        return paged(request, f"tags:{entity.arn}", "Tags", tags, key=lambda pair: pair["Key"], shape=dict)

    return {
        f"Tag{noun}": call(tag, account, name, add=tags_of),
        f"Untag{noun}": call(tag, account, name, remove="TagKeys"),
        f"List{noun}Tags": list_tags,
    }


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
    request: Request, listing: str, member: str, rows: Sequence[T], *, key: Callable[[T], str], shape: Callable[[T], Any]
) -> Request:
    """Return the page of ``rows``, in the order of ``key``, that the request's Marker and MaxItems ask for."""
    page = page_of(listing, request.get("Marker"), request.get("MaxItems", _PAGE), sorted(rows, key=key), key)
    shapes = [shape(row) for row in page.items]
    return present(**{member: shapes}, IsTruncated=page.next_token is not None, Marker=page.next_token)
