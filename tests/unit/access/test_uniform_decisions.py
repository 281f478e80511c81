"""A decision about a folder as a whole is the decision about each file in it, and 100,000 files cost few decisions."""

import itertools
import json
import random

import pytest

from penstock.access.context_keys import Origin, RequestContextKeys
from penstock.access.policies.documents import Policy, PolicyType, parse_policy
from penstock.access.policies.evaluate import AccessRequest, decide, is_uniform
from penstock.access.principals import Caller

BEN = Caller(account="111122223333", principal="arn:aws:iam::111122223333:user/ben")
FOLDERS = ("lake/", "lake/a/", "lake/a/b/", "lake/ab/", "other/")
KEYS = ("lake/x", "lake/a/x", "lake/a/b/x", "lake/a/b/secret/x", "lake/ab/x", "lake/a*/x", "other/x", "lake/ben/x")
PATTERNS = (
    *("*", "arn:aws:s3:::*", "arn:aws:s3", "arn:aws:s3:::lake", "arn:aws:s3:::lake/*", "arn:*:s3:::lake/a/*"),
    *("arn:aws:s3:::lake/a*", "arn:aws:s3:::lake/a/b/x", "arn:aws:s3:::lake/a/?/*", "arn:aws:s3:::lake/*/secret/*"),
    *("arn:aws:s3:::lake/${aws:username}/*", "arn:aws:s3:::lake/a${*}/*", "arn:aws:s3:::${aws:none}/*", "arn:aws:s3:::la*"),
)


def _policy(*statements: tuple[str, str, str]) -> Policy:
    shapes = [{"Effect": effect, "Action": action, kind: pattern} for effect, action, pattern, kind in _kinds(statements)]
    return parse_policy(json.dumps({"Version": "2012-10-17", "Statement": shapes}), PolicyType.IDENTITY, stored=True)


def _kinds(statements: tuple[tuple[str, str, str], ...]) -> list[tuple[str, str, str, str]]:
    return [
        (effect, action, pattern.removeprefix("!"), "NotResource" if pattern.startswith("!") else "Resource")
        for effect, action, pattern in statements
    ]


def _request(resource: str) -> AccessRequest:
    context = RequestContextKeys(BEN, Origin(), resource_account=BEN.account)
    return AccessRequest(caller=BEN, action="s3:GetObject", resource=f"arn:aws:s3:::{resource}", context=context)


def _pairs() -> list[tuple[str, str]]:
    marked = [*PATTERNS, *(f"!{pattern}" for pattern in PATTERNS)]
    every = list(itertools.product(marked, marked))
    return random.Random(19).sample(every, 200)


def test_what_is_uniform_is_the_same_for_each_file() -> None:
    uniform = 0
    for allowed, denied in _pairs():
        policies = [_policy(("Allow", "s3:*", allowed), ("Deny", "s3:Get*", denied))]
        for folder in FOLDERS:
            if not is_uniform(_request(folder), policies):
                continue
            uniform += 1
            whole = decide(_request(folder), policies).allowed
            for key in KEYS:
                if key.startswith(folder):
                    assert decide(_request(key), policies).allowed == whole, (allowed, denied, folder, key)
    assert uniform > 400, "most of these policies treat most folders alike"


@pytest.mark.parametrize(
    ("pattern", "folder", "expected"),
    [
        ("arn:aws:s3:::lake/*", "lake/a/", True),
        ("arn:aws:s3:::lake", "lake/a/", True),
        ("arn:aws:s3:::lake/b/*", "lake/a/", True),
        ("arn:aws:s3:::lake/a/b/*", "lake/a/", False),
        ("arn:aws:s3:::lake/*/b", "lake/a/", False),
        ("arn:aws:s3:::lake/a/x", "lake/a/", False),
    ],
)
def test_patterns_that_divide_a_folder_are_told(pattern: str, folder: str, expected: bool) -> None:
    assert is_uniform(_request(folder), [_policy(("Allow", "s3:*", pattern))]) is expected
    assert is_uniform(_request(folder), [_policy(("Allow", "glue:*", pattern))]), "it is about other actions"
