"""How the table of :mod:`.actions` writes the resources that an operation is authorized on, and what reads it.

A row is one of these, or a function for resources that have to be looked up:

- templates of resources, such as ``crawler/{CrawlerName|Name}``, which become ARNs of the service,
- :class:`Entity`, a user, role or the like of IAM, whose ARN has a path that the store knows,
- :class:`ArnIn`, an ARN that the request has.

In a template, ``{A|B}`` stands for the first of these members that the request has, ``{A+B.C}`` for each of them. A list
stands for each of its items, and ``{A:*}`` for ``*`` where the request has none.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.api.aws.authorization.resource_context import Builder, ResourceContext
from penstock.api.aws.protocol.values import Request
from penstock.names import arn

__all__ = ["ArnIn", "Entity", "rows"]

_PLACEHOLDER = re.compile(r"\{([\w|+.]+)(?::([^{}]*))?\}")
# Their names have no case: the catalog's are stored in small letters.
_WITHOUT_CASE = ("database/", "table/", "userDefinedFunction/")
# Their resources belong to no region.
_GLOBAL = frozenset({"iam", "sts"})


@dataclass(frozen=True, slots=True)
class Entity:
    """A ``user``, ``group``, ``role``, ``policy`` or ``profile`` that ``member`` names; with ``own``, else the caller."""

    entity_type: str
    member: str
    own: bool = False

    def __call__(self, request: Request, context: ResourceContext) -> Sequence[str]:
        """Return the ARN of the entity; of all, if the request names none."""
        name = request.get(self.member) or (context.user if self.own else None)
        resource = "instance-profile" if self.entity_type == "profile" else self.entity_type
        if name is None:
            return (arn("iam", "", context.account, f"{resource}/*"),)
        stored_arn = context.lookup.entity_arn(self.entity_type, name)
        return (stored_arn or arn("iam", "", context.account, f"{resource}{request.get('Path', '/')}{name}"),)


@dataclass(frozen=True, slots=True)
class ArnIn:
    """The ARN in ``member``."""

    member: str

    def __call__(self, request: Request, _context: ResourceContext) -> Sequence[str]:
        """Return the ARN."""
        return (request[self.member],)


def rows(service: str, table: Mapping[str | tuple[str, ...] | Builder, str]) -> Mapping[str, Builder]:
    """Return the builder of each operation in ``table``, which has the operations' names with spaces between them."""
    builders: dict[str, Builder] = {}
    for resources, operations in table.items():
        templates = (resources,) if isinstance(resources, str) else resources
        builder = _Templates(service, templates) if isinstance(templates, tuple) else templates
        for operation in operations.split():
            assert operation not in builders, f"{service}:{operation} has two rows"
            builders[operation] = builder
    return builders


class _Members:
    """The values of one placeholder."""

    def __init__(self, members: str, default: str | None) -> None:
        self._every = "+" in members
        self._paths = [path.split(".") for path in re.split(r"[|+]", members)]
        self._default = default

    def values(self, request: Request) -> Sequence[str]:
        """Return the names in a request. Raises KeyError if it has none and there is no default."""
        members = [_value(request, path) for path in self._paths]
        if self._every:
            names = sorted({str(name) for name in members if name is not None})
            return names or ([] if self._default is None else [self._default])
        name = next(filter(None, members), self._default)
        if name is None:
            name = request[self._paths[-1][0]]
        return name if isinstance(name, list) else [name]


class _Templates:
    """The ARNs of templates."""

    def __init__(self, service: str, templates: Sequence[str]) -> None:
        self._service = service
        self._templates = [(list(_parts(template)), template.startswith(_WITHOUT_CASE)) for template in templates]

    def __call__(self, request: Request, context: ResourceContext) -> Sequence[str]:
        region = "" if self._service in _GLOBAL else context.region
        return tuple(
            arn(self._service, region, context.account, resource)
            for parts, without_case in self._templates
            for resource in _expanded(parts, request, without_case=without_case)
        )


def _parts(template: str) -> Iterator[str | _Members]:
    end = 0
    for placeholder in _PLACEHOLDER.finditer(template):
        yield template[end : placeholder.start()]
        yield _Members(placeholder[1], placeholder[2])
        end = placeholder.end()
    yield template[end:]


def _expanded(parts: Sequence[str | _Members], request: Request, *, without_case: bool) -> Sequence[str]:
    texts = [""]
    for part in parts:
        names = [part] if isinstance(part, str) else part.values(request)
        if without_case and not isinstance(part, str):
            names = [name.lower() for name in names]
        texts = [text + name for text in texts for name in names]
    return texts


def _value(request: Request, path: Sequence[str]) -> Any:
    value: Any = request
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
