"""LookupEvents over the audit log of changes."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from penstock.api.aws.cloudtrail import InvalidNextToken, operations
from penstock.api.aws.protocol.operations import RequestContext
from penstock.errors import InvalidInput
from penstock.registry import audit
from penstock.registry.audit import Actor, acting
from penstock.registry.model import SchemaKey
from penstock.registry.schemas import NewSchema
from penstock.registry.service import RegistryService
from penstock.schema.compatibility import CompatibilityMode
from penstock.store.sql.registry.store import SqlRegistryStore
from penstock.testing.sqlite import new_database
from tests.unit.api.handlers import called
from tests.unit.registry.registrations import register

CONTEXT = RequestContext(
    service="cloudtrail",
    operation="LookupEvents",
    account="000000000000",
    region="us-east-1",
    principal="arn:aws:iam::000000000000:user/ana",
    request_id="1",
)
START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def lookup() -> Callable[..., Any]:
    times = iter(START + timedelta(minutes=number) for number in range(100_000))
    service = RegistryService(SqlRegistryStore(new_database()), now=lambda: next(times))
    with acting(Actor(principal="arn:aws:iam::000000000000:user/ana", client="192.0.2.7")):
        service.registries.create("r")
        for name in ("a", "b"):
            expected = NewSchema(registry="r", name=name, data_format="AVRO", compatibility=CompatibilityMode.NONE)
            service.schemas.create(expected)
    with acting(Actor(principal="arn:aws:iam::000000000000:user/bo")):
        for kind in ("int", "long", "string"):
            register(service, SchemaKey("r", "a"), f'"{kind}"')
    handler = operations(service.audit).handlers["LookupEvents"]
    return lambda **request: called(handler, request, CONTEXT)


def by(key: str, value: str) -> list[dict[str, str]]:
    return [{"AttributeKey": key, "AttributeValue": value}]


def names(answer: dict[str, Any]) -> list[tuple[str, str]]:
    return [(event["EventName"], event["Resources"][0]["ResourceName"]) for event in answer["Events"]]


def test_the_newest_change_comes_first(lookup: Callable[..., Any]) -> None:
    result = lookup()
    assert names(result)[0] == ("RegisterSchemaVersion", "schema/r/a")
    assert names(result)[-1] == ("CreateRegistry", "registry/r")
    assert len(result["Events"]) == 6


def test_an_event_has_caller_operation_time_and_address(lookup: Callable[..., Any]) -> None:
    event = lookup()["Events"][-1]
    assert (event["Username"], event["EventSource"], event["ReadOnly"]) == ("ana", "glue.amazonaws.com", "false")
    assert event["Resources"] == [{"ResourceType": "AWS::Glue::Registry", "ResourceName": "registry/r"}]
    record = json.loads(event["CloudTrailEvent"])
    assert record["userIdentity"]["arn"] == "arn:aws:iam::000000000000:user/ana"
    assert (record["sourceIPAddress"], record["eventID"]) == ("192.0.2.7", event["EventId"])
    assert record["responseElements"] == {"outcome": "created"}


@pytest.mark.parametrize(
    ("key", "value", "count"),
    [
        ("Username", "bo", 3),
        ("Username", "nobody", 0),
        ("EventName", "CreateSchema", 2),
        ("EventName", "RegisterSchemaVersion", 3),
        ("ResourceName", "schema/r/a", 4),
        ("ResourceName", "arn:aws:glue:us-east-1:000000000000:schema/r/a", 4),
        ("ResourceType", "AWS::Glue::Schema", 5),
        ("EventSource", "glue.amazonaws.com", 6),
        ("ReadOnly", "true", 0),
        ("AccessKeyId", "AKIA", 0),
    ],
)
def test_events_are_filtered_by_one_attribute(lookup: Callable[..., Any], key: str, value: str, count: int) -> None:
    assert len(lookup(LookupAttributes=by(key, value))["Events"]) == count


def test_an_event_is_found_by_its_id(lookup: Callable[..., Any]) -> None:
    event = lookup()["Events"][2]
    assert lookup(LookupAttributes=by("EventId", event["EventId"]))["Events"] == [event]


def test_times_bound(lookup: Callable[..., Any]) -> None:
    times = [event["EventTime"] for event in lookup()["Events"]]
    assert [event["EventTime"] for event in lookup(StartTime=times[3], EndTime=times[1])["Events"]] == times[1:4]
    with pytest.raises(InvalidInput, match="EndTime is before StartTime") as refused:
        lookup(StartTime=times[1], EndTime=times[3])
    assert refused.value.aws_code == "InvalidTimeRangeException"


def test_pages_follow_one_another(lookup: Callable[..., Any]) -> None:
    everything, token = [], None
    for _ in range(10):
        answer = lookup(MaxResults=4, **({"NextToken": token} if token else {}))
        everything += names(answer)
        token = answer.get("NextToken")
        if token is None:
            break
    assert everything == names(lookup())
    with pytest.raises(InvalidNextToken, match="NextToken is not one that this listing gave"):
        lookup(MaxResults=4, NextToken=lookup(MaxResults=4)["NextToken"], LookupAttributes=by("Username", "bo"))


def test_a_search_reads_a_bounded_part_and_goes_on(lookup: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "_BATCH", 2)
    monkeypatch.setattr(audit, "_MAX_BATCHES", 1)
    first = lookup(LookupAttributes=by("EventName", "CreateRegistry"))
    assert first["Events"] == []
    found, token = [], first["NextToken"]
    while token:
        answer = lookup(LookupAttributes=by("EventName", "CreateRegistry"), NextToken=token)
        found += answer["Events"]
        token = answer.get("NextToken")
    assert names({"Events": found}) == [("CreateRegistry", "registry/r")]


def test_two_attributes_are_refused_as_by_aws(lookup: Callable[..., Any]) -> None:
    with pytest.raises(InvalidInput, match="takes one attribute") as refused:
        lookup(LookupAttributes=by("Username", "a") + by("EventName", "b"))
    assert refused.value.aws_code == "InvalidLookupAttributesException"
