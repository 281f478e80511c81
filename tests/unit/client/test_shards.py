"""A stream's shards: lineage, first positions, and pages of records after a position."""

from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from penstock.client.connection import error_code
from penstock.client.kinesis import (
    ShardFetcher,
    ShardPosition,
    StreamName,
    first_position,
    list_shards,
    may_pass,
    readable_shards,
)
from penstock.errors import AccessDenied, EnvironmentProblem, NotFound, PenstockError

STREAM = StreamName("s", "arn:aws:kinesis:us-east-1:111122223333:stream/s")
NAMED = {"StreamName": "s", "StreamARN": "arn:aws:kinesis:us-east-1:111122223333:stream/s"}


class Client:
    """Answers each call with the next of ``answers``: a mapping, or an error code to refuse it with."""

    meta = boto3.session.Session().client("kinesis", region_name="us-east-1").meta

    def __init__(self, *answers: dict[str, Any] | str) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, Any]] = []

    def _answer(self, **request: Any) -> Any:
        self.asked.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, str):
            raise ClientError({"Error": {"Code": answer, "Message": "no"}}, "Operation")
        return answer

    list_shards = get_shard_iterator = get_records = _answer


def page(*numbers: str, following: str | None = "next", behind: int = 0) -> dict[str, Any]:
    records = [{"SequenceNumber": number} for number in numbers]
    return {"Records": records, "NextShardIterator": following, "MillisBehindLatest": behind}


def test_children_wait_for_their_parents() -> None:
    shards = [
        {"ShardId": "a"},
        {"ShardId": "b"},
        {"ShardId": "c", "ParentShardId": "a"},
        {"ShardId": "d", "ParentShardId": "a", "AdjacentParentShardId": "b"},
        {"ShardId": "e", "ParentShardId": "gone"},
    ]
    assert readable_shards(shards, set()) == ["a", "b", "e"]
    assert readable_shards(shards, {"a"}) == ["a", "b", "c", "e"]
    assert readable_shards(shards, {"a", "b"}) == ["a", "b", "c", "d", "e"]


def test_the_first_positions_of_a_stream() -> None:
    live: dict[str, Any] = {"SequenceNumberRange": {}}
    closed = {"SequenceNumberRange": {"EndingSequenceNumber": "9"}}
    assert first_position(live, "LATEST", 5) == ShardPosition(at_ms=5)
    assert first_position(closed, "LATEST", 5) == ShardPosition(ended=True)
    assert first_position(closed, "AT_TIMESTAMP", 5) == ShardPosition(at_ms=5)
    assert first_position(closed, "TRIM_HORIZON", 5) == ShardPosition()


def test_positions_have_the_form_of_kinesis() -> None:
    assert ShardPosition().iterator_arguments == {"ShardIteratorType": "TRIM_HORIZON"}
    moment = ShardPosition(at_ms=1_500).iterator_arguments
    assert moment == {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC)}
    behind = ShardPosition(after="7", at_ms=1_500).iterator_arguments
    assert behind == {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "StartingSequenceNumber": "7"}


def test_shards_are_listed_page_by_page() -> None:
    client = Client({"Shards": [{"ShardId": "a"}], "NextToken": "t"}, {"Shards": [{"ShardId": "b"}]})
    assert [shard["ShardId"] for shard in list_shards(client, STREAM, MaxResults=1)] == ["a", "b"]
    assert client.asked == [{**NAMED, "MaxResults": 1}, {"NextToken": "t"}]
    assert list_shards(Client({"Shards": []}), StreamName("other")) == []


def test_pages_follow_each_other() -> None:
    client = Client({"ShardIterator": "first"}, page("1", "2", behind=9), page(), page("3", following=None))
    fetcher = ShardFetcher(client, STREAM, "a", ShardPosition())
    assert [entry["SequenceNumber"] for entry in fetcher.fetch(10)] == ["1", "2"]
    assert (fetcher.position, fetcher.behind_ms, fetcher.ended) == (ShardPosition(after="2"), 9, False)
    assert fetcher.fetch(10) == []
    assert (fetcher.position, fetcher.behind_ms) == (ShardPosition(after="2"), 0)
    fetcher.fetch(10)
    assert (fetcher.position, fetcher.ended) == (ShardPosition(after="3"), True)
    assert client.asked == [
        {**NAMED, "ShardId": "a", "ShardIteratorType": "TRIM_HORIZON"},
        {"ShardIterator": "first", "Limit": 10},
        {"ShardIterator": "next", "Limit": 10},
        {"ShardIterator": "next", "Limit": 10},
    ]


def test_an_iterator_that_is_too_old_is_renewed_behind_the_last_record() -> None:
    throttled = "ProvisionedThroughputExceededException"
    client = Client(
        {"ShardIterator": "first"}, page("1"), throttled, "ExpiredIteratorException", {"ShardIterator": "fresh"}, page("2")
    )
    fetcher = ShardFetcher(client, STREAM, "a", ShardPosition())
    fetcher.fetch(10)
    for code in (throttled, "ExpiredIteratorException"):
        with pytest.raises(PenstockError, match="records of shard a of stream s") as caught:
            fetcher.fetch(10)
        assert error_code(caught.value) == code
        assert may_pass(caught.value)
    assert [entry["SequenceNumber"] for entry in fetcher.fetch(10)] == ["2"]
    assert [entry.get("ShardIterator") for entry in client.asked] == [None, "first", "next", "next", None, "fresh"]
    assert client.asked[4]["StartingSequenceNumber"] == "1"


@pytest.mark.parametrize(
    ("code", "error"), [("AccessDeniedException", AccessDenied), ("ResourceNotFoundException", NotFound)]
)
def test_what_does_not_pass(code: str, error: type[PenstockError]) -> None:
    with pytest.raises(error) as caught:
        ShardFetcher(Client(code), STREAM, "a", ShardPosition()).fetch(10)
    assert not may_pass(caught.value)


def test_an_answer_that_is_not_kinesiss_may_pass() -> None:
    with pytest.raises(EnvironmentProblem, match="answered without 'Records'") as caught:
        ShardFetcher(Client({"ShardIterator": "i"}, {}), STREAM, "a", ShardPosition()).fetch(10)
    assert may_pass(caught.value)
    assert error_code(caught.value) == ""
