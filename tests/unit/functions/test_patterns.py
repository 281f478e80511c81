"""Filter patterns against the cases of AWS's pages: Lambda's event filtering, and EventBridge's comparison operators."""

import json
from typing import Any

import pytest

from penstock.functions.errors import InvalidPattern
from penstock.functions.patterns import any_of, compile_pattern

# https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html, table of operators, and
# https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-pattern-operators.html: pattern, what matches, what not.
CASES: list[tuple[str, dict[str, Any], list[Any], list[Any]]] = [
    ("null", {"UserID": [None]}, [{"UserID": None}], [{"UserID": ""}, {}, {"UserID": 0}]),
    ("empty", {"LastName": [""]}, [{"LastName": ""}], [{"LastName": " "}, {}, {"LastName": None}]),
    ("equals", {"Name": ["Alice"]}, [{"Name": "Alice"}, {"Name": "Alice", "x": 1}], [{"Name": "alice"}, {"name": "Alice"}]),
    (
        "equals, ignore case",
        {"Name": [{"equals-ignore-case": "alice"}]},
        [{"Name": "ALICE"}],
        [{"Name": "alices"}, {"Name": 1}],
    ),
    (
        "and",
        {"Location": ["New York"], "Day": ["Monday"]},
        [{"Location": "New York", "Day": "Monday"}],
        [{"Location": "New York", "Day": "Friday"}, {"Day": "Monday"}],
    ),
    ("or", {"PaymentType": ["Credit", "Debit"]}, [{"PaymentType": "Debit"}], [{"PaymentType": "Cash"}]),
    (
        "or, several fields",
        {"$or": [{"Location": ["New York"]}, {"Day": ["Monday"]}]},
        [{"Location": "New York"}, {"Location": "Rome", "Day": "Monday"}],
        [{"Location": "Rome", "Day": "Friday"}, {}],
    ),
    (
        "or below and",
        {"type": ["a"], "$or": [{"x": [1]}, {"y": {"z": [2]}}]},
        [{"type": "a", "x": 1}, {"type": "a", "y": {"z": 2}}],
        [{"type": "b", "x": 1}, {"type": "a"}],
    ),
    (
        "not",
        {"Weather": [{"anything-but": ["Raining"]}]},
        [{"Weather": "Sunny"}, {"Weather": 5}],
        [{"Weather": "Raining"}, {}],
    ),
    ("not, one value", {"state": [{"anything-but": "initializing"}]}, [{"state": "x"}], [{"state": "initializing"}]),
    ("not, numbers", {"limit": [{"anything-but": [100, 200, 300]}]}, [{"limit": 50}], [{"limit": 200}]),
    ("not, prefix", {"Region": [{"anything-but": {"prefix": "us-"}}]}, [{"Region": "eu-1"}], [{"Region": "us-east-1"}, {}]),
    ("not, prefixes", {"s": [{"anything-but": {"prefix": ["a", "b"]}}]}, [{"s": "c"}], [{"s": "b1"}]),
    ("not, suffix", {"f": [{"anything-but": {"suffix": ".png"}}]}, [{"f": "a.gif"}], [{"f": "a.png"}]),
    ("not, case", {"s": [{"anything-but": {"equals-ignore-case": ["a", "b"]}}]}, [{"s": "c"}], [{"s": "B"}]),
    ("not, wildcard", {"p": [{"anything-but": {"wildcard": "*/lib/*"}}]}, [{"p": "/usr/bin/x"}], [{"p": "/usr/lib/x"}]),
    (
        "numeric equals",
        {"Price": [{"numeric": ["=", 100]}]},
        [{"Price": 100}, {"Price": 100.0}],
        [{"Price": 99}, {"Price": "100"}],
    ),
    (
        "numeric range",
        {"Price": [{"numeric": [">", 10, "<=", 20]}]},
        [{"Price": 10.01}, {"Price": 20}],
        [{"Price": 10}, {"Price": 20.1}, {}, {"Price": None}, {"Price": True}],
    ),
    ("exists", {"ProductName": [{"exists": True}]}, [{"ProductName": ""}, {"ProductName": None}], [{}]),
    ("exists, leaf only", {"a": [{"exists": True}]}, [{"a": []}], [{"a": {"b": 1}}]),
    ("does not exist", {"ProductName": [{"exists": False}]}, [{}, {"Product": 1}], [{"ProductName": None}]),
    ("does not exist below", {"a": {"b": [{"exists": False}]}}, [{"a": {}}, {}], [{"a": {"b": 1}}, {"a": 5}]),
    ("exists or value", {"a": [{"exists": False}, "x"]}, [{}, {"a": "x"}], [{"a": "y"}]),
    ("prefix", {"Region": [{"prefix": "us-"}]}, [{"Region": "us-east-1"}], [{"Region": "eu-us-"}, {"Region": 1}]),
    ("prefix, case", {"s": [{"prefix": {"equals-ignore-case": "EventB"}}]}, [{"s": "eventbridge"}], [{"s": "xeventb"}]),
    ("suffix", {"FileName": [{"suffix": ".png"}]}, [{"FileName": "a.png"}], [{"FileName": "a.png.gz"}]),
    ("suffix, case", {"s": [{"suffix": {"equals-ignore-case": ".png"}}]}, [{"s": "a.PNG"}], [{"s": "a.jpg"}]),
    ("wildcard", {"p": [{"wildcard": "dir/*.png"}]}, [{"p": "dir/a/b.png"}, {"p": "dir/.png"}], [{"p": "dir/a.jpg"}]),
    ("wildcard, escaped", {"p": [{"wildcard": "a\\*b*"}]}, [{"p": "a*bc"}], [{"p": "axbc"}]),
    ("wildcard, no expression", {"p": [{"wildcard": "a.c*"}]}, [{"p": "a.cd"}], [{"p": "abcd"}]),
    ("nested", {"a": {"b": {"c": [1]}}}, [{"a": {"b": {"c": 1}}}], [{"a": {"b": 1}}, {"a": {"c": 1}}]),
    ("array value", {"tags": ["red"]}, [{"tags": ["blue", "red"]}], [{"tags": ["blue"]}, {"tags": []}]),
    (
        "array of objects, within one element",
        {"items": {"kind": ["a"], "size": [1]}},
        [{"items": [{"kind": "b", "size": 2}, {"kind": "a", "size": 1}]}],
        [{"items": [{"kind": "a", "size": 2}, {"kind": "b", "size": 1}]}],
    ),
    ("true is not 1", {"a": [True]}, [{"a": True}], [{"a": 1}, {"a": "true"}]),
    ("300 is not 300.0", {"a": [300]}, [{"a": 300}], [{"a": 300.0}]),
    # The tire pressure of Lambda's own page.
    (
        "tire pressure",
        {"body": {"tire_pressure": [{"numeric": ["<", 32]}]}},
        [{"body": {"tire_pressure": 30}}],
        [{"body": {"tire_pressure": 32}}, {"body": "text"}],
    ),
    ("plain text", {"value": ["hello"]}, [{"value": "hello"}], [{"value": {"hello": 1}}]),
    ("JSON wanted, text given", {"value": {"device": ["a"]}}, [{"value": {"device": "a"}}], [{"value": "device a"}]),
]


@pytest.mark.parametrize(("name", "pattern", "matching", "other"), CASES, ids=[case[0] for case in CASES])
def test_a_pattern_matches_as_at_aws(name: str, pattern: dict[str, Any], matching: list[Any], other: list[Any]) -> None:
    for matcher in (compile_pattern(pattern), compile_pattern(json.dumps(pattern))):
        assert [matcher(event) for event in matching] == [True] * len(matching)
        assert [matcher(event) for event in other] == [False] * len(other)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("{", "not JSON"),
        ("[" * 4000, "not JSON"),
        ("[1]", "must be a JSON object"),
        ({"a": "x"}, "'a' is \"x\""),
        ({"a": []}, "empty array"),
        ({"a": {}}, "empty object"),
        ({"a": {"b": 5}}, "'a.b'"),
        ({"a": [["x"]]}, "array inside"),
        ({"a": [{"prefixes": "x"}]}, "is unknown"),
        ({"a": [{"prefix": "x", "suffix": "y"}]}, "is unknown"),
        ({"a": [{"prefix": 5}]}, "not text"),
        ({"a": [{"exists": "yes"}]}, "not true or false"),
        ({"a": [{"numeric": [">", "5"]}]}, "numeric"),
        ({"a": [{"numeric": ["~", 5]}]}, "numeric"),
        ({"a": [{"numeric": ["=", 5, "<", 6]}]}, "numeric"),
        ({"a": [{"numeric": ["=", True]}]}, "numeric"),
        ({"a": [{"anything-but": []}]}, "anything-but"),
        ({"a": [{"anything-but": {"exists": True}}]}, "anything-but"),
        ({"a": [{"wildcard": "a**b"}]}, "in a row"),
        ({"a": [{"wildcard": "a\\b"}]}, "backslash"),
        ({"$or": [{"a": [1]}]}, "two or more"),
        ("x" * 5000, "4,096"),
    ],
)
def test_a_pattern_that_lambda_refuses_is_explained(pattern: dict[str, Any] | str, words: str) -> None:
    with pytest.raises(InvalidPattern, match=words.replace("$", r"\$")):
        compile_pattern(pattern)


def test_one_filter_of_several_is_enough() -> None:
    either = any_of([compile_pattern({"a": [1]}), compile_pattern({"b": [2]})])
    assert [either(event) for event in ({"a": 1}, {"b": 2}, {"a": 2})] == [True, True, False]
    assert any_of([])({"anything": 1})


def test_a_wildcard_takes_time_that_grows_with_the_text_alone() -> None:
    # Tried in every way in which the stars may share the text, this takes longer than a year.
    matches = compile_pattern({"value": [{"wildcard": "*a" * 20 + "*b"}]})
    assert not matches({"value": "a" * 10_000})
    assert matches({"value": "a" * 10_000 + "b"})


@pytest.mark.parametrize(
    ("pattern", "fitting", "other"),
    [
        ("*", ["", "a\nb"], []),
        ("a*", ["a", "ab"], ["ba"]),
        ("*a", ["a", "aba"], ["ab"]),
        ("a*b*a", ["aba", "abba", "aabaa"], ["ab", "aa", "abab"]),
        ("a*a", ["aa", "aba"], ["a"]),
        ("a\\*b*\\\\", ["a*b\\", "a*bcd\\"], ["aab\\", "a*b"]),
    ],
)
def test_what_wildcards_fit(pattern: str, fitting: list[str], other: list[str]) -> None:
    matches = compile_pattern({"value": [{"wildcard": pattern}]})
    assert [matches({"value": text}) for text in fitting] == [True] * len(fitting)
    assert [matches({"value": text}) for text in other] == [False] * len(other)
