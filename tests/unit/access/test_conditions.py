"""Operators of conditions, as IAM's user guide defines them."""

from typing import Any

import pytest

from penstock.access.policies.conditions import parse_conditions


class ContextKeys:
    def __init__(self, **values: Any) -> None:
        self._values = {name.replace("_", ":"): value for name, value in values.items()}

    def get(self, key: str) -> tuple[str, ...] | None:
        value = self._values.get(key)
        return (value,) if isinstance(value, str) else value

    def text(self, key: str) -> str | None:
        value = self._values.get(key)
        return value if isinstance(value, str) else None


def holds(operator: str, wanted: Any, given: Any) -> bool:
    context = ContextKeys(aws_username="ana") if given is None else ContextKeys(aws_x=given, aws_username="ana")
    (condition,) = parse_conditions("c", {operator: {"AWS:X": wanted}}, variables=True)
    return condition.matches(context)


ADMIN = "arn:aws:iam::111122223333:role/admin"


@pytest.mark.parametrize(
    ("operator", "wanted", "given", "expected"),
    [
        ("StringEquals", "a", "a", True),
        ("StringEquals", ["b", "a"], "a", True),
        ("StringEquals", "a", "A", False),
        ("StringEquals", "a*", "ab", False),
        ("StringEquals", "a", None, False),
        ("StringEquals", "${aws:username}", "ana", True),
        ("StringEquals", "${aws:username}*", "anabel", False),
        ("StringEquals", "${aws:username}*", "ana*", True),
        ("StringEqualsIfExists", "a", None, True),
        ("StringEqualsIfExists", "a", "b", False),
        ("StringNotEquals", ["a", "b"], "b", False),
        ("StringNotEquals", ["a", "b"], "c", True),
        ("StringNotEquals", "a", None, True),
        ("StringEqualsIgnoreCase", "Straße", "STRASSE", True),
        ("StringNotEqualsIgnoreCase", "a", "A", False),
        ("StringLike", "a*c?", "abcd", True),
        ("StringLike", "${aws:username}/*", "ana/x", True),
        ("StringNotLike", "a*", "abc", False),
        ("NumericEquals", "10", "1e1", True),
        ("NumericEquals", 10, "10.0", True),
        ("NumericNotEquals", "10", "10", False),
        ("NumericLessThan", "10", "9.99", True),
        ("NumericLessThan", "10", "10", False),
        ("NumericLessThanEquals", "10", "10", True),
        ("NumericGreaterThan", "9", "10", True),
        ("NumericGreaterThanEquals", "10", "x", False),
        ("DateLessThan", "2026-11-21T10:00:00Z", "2026-11-21T09:59:59Z", True),
        ("DateGreaterThan", "2026-11-21T10:00:00+01:00", "2026-11-21T09:30:00Z", True),
        ("DateEquals", "1795255200", "2026-11-21T10:00:00Z", True),
        ("DateNotEquals", "2026-11-21", "2026-11-21T00:00:00Z", False),
        ("DateLessThanEquals", "2026-11-21T10:00:00Z", "later", False),
        ("Bool", True, "true", True),
        ("Bool", "FALSE", "true", False),
        ("Bool", "true", None, False),
        ("IpAddress", "10.0.0.0/8", "10.1.2.3", True),
        ("IpAddress", "10.0.0.0/8", "::ffff:10.1.2.3", True),
        ("IpAddress", "10.0.0.1", "10.0.0.1", True),
        ("IpAddress", "2001:db8::/32", "2001:db8::1", True),
        ("IpAddress", "10.0.0.0/8", "somewhere", False),
        ("NotIpAddress", ["10.0.0.0/8", "192.168.0.0/16"], "192.168.1.1", False),
        ("NotIpAddress", "10.0.0.0/8", "11.0.0.1", True),
        ("ArnEquals", "arn:aws:iam::*:role/admin", ADMIN, True),
        ("ArnLike", "arn:aws:iam::111122223333:*", ADMIN, True),
        ("ArnLike", "arn:aws:*:role/admin", ADMIN, False),
        ("ArnNotLike", "arn:aws:iam::*:role/*", ADMIN, False),
        ("ArnNotEquals", "arn:aws:iam::*:user/*", ADMIN, True),
        ("BinaryEquals", "YWJj", "YWJj", True),
        ("Null", "true", None, True),
        ("Null", "true", "a", False),
        ("Null", "false", "a", True),
        ("Null", False, None, False),
        ("ForAnyValue:StringEquals", ["a", "b"], ("c", "b"), True),
        ("ForAnyValue:StringEquals", ["a", "b"], ("c", "d"), False),
        ("ForAnyValue:StringEquals", "a", None, False),
        ("ForAnyValue:StringNotEquals", "a", ("a", "b"), True),
        ("ForAnyValue:StringNotEquals", "a", None, False),
        ("ForAllValues:StringEquals", ["a", "b"], ("b", "a"), True),
        ("ForAllValues:StringEquals", ["a", "b"], ("b", "c"), False),
        ("ForAllValues:StringEquals", "a", None, True),
        ("ForAllValues:StringNotLike", "a*", ("ab", "b"), False),
        ("ForAnyValue:StringLikeIfExists", "a*", None, True),
    ],
)
def test_holds(operator: str, wanted: Any, given: Any, expected: bool) -> None:
    assert holds(operator, wanted, given) is expected


def test_all_keys_of_all_operators_have_to_hold() -> None:
    conditions = parse_conditions(
        "c", {"StringEquals": {"aws:a": "1", "aws:b": "2"}, "Bool": {"aws:c": "true"}}, variables=True
    )
    assert [
        all(condition.matches(ContextKeys(aws_a="1", aws_b="2", aws_c=flag)) for condition in conditions)
        for flag in ("true", "false")
    ] == [
        True,
        False,
    ]
