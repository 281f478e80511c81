"""CloudWatch Logs' groups that callers make: their names, retention and tags. Events are in the groups of job runs alone.

Source: CloudWatch Logs API reference, CreateLogGroup, PutRetentionPolicy, TagResource. Tools such as Terraform declare the
group of a function or a service beside it; here such a group has no streams, and so nothing that a retention would delete.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from penstock.api.aws.logs import GROUPS, describe_groups, run_group
from penstock.api.aws.protocol.operations import AnyHandler, BatchHandler, Handler, OperationSet, RequestContext
from penstock.api.aws.protocol.values import Request, Response, present
from penstock.errors import AlreadyExists, InvalidInput, NotFound
from penstock.names import arn
from penstock.statements.resources import AccountResource, ResourceKind, ResourceStore
from penstock.tags import MAX_TAGS, check_tags

__all__ = ["LogGroup", "with_log_groups"]

_MAX_GROUPS = 10_000
_MAX_NAME = 256  # characters that the store's keys have
_DAYS = (*(1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1_096, 1_827, 2_192, 2_557, 2_922, 3_288, 3_653),)


class GroupExists(AlreadyExists):
    """The name is taken."""

    aws_code = "ResourceAlreadyExistsException"


class NoSuchGroup(NotFound):
    """The group does not exist."""

    aws_code = "ResourceNotFoundException"


class InvalidParameter(InvalidInput):
    """A value is not one that the service takes."""

    aws_code = "InvalidParameterException"


class TooManyTags(InvalidInput):
    """A group has at most 50 tags."""

    aws_code = "TooManyTagsException"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogGroup(AccountResource):
    """A group; ``retention`` is in days, None for ever. ``created`` is in milliseconds since 1970."""

    created: int
    retention: int | None = None
    kms_key_id: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)


_KIND: ResourceKind[LogGroup] = ResourceKind("log-group", lambda stored: LogGroup(**stored))


def with_log_groups(logs: OperationSet, store: ResourceStore) -> OperationSet:
    """Return the operations of ``logs``, with those on groups that are in ``store``."""
    groups = _Groups(store)
    handlers: dict[str, AnyHandler] = {**logs.handlers, **groups.handlers()}
    for name in ("DescribeLogStreams", "FilterLogEvents"):
        handlers[name] = groups.empty(logs.handlers[name], "logStreams" if name == "DescribeLogStreams" else "events")
    return replace(logs, handlers=handlers)


class _Groups:
    def __init__(self, store: ResourceStore, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._store = store
        self._now = now

    def handlers(self) -> dict[str, Handler]:
        return {
            "CreateLogGroup": self.create,
            "DeleteLogGroup": self.delete,
            "DescribeLogGroups": self.describe,
            "PutRetentionPolicy": lambda request, _: self.retain(request["logGroupName"], request["retentionInDays"]),
            "DeleteRetentionPolicy": lambda request, _: self.retain(request["logGroupName"], None),
            "TagResource": lambda request, context: self.tag(_named(request, context), request["tags"]),
            "UntagResource": lambda request, context: self.untag(_named(request, context), request["tagKeys"]),
            "ListTagsForResource": lambda request, context: self.tags(_named(request, context)),
            "TagLogGroup": lambda request, _: self.tag(request["logGroupName"], request["tags"]),
            "UntagLogGroup": lambda request, _: self.untag(request["logGroupName"], request["tags"]),
            "ListTagsLogGroup": lambda request, _: self.tags(request["logGroupName"]),
        }

    def create(self, request: Request, _context: RequestContext) -> Response:
        name, tags = request["logGroupName"], request.get("tags") or {}
        if len(name) > _MAX_NAME:
            raise InvalidParameter(f"A name has at most {_MAX_NAME} characters here.", remedy="Take a shorter one.")
        if request.get("logGroupClass", "STANDARD") != "STANDARD":
            raise InvalidParameter(f"There is no log group class {request['logGroupClass']} here.", remedy="Leave it out.")
        _check_tags(tags)
        created = round(self._now().timestamp() * 1_000)
        group = LogGroup(name=name, created=created, kms_key_id=request.get("kmsKeyId"), tags=dict(tags))
        if name in GROUPS or not self._store.add(_KIND, group, limit=_MAX_GROUPS):
            raise GroupExists("The specified log group already exists")
        return {}

    def delete(self, request: Request, _context: RequestContext) -> Response:
        name = request["logGroupName"]
        _check_own(name)
        if not self._store.delete(_KIND, "", name):
            raise _missing()
        return {}

    def describe(self, request: Request, context: RequestContext) -> Response:
        own = self.named(request.get("logGroupNamePrefix") or "")
        shapes = {name: run_group(name, context) for name in GROUPS}
        return describe_groups(request, shapes | {name: group_shape(log_group, context) for name, log_group in own.items()})

    def retain(self, name: str, days: int | None) -> Response:
        _check_own(name)
        if days is not None and days not in _DAYS:
            served = ", ".join(map(str, _DAYS))
            raise InvalidParameter(f"{days} is not a number of days that logs can be kept.", remedy=f"Give one of {served}.")
        self._change(name, lambda group: replace(group, retention=days))
        return {}

    def tag(self, name: str, tags: Mapping[str, str]) -> Response:
        def change(group: LogGroup) -> LogGroup:
            merged = {**group.tags, **tags}
            _check_tags(merged)
            return replace(group, tags=merged)

        self._change(name, change)
        return {}

    def untag(self, name: str, keys: Sequence[str]) -> Response:
        self._change(name, lambda group: replace(group, tags={k: v for k, v in group.tags.items() if k not in keys}))
        return {}

    def tags(self, name: str) -> Response:
        if name in GROUPS:
            return {"tags": {}}
        group = self._store.get(_KIND, "", name)
        if group is None:
            raise _missing()
        return {"tags": dict(group.tags)}

    def named(self, prefix: str) -> dict[str, LogGroup]:
        """Return the groups whose names begin with ``prefix``, by name."""
        groups = self._store.list(_KIND, "", after=None, limit=_MAX_GROUPS)
        return {group.name: group for group in groups if group.name.startswith(prefix)}

    def empty(self, handler: AnyHandler, member: str) -> Handler:
        """Return ``handler``, which answers an empty list for a group of callers' own."""
        assert not isinstance(handler, BatchHandler)

        def answer(request: Request, context: RequestContext) -> Response:
            if self._store.get(_KIND, "", request.get("logGroupName") or "") is not None:
                return {member: []}
            return handler(request, context)

        return answer

    def _change(self, name: str, change: Callable[[LogGroup], LogGroup]) -> None:
        _check_own(name)
        if self._store.change(_KIND, "", name, change) is None:
            raise _missing()


def group_shape(group: LogGroup, context: RequestContext) -> dict[str, Any]:
    """Return the group as DescribeLogGroups has it."""
    own = arn("logs", context.region, context.account, f"log-group:{group.name}")
    return present(
        logGroupName=group.name,
        creationTime=group.created,
        retentionInDays=group.retention,
        metricFilterCount=0,
        arn=f"{own}:*",
        logGroupArn=own,
        storedBytes=0,
        kmsKeyId=group.kms_key_id,
        logGroupClass="STANDARD",
    )


def _check_tags(tags: Mapping[str, str]) -> None:
    if len(tags) > MAX_TAGS:
        raise TooManyTags(f"A log group has at most {MAX_TAGS} tags.")
    check_tags(tags)


def _check_own(name: str) -> None:
    if name in GROUPS:
        raise InvalidParameter(
            f"{name} is the group of job runs, whose logs are kept as long as the runs.", remedy="Name a group of your own."
        )


def _missing() -> NoSuchGroup:
    return NoSuchGroup("The specified log group does not exist.")


def _named(request: Request, context: RequestContext) -> str:
    prefix = arn("logs", context.region, context.account, "log-group:")
    text = str(request["resourceArn"])
    if not text.startswith(prefix):
        raise NoSuchGroup(f"{text[:200]} is not the ARN of a log group of this account.")
    return text.removeprefix(prefix).removesuffix(":*")
