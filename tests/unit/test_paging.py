"""Tokens of listings: what they give back, and what is refused."""

import base64
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import InvalidInput
from penstock.paging import Page, decode_token, encode_token, page

ROWS = ["a", "b", "c", "d", "e"]


def read(after: str | None, count: int) -> Sequence[str]:
    return [row for row in ROWS if after is None or row > after][:count]


def token_of(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode()


@pytest.mark.parametrize("size", [1, 2, 4, 5, 6])
def test_pages_give_every_row_once(size: int) -> None:
    seen: list[str] = []
    token: str | None = None
    while True:
        result: Page[str] = page("letters", token, size, read, str, kind=str)
        assert len(result.items) <= size
        seen.extend(result.items)
        token = result.next_token
        if token is None:
            break
    assert seen == ROWS


@given(listing=st.text(max_size=50), key=st.text(max_size=50) | st.integers())
def test_a_token_gives_its_key_back_to_its_listing_alone(listing: str, key: str | int) -> None:
    token = encode_token(listing, key)
    kind: Any = type(key)
    assert decode_token(listing, token, kind) == key
    with pytest.raises(InvalidInput, match="not one that this listing gave"):
        decode_token(listing + "x", token, kind)


@pytest.mark.parametrize(
    "token",
    ["x", "W10=", "é", "A" * 20_000, token_of(None), token_of(["letters"]), token_of(["letters", 1]),
     token_of(["letters", None]), token_of(["letters", ["a"]]), token_of({"letters": "a"}), "=" * 8],
)  # fmt: skip
def test_what_is_no_token_is_refused(token: str) -> None:
    with pytest.raises(InvalidInput, match="Start again without a token"):
        page("letters", token, 2, read, str, kind=str)


@pytest.mark.parametrize("key", [True, "1", 1.0])
def test_a_number_is_a_number(key: Any) -> None:
    with pytest.raises(InvalidInput):
        decode_token("n", token_of(["n", key]), int)


def test_no_token_is_the_start() -> None:
    assert decode_token("n", None, str) is None
    assert decode_token("n", "", str) is None
