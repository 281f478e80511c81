"""Handlers that are built from a method and the members of its request."""

from typing import Any

import pytest

from penstock.api.aws.protocol.handlers import account, batch_get, call, listing, member, under
from penstock.errors import NotFound
from penstock.paging import Page
from tests.unit.api.handlers import called


def test_a_method_gets_members_by_name_with_defaults_and_converted() -> None:
    calls: list[Any] = []

    def method(*arguments: Any, **named: Any) -> str:
        calls.append((arguments, named))
        return "made"

    handler = call(
        method, account, "Name", member("Path", default="/"), size=member("Size", int), answer=under("Thing", str.upper)
    )
    assert called(handler, {"Name": "a", "Size": "3"}) == {"Thing": "MADE"}
    assert called(handler, {"Name": "a", "Size": "3", "Path": "/x/"}) == {"Thing": "MADE"}
    assert calls == [(("000000000000", "a", "/"), {"size": 3}), (("000000000000", "a", "/x/"), {"size": 3})]


def test_an_answer_is_empty_or_repeats_a_member() -> None:
    assert called(call(str, "Name"), {"Name": "a"}) == {}
    assert called(call(str, "Name", echo="Name"), {"Name": "a"}) == {"Name": "a"}
    with pytest.raises(KeyError):
        called(call(str, "Name"), {})


def test_a_listing_passes_limit_and_token_on_and_answers_the_next_token() -> None:
    def list_page(*, limit: int, token: str | None) -> Page[str]:
        return Page(items=["a", "b"][:limit], next_token=None if token else "next")

    handler = listing("Names", str.upper, list_page)
    assert called(handler, {"MaxResults": 1}) == {"Names": ["A"], "NextToken": "next"}
    assert called(handler, {"NextToken": "next"}) == {"Names": ["A", "B"]}


def test_a_batch_lists_each_name_once_and_those_that_are_missing() -> None:
    def get(name: str) -> str:
        if name == "none":
            raise NotFound("There is none.")
        return name

    handler = batch_get("Things", str.upper, get, "Names", missing="ThingsNotFound")
    assert called(handler, {"Names": ["a", "none", "a"]}) == {"Things": ["A"], "ThingsNotFound": ["none"]}
