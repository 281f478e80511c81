"""JSON as text: quick where it may be, and always what Python's own writer gives."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.schema.json_text import write_json

TEXT = st.text(max_size=8) | st.sampled_from(["\x7f", "\x1f", "\u2028", "é", "\ud800", "</", '"\\', "1.5", "2e9"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_the_text_is_that_of_pythons_writer(value: Any) -> None:
    assert write_json(value) == json.dumps(value, separators=(",", ":"), sort_keys=True)


@pytest.mark.parametrize("value", [1e16, 1e-5, 2**64, "\x7f", {"é": 1, "\U00010000": 2}, [[]] * 3])
def test_so_it_is_where_writers_differ(value: Any) -> None:
    assert write_json(value) == json.dumps(value, separators=(",", ":"), sort_keys=True)
