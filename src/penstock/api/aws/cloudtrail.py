"""CloudTrail's LookupEvents over an account's audit log of changes: who changed what, and when."""

import hashlib
import json
from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

from penstock.api.aws.protocol.operations import OperationSet, RequestContext
from penstock.api.aws.protocol.values import Request
from penstock.errors import InvalidInput
from penstock.paging import InvalidToken
from penstock.registry.audit import AuditEntry, AuditLog

__all__ = ["operations"]


_PAGE = 50
_IAM = "arn:aws:iam:"
_RESOURCE_TYPES = {"registry": "AWS::Glue::Registry", "schema": "AWS::Glue::Schema", "version": "AWS::Glue::SchemaVersion"}
_IAM_KINDS = {"user": "AWS::IAM::User", "role": "AWS::IAM::Role", "policy": "AWS::IAM::Policy"}

# The audit log's names of changes for which AWS's operation has another name.
_NAMES = {
    "RegisterVersion": "RegisterSchemaVersion",
    "DeleteVersions": "DeleteSchemaVersions",
    "PutMetadata": "PutSchemaVersionMetadata",
    "RemoveMetadata": "RemoveSchemaVersionMetadata",
}


class InvalidTimeRange(InvalidInput):
    """The end is before the start."""

    aws_code = "InvalidTimeRangeException"


class InvalidLookupAttributes(InvalidInput):
    """The request has more than one attribute, which CloudTrail rejects, too."""

    aws_code = "InvalidLookupAttributesException"


class InvalidNextToken(InvalidToken):
    """The token does not come from a page of the same search. The code is CloudTrail's."""

    aws_code = "InvalidNextTokenException"


def operations(log: AuditLog) -> OperationSet:
    """Return LookupEvents, answered from ``log``."""

    def lookup(request: Request, context: RequestContext) -> Request:
        since, until = request.get("StartTime"), request.get("EndTime")
        if since is not None and until is not None and until < since:
            raise InvalidTimeRange("EndTime is before StartTime.", remedy="Exchange the two.")
        attribute = _attribute(request.get("LookupAttributes", ()))
        try:
            entries = log.search(
                lambda entry: (until is None or entry.time <= until) and _matches(entry, attribute),
                listing=_listing(request),
                resource=_resource(attribute[1]) if attribute is not None and attribute[0] == "ResourceName" else None,
                since=since,
                token=request.get("NextToken"),
                size=request.get("MaxResults", _PAGE),
            )
        except InvalidToken:
            raise InvalidNextToken from None
        events = [_event(entry, context) for entry in entries.items]
        return {"Events": events} | ({"NextToken": entries.next_token} if entries.next_token else {})

    return OperationSet(service="cloudtrail", handlers={"LookupEvents": lookup})


def _attribute(attributes: Any) -> tuple[str, str] | None:
    if len(attributes) > 1:
        raise InvalidLookupAttributes(
            "LookupEvents takes one attribute.", remedy="Filter the returned events by the other attributes."
        )
    return (attributes[0]["AttributeKey"], attributes[0]["AttributeValue"]) if attributes else None


def _listing(request: Request) -> str:
    """Return a name of the listing, so that a token is only valid with the same filters."""
    query = [str(request.get(key)) for key in ("LookupAttributes", "StartTime", "EndTime")]
    return f"events:{hashlib.sha256(repr(query).encode()).hexdigest()[:16]}"


def _matches(entry: AuditEntry, attribute: tuple[str, str] | None) -> bool:
    if attribute is None:
        return True
    key, value = attribute
    if key == "ResourceName":
        return entry.resource == _resource(value)
    # AccessKeyId, which the log does not contain, finds nothing.
    return key in _VALUES and _VALUES[key](entry) == value


def _resource(name: str) -> str:
    """Return the resource of a name or an ARN as the log has it: IAM's resources by full ARN."""
    if name.startswith(_IAM):
        return name
    return name.split(":", 5)[5] if name.startswith("arn:") and name.count(":") >= 5 else name


def _event_id(entry: AuditEntry) -> str:
    return str(UUID(int=entry.number))


def _name(entry: AuditEntry) -> str:
    return _NAMES.get(entry.operation, entry.operation)


def _user(entry: AuditEntry) -> str:
    if entry.principal.startswith(_IAM) and entry.principal.endswith(":root"):
        return "root"
    return entry.principal.rpartition("/")[2]


def _resource_type(entry: AuditEntry) -> str:
    if entry.resource.startswith(_IAM):
        return _IAM_KINDS.get(entry.resource.split(":")[5].partition("/")[0], "AWS::IAM::AccessKey")
    return _RESOURCE_TYPES.get(entry.resource.partition("/")[0], "AWS::Glue::DataCatalog")


def _source(entry: AuditEntry) -> str:
    if entry.operation == "AssumeRole":
        return "sts.amazonaws.com"
    if entry.operation == "CreateAccount":
        return "organizations.amazonaws.com"
    return "iam.amazonaws.com" if entry.resource.startswith(_IAM) else "glue.amazonaws.com"


_VALUES: dict[str, Callable[[AuditEntry], str]] = {
    "EventId": _event_id,
    "EventName": _name,
    "ReadOnly": lambda _: "false",
    "Username": _user,
    "ResourceType": _resource_type,
    "EventSource": _source,
}
"""By attribute, the value of an entry that it is compared with."""


def _event(entry: AuditEntry, context: RequestContext) -> dict[str, Any]:
    return {
        "EventId": _event_id(entry),
        "EventName": _name(entry),
        "ReadOnly": "false",
        "EventTime": entry.time,
        "EventSource": _source(entry),
        "Username": _user(entry),
        "Resources": [{"ResourceType": _resource_type(entry), "ResourceName": entry.resource}],
        "CloudTrailEvent": json.dumps(_record(entry, context)),
    }


def _record(entry: AuditEntry, context: RequestContext) -> dict[str, Any]:
    """Return the event as CloudTrail records it, with the members that are known here."""
    return {
        "eventVersion": "1.11",
        "userIdentity": {"arn": entry.principal, "accountId": context.account},
        "eventTime": _time(entry.time),
        "eventSource": _source(entry),
        "eventName": _name(entry),
        "awsRegion": context.region,
        "sourceIPAddress": entry.client,
        "requestParameters": {"resource": entry.resource},
        "responseElements": {"outcome": entry.outcome},
        "eventID": _event_id(entry),
        "readOnly": False,
        "eventType": "AwsApiCall",
        "recipientAccountId": context.account,
    }


def _time(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")
