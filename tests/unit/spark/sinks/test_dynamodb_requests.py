"""Requests of the DynamoDB sink without the service: unprocessed items are sent again, with growing pauses."""

from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from penstock.errors import EnvironmentProblem
from penstock.spark.sinks.dynamodb.writer import write_batch


@pytest.fixture
def client() -> Any:
    session = boto3.session.Session("AKIATESTING", "testing", region_name="us-east-1")
    return session.client("dynamodb")


def puts(*numbers: int) -> list[dict[str, Any]]:
    return [{"PutRequest": {"Item": {"id": {"N": str(number)}}}} for number in numbers]


def test_what_is_left_unprocessed_is_sent_again_and_nothing_else(client: Any) -> None:
    pauses: list[float] = []
    with Stubber(client) as stub:
        for sent, left in (((1, 2, 3), (2, 3)), ((2, 3), (3,)), ((3,), ())):
            answer = {"UnprocessedItems": {"t": puts(*left)} if left else {}}
            stub.add_response("batch_write_item", answer, {"RequestItems": {"t": puts(*sent)}})
        write_batch(client, "t", puts(1, 2, 3), sleep=pauses.append)
        stub.assert_no_pending_responses()
    assert len(pauses) == 2
    assert 0.025 <= pauses[0] <= 0.05 <= pauses[1] <= 0.1


def test_a_table_without_capacity_is_an_error_in_the_end(client: Any) -> None:
    pauses: list[float] = []
    with Stubber(client) as stub:
        for _ in range(12):
            stub.add_response("batch_write_item", {"UnprocessedItems": {"t": puts(1)}})
        with pytest.raises(EnvironmentProblem, match=r"left 1 of 2 writes unprocessed\. Give the table more write capacity"):
            write_batch(client, "t", puts(1, 2), sleep=pauses.append)
    assert len(pauses) == 11
    assert max(pauses) <= 5
