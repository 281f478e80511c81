"""Documents are counted before they are parsed, and large ones take turns."""

import gc
import json
import threading
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import bounded_json
from penstock.bounded_json import JsonTooDeep, JsonTooLarge, count_marks, read_json

# Texts with what could end a string too early or too late.
TEXTS = st.text(alphabet='a",:[]{}\\/\n\u20ac')
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
)
NINE_MB = 9 * 1024 * 1024


def marks_of(value: Any) -> int:
    """Opening brackets, commas and colons of a document, from its value."""
    if isinstance(value, list):
        return 1 + max(0, len(value) - 1) + sum(map(marks_of, value))
    if isinstance(value, dict):
        return 1 + max(0, len(value) - 1) + len(value) + sum(map(marks_of, value.values()))
    return 0


@given(VALUES, st.booleans())
def test_marks_outside_strings_are_counted(value: Any, spaced: bool) -> None:
    text = json.dumps(value, indent=1 if spaced else None).encode()
    counted = marks_of(value)
    # With nothing to spare, the marks within strings have to be told apart.
    assert count_marks(text, counted) == counted
    assert count_marks(text, counted - 1) > counted - 1
    assert read_json(text, most=counted, deepest=100) == value


@pytest.mark.parametrize(
    "document",
    [
        b'{"x":[' + b"[]," * (NINE_MB // 3) + b"[]]}",
        b'{"x":[' + b"{}," * (NINE_MB // 3) + b"{}]}",
        b'{"x":[' + b"0," * (NINE_MB // 2) + b"0]}",
        b'{"x":[' + b'"a",' * (NINE_MB // 4) + b'"a"]}',
        b'{"x":{' + b'"a":0,' * (NINE_MB // 6) + b'"a":0}}',
        b"[" * NINE_MB,
        b'"' * NINE_MB + b"," * 200,
    ],
    ids=["lists", "objects", "numbers", "texts", "members", "brackets", "quotes"],
)
def test_a_document_of_too_many_values_is_not_parsed(document: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orjson, "loads", lambda _: pytest.fail("it was parsed"))
    with pytest.raises(JsonTooLarge):
        read_json(document, most=100, deepest=100)


def test_texts_are_no_values() -> None:
    text = '[{,:"\\' * 200_000
    assert read_json(orjson.dumps({"text": text}), most=10, deepest=2) == {"text": text}


def test_a_document_may_be_as_deep_as_it_may_and_no_deeper() -> None:
    nested = b"[" * 100 + b"]" * 100
    read_json(nested, most=1_000, deepest=100)
    for deeper in (b'{"a":' + nested + b"}", b"[" * 1_000 + b"]" * 1_000):
        with pytest.raises(JsonTooDeep):
            read_json(deeper, most=10_000, deepest=100)


@pytest.mark.parametrize("text", [b"", b"[1,]", b'{"a"', b"\xff", b'"\\', b"[" * 2_000])
def test_what_is_not_json_is_refused_as_such(text: bytes) -> None:
    with pytest.raises(orjson.JSONDecodeError):
        read_json(text, most=10_000, deepest=100)


def test_large_documents_are_parsed_one_at_a_time_and_do_not_keep_the_collector_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_json, "LARGE", 10)
    loads, inside, most = orjson.loads, 0, 0

    def counting(content: bytes) -> Any:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        assert not gc.isenabled()
        value = loads(content)
        inside -= 1
        return value

    monkeypatch.setattr(orjson, "loads", counting)
    document = b"[" + b"0," * 1_000 + b"0]"
    found: list[int] = []
    readers = [
        threading.Thread(target=lambda: found.append(len(read_json(document, most=10_000, deepest=9)))) for _ in range(8)
    ]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert (found, most, gc.isenabled()) == ([1_001] * 8, 1, True)
    with pytest.raises(orjson.JSONDecodeError):
        read_json(document[:-1], most=10_000, deepest=9)
    assert gc.isenabled()
