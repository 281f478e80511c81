"""Texts of a request that are JSON themselves: a body's count of values leaves texts out, so each has its own bound."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from penstock.access.policies.buckets import parse_bucket_policy
from penstock.access.policies.documents import PolicyType, parse_policy
from penstock.crawl.configuration import Configuration
from penstock.errors import PenstockError
from penstock.jobs.bookmarks import check_document
from penstock.paging import decode_token

LISTS = '{"x":[' + "[]," * 3_000_000 + "[]]}"
READERS: dict[str, Callable[[str], Any]] = {
    "a crawler's configuration": Configuration.parse,
    "a job's bookmark": check_document,
    "a policy of IAM": lambda text: parse_policy(text, PolicyType.IDENTITY),
    "a bucket's policy": lambda text: parse_bucket_policy(text, "bucket"),
    "a page's token": lambda text: decode_token("tables", text, str),
}


@pytest.mark.parametrize("what", READERS)
@pytest.mark.parametrize("text", [LISTS, LISTS[:1_500_000], "[" * 3_000_000], ids=["lists", "cut", "nested"])
def test_a_text_of_too_many_values_is_not_parsed(what: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json, "loads", lambda *_, **__: pytest.fail("it was parsed"))
    with pytest.raises(PenstockError):
        READERS[what](text)
