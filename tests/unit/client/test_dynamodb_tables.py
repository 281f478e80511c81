"""Numbers of DynamoDB as types, and tables by their ARNs."""

import pytest

from penstock.client.databases.dynamodb import is_whole, table_of_arn


@pytest.mark.parametrize(
    ("number", "whole"),
    [("7", True), ("-7", True), ("9" * 18, True), ("9" * 19, False), ("1.0", False), ("1E+3", False), ("--1", False),
     ("٣", False), ("", False)],
)  # fmt: skip
def test_whole_numbers_are_those_that_every_bigint_holds(number: str, whole: bool) -> None:
    assert is_whole(number) is whole


def test_a_table_is_found_in_its_arn() -> None:
    assert table_of_arn("arn:aws:dynamodb:eu-west-1:123456789012:table/orders") == ("orders", "eu-west-1")
    assert table_of_arn("arn:aws:dynamodb:ddblocal:000000000000:table/orders") == ("orders", None)
    assert table_of_arn("s3://lake/orders") == table_of_arn("arn:aws:s3:::lake") == ("", None)
