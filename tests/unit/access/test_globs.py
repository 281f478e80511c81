"""Wildcards of policies, compared with fnmatch's, and variables, whose values are not wildcards."""

import fnmatch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.access.policies.globs import arn_glob, text_glob

PATTERNS = st.text(alphabet="ab*?.\n", max_size=12)
TEXTS = st.text(alphabet="ab.\n", max_size=12)


def nothing(_: str) -> None:
    return None


@given(pattern=PATTERNS, text=TEXTS)
def test_texts_match_as_fnmatch_says(pattern: str, text: str) -> None:
    assert text_glob(pattern, variables=True).matches(text, nothing) == fnmatch.fnmatchcase(text, pattern)


@given(first=PATTERNS, second=PATTERNS, texts=st.tuples(TEXTS, TEXTS))
def test_the_parts_of_an_arn_match_each_for_itself(first: str, second: str, texts: tuple[str, str]) -> None:
    glob = arn_glob(f"arn:aws:glue:{first}:111122223333:{second}", variables=False)
    expected = fnmatch.fnmatchcase(texts[0], first) and fnmatch.fnmatchcase(texts[1], second)
    assert glob.matches(f"arn:aws:glue:{texts[0]}:111122223333:{texts[1]}", nothing) == expected


@pytest.mark.parametrize(
    ("pattern", "arn", "expected"),
    [
        ("*", "arn:aws:glue:us-east-1:111122223333:schema/r/s", True),
        ("*", "*", True),
        ("arn:aws:glue:*", "arn:aws:glue:us-east-1:111122223333:schema/r/s", True),
        ("arn:aws:glue:*:*:schema/r/*", "arn:aws:glue:us-east-1:111122223333:schema/r/a/b:c", True),
        ("arn:aws:glue:*:schema/r/s", "arn:aws:glue:us-east-1:111122223333:schema/r/s", False),
        ("arn:aws:glue:*", "arn:aws:iam::111122223333:user/ana", False),
        ("arn:aws:glue:*:1:schema/r/s", "arn:aws:glue:x:2:crawler/x:1:schema/r/s", False),
        ("arn:aws:glue:us-east-1:111122223333:schema/r/S", "arn:aws:glue:us-east-1:111122223333:schema/r/s", False),
        ("arn:aws:glue:us-east-1:111122223333:schema/*", "*", False),
    ],
)
def test_arns(pattern: str, arn: str, expected: bool) -> None:
    assert arn_glob(pattern, variables=True).matches(arn, nothing) is expected


def test_values_of_variables_are_not_wildcards() -> None:
    values = {"aws:username": "*", "aws:userid": "a:b"}
    glob = arn_glob("arn:aws:glue:*:*:schema/r/${aws:UserName}", variables=True)
    assert glob.matches("arn:aws:glue:x:1:schema/r/*", values.get)
    assert not glob.matches("arn:aws:glue:x:1:schema/r/secret", values.get)
    by_id = arn_glob("arn:aws:glue:${aws:userid}:*:schema/r/s", variables=True)
    assert not by_id.matches("arn:aws:glue:a:b:schema/r/s", values.get)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("${*}", "*", True),
        ("${*}", "x", False),
        ("a${?}${$}", "a?$", True),
        ("${aws:username, 'nobody'}-x", "nobody-x", True),
        ("${aws:username}", "", False),
        ("${aws:username}", "${aws:username}", False),
    ],
)
def test_texts_that_are_not_variables(pattern: str, text: str, expected: bool) -> None:
    assert text_glob(pattern, variables=True).matches(text, nothing) is expected


def test_before_version_2012_there_are_no_variables() -> None:
    assert text_glob("${aws:username}", variables=False).matches("${aws:username}", {"aws:username": "ana"}.get)


def test_patterns_made_to_backtrack_are_answered() -> None:
    # Twenty stars between the same letter: a matcher that backtracks never ends.
    pattern, text = "*a" * 2_000 + "b", "a" * 5_000
    assert not text_glob(pattern, variables=False).matches(text, nothing)
    assert not arn_glob(f"arn:aws:glue:x:1:{pattern}", variables=False).matches(f"arn:aws:glue:x:1:{text}", nothing)


@pytest.mark.parametrize("name", ["database/sales", "table/sales/orders", "userDefinedFunction/sales/f"])
def test_names_of_the_catalog_match_in_any_spelling(name: str) -> None:
    value = f"arn:aws:glue:us-east-1:111122223333:{name}"
    for pattern in (name, name.upper(), name[:-1].title() + "*"):
        glob = arn_glob(f"arn:aws:glue:*:111122223333:{pattern}", variables=True)
        assert glob.matches(value, lambda _: None), pattern
        assert glob.matches(value.upper().replace("ARN:AWS:GLUE", "arn:aws:glue"), lambda _: None), pattern
    mine = arn_glob("arn:aws:glue:*:*:database/${aws:username}", variables=True)
    assert mine.matches("arn:aws:glue:us-east-1:111122223333:database/ana", lambda _: "Ana")
    assert not mine.matches("arn:aws:glue:us-east-1:111122223333:database/other", lambda _: "Ana")


def test_all_other_names_match_as_they_are_written() -> None:
    glob = arn_glob("arn:aws:glue:*:*:schema/r/S", variables=True)
    assert glob.matches("arn:aws:glue:us-east-1:111122223333:schema/r/S", lambda _: None)
    assert not glob.matches("arn:aws:glue:us-east-1:111122223333:schema/r/s", lambda _: None)
