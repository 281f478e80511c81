"""Patterns match as Python's, in linear time where they are regular, and for a bounded time where they are not."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.sql import regular_expressions
from penstock.sql.regular_expressions import Pattern, TooSlow

PATTERNS = (
    *("a", "", "a*", "a+?b", "(a)(b)?", "(a|ab)(c|bcd)(d*)", "^a|b$", "a$", "$", r"\d+", r"\D", r"\w+", r"\W+", r"[\w-]+"),
    *(r"[^\w]", r"[\d.]+", r"[^\D]", r"\bfoo\b", r"\Boo", "(?i)FOO|É", "(?P<n>a+)", "[a-c]+", "[]a]", "[^]a]", r"\u00e9"),
    *(
        r"\x41",
        "(?s).+",
        "(?m)^.$",
        "(?=a)",
        "(?!a).",
        r"(a)\1",
        "a{1,2000}",
        "a{2}",
        "a++b",
        "(?>a+)b",
        r"\n",
        r"\t",
        r"\.",
    ),
    *(r"[\]]", r"a\Z", r"\Aa", "(?:a|b)*c", "x*", r"[\[\]]", r"(\w+)\s(\w+)", r"[\s]", r"\S+"),
)
TEXTS = st.text(alphabet="aabcdfoé1\u0663 .-_\n\t[]A\u2003É", max_size=12)
# Exponential, and polynomial, for those who try all ways.
SLOW = (r"(a+)+b", r"(a|a)*b", r"(a|aa)+b", r"(.*a){20}b", r"(\w+\d*)+!", r"(a*)*b", r"a*a*a*a*a*a*b", r"(x+x+)+y|(a+)+c")
STEPPING = ("(?=(a|b|ab)*c)", "(a|b|ab)*(?=c)", "(a|b|ab)*$")


def spans(matches: Any) -> list[Any]:
    return [(match.start(), match.end(), match.groups()) for match in matches]


@pytest.mark.parametrize("narrow", [False, True])
@given(st.sampled_from(PATTERNS), TEXTS)
def test_a_pattern_matches_as_pythons(narrow: bool, text: str, value: str) -> None:
    own, theirs = Pattern(text, narrow=narrow), re.compile(text, re.ASCII if narrow else 0)
    assert (own.groups, dict(own.groupindex)) == (theirs.groups, dict(theirs.groupindex))
    assert spans(own.finditer(value)) == spans(theirs.finditer(value))
    assert spans(own.finditer(value, 2)) == spans(theirs.finditer(value, 2))
    for how in ("search", "fullmatch"):
        actual, expected = getattr(own, how)(value), getattr(theirs, how)(value)
        assert spans(filter(None, [actual])) == spans(filter(None, [expected]))
    assert own.sub(lambda match: f"<{match[0]}>", value) == theirs.sub(lambda match: f"<{match[0]}>", value)


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("text", ["(?i)FOO|É", "(?i:s)", "(?i)[k-s]+", "k", "\u017f", r"\u212a", "(?s)S(?i:é)"])
@pytest.mark.parametrize("value", ["é", "É", "s", "S", "\u017f", "k", "\u212a", "ks\u017fK"])
def test_case_is_folded_as_pythons(narrow: bool, text: str, value: str) -> None:
    own, theirs = Pattern(text, narrow=narrow, fold=True), re.compile(text, re.IGNORECASE | (re.ASCII if narrow else 0))
    assert spans(own.finditer(value)) == spans(theirs.finditer(value))
    own, theirs = Pattern(text, narrow=narrow), re.compile(text, re.ASCII if narrow else 0)
    assert spans(own.finditer(value)) == spans(theirs.finditer(value))


@pytest.mark.parametrize("text", SLOW)
@pytest.mark.parametrize("fold", [False, True])
def test_what_is_regular_is_matched_in_one_pass(text: str, fold: bool) -> None:
    for value in ("a" * 50_000, "é" + "a" * 50_000, "a" * 50_000 + "\n"):
        made = Pattern(text, fold=fold)
        assert made.search(value) is None
        assert made.fullmatch(value) is None
        assert list(made.finditer(value[:5_000])) == []


@pytest.mark.parametrize("text", STEPPING)
def test_what_is_not_regular_is_stopped(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regular_expressions, "_SECONDS", 0.02)
    made, value = Pattern(text), "ab" * 60 + "d\n"
    with pytest.raises(TooSlow, match="for one text"):
        made.search(value)
    with pytest.raises(TooSlow):
        list(made.finditer(value))


def test_a_dollar_is_linear_but_before_a_line_feed() -> None:
    assert Pattern("(a+)+$").search("a" * 50_000 + "c") is None
    assert Pattern("a$").search("a\n").span() == (0, 1)


@pytest.mark.parametrize("text", ["(", "a**", "[", "(?P<1>a)", "(?<n", "\\"])
def test_malformed_patterns_are_refused(text: str) -> None:
    with pytest.raises(re.error):
        Pattern(text)
