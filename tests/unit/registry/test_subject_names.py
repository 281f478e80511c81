"""Subjects' names as names of Glue's, and back."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.registry.model import SchemaKey
from penstock.registry.subjects.errors import InvalidSubject
from penstock.registry.subjects.names import (
    SubjectName,
    SubjectPrefix,
    from_glue_name,
    named_subject,
    parse_subject,
    to_glue_name,
)

GLUE = re.compile(r"[a-zA-Z0-9\-_$#.]{1,255}")
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
TRICKY = st.text("$2Ff4/ é0", min_size=1, max_size=20)


@given(TEXT | TRICKY)
def test_every_name_comes_back(text: str) -> None:
    name = to_glue_name(text)
    assert GLUE.fullmatch(name)
    assert from_glue_name(name) == text


@given(st.text("$24Ff0aC3A9", min_size=1, max_size=20))
def test_no_two_schemas_have_one_subject(name: str) -> None:
    subject = named_subject(SchemaKey("default-registry", name))
    assert subject is None or subject.key.name == name


# Two of these, escaped to twelve characters each, stay within a name's 255.
SHORT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=10)


@given(SHORT | TRICKY, SHORT | TRICKY)
def test_a_prefix_finds_what_begins_so(prefix: str, rest: str) -> None:
    expected = SubjectPrefix(None, prefix)
    assert to_glue_name(prefix + rest).startswith(expected.glue_prefix)
    assert expected.matches(SubjectName("r", prefix + rest))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("orders-value", "orders-value"),
        ("com.acme.Orders", "com.acme.Orders"),
        ("a/b", "a$2Fb"),
        ("a b", "a$20b"),
        ("é", "$C3$A9"),
        ("$", "$"),
        ("a$b", "a$b"),
        ("$2F", "$242F"),
        ("$41", "$41"),
        ("$2f", "$2f"),
    ],
)
def test_names_by_example(text: str, name: str) -> None:
    assert to_glue_name(text) == name
    assert from_glue_name(name) == text


@pytest.mark.parametrize(
    ("text", "registry", "name", "shown"),
    [
        ("s", "default-registry", "s", "s"),
        (":.:s", "default-registry", "s", "s"),
        (":.a:s", "a", "s", ":.a:s"),
        (":.a:", "a", "", ":.a:"),
        (":.a b:s:t", "a$20b", "s:t", ":.a b:s:t"),
        (":.default-registry:s", "default-registry", "s", "s"),
        (":a:s", "default-registry", ":a:s", ":a:s"),
        (":.__GLOBAL:", None, "", ":.__GLOBAL:"),
    ],
)
def test_contexts_by_example(text: str, registry: str | None, name: str, shown: str) -> None:
    subject = parse_subject(text)
    assert (subject.registry, subject.name, str(subject)) == (registry, name, shown)


@pytest.mark.parametrize("text", ["", ":.a:", ":.__GLOBAL:s", "x" * 256, "é" * 50])
def test_names_without_a_schema(text: str) -> None:
    with pytest.raises(InvalidSubject):
        _ = parse_subject(text).key


@pytest.mark.parametrize("text", ["a\nb", "\x00", ":.a\x7f:s", ":." + "x" * 300 + ":s"])
def test_names_that_nothing_has(text: str) -> None:
    with pytest.raises(InvalidSubject):
        parse_subject(text)
