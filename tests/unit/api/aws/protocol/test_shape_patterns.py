"""The patterns of AWS's own models take bounded time on any text."""

import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from penstock.api.aws.protocol.models import SERVICES, load_model
from penstock.api.aws.protocol.shape_patterns import is_harmless, matcher
from penstock.api.aws.protocol.shapes import ShapeCompiler
from penstock.wildcards import linear_matcher

UNREAD = "^[a-z0-9]([a-z0-9]|-(?!-)){1,61}[a-z0-9]$"
"""Of IAM's account aliases, which are not served: a look-ahead within a repeat."""


def _patterns() -> Iterator[pytest.ParameterSet]:
    for service in SERVICES:
        for name, shape in load_model(service).shapes.items():
            if "pattern" in shape:
                yield pytest.param(shape["pattern"], shape.get("max"), id=f"{service}-{name}")


@pytest.mark.parametrize(
    ("pattern", "most", "harmless"),
    [
        (r"(\.[a-z.]+)*", 512, False),
        (r"((/[a-z]+)*)/", 512, False),
        (r"([a-z]+-){2}", 512, False),
        (r"([a-z]{1,9})*", 512, False),
        (r"(ab|a|b)*", 512, False),
        (r"[a-z]+-?[a-z]+", 100_000, False),
        (r"[a-z]+-?[a-z]+", 512, True),
        (r"[a-z]+-?[a-z]+", None, False),
        (r"(ab){1,9}[a-z]{1,3}(c|dd)", None, True),
        (r"[a-z]+", None, True),
        (r".*\S.*", None, True),
    ],
)
def test_repeats_within_and_behind_each_other_are_seen(pattern: str, most: int | None, harmless: bool) -> None:
    assert is_harmless(re.compile(pattern, re.DOTALL), most) is harmless


def test_a_repeat_within_a_repeat_ends_soon_on_what_it_was_made_to_fail_on() -> None:
    """In a process of its own, which can be ended: the pattern of Glue's JsonPathString takes Python years."""
    program = (
        "from penstock.api.aws.protocol.models import load_model\n"
        "from penstock.api.aws.protocol.shapes import ShapeCompiler\n"
        "broken = []\n"
        "check = ShapeCompiler(load_model('glue').shapes).checker('JsonPathString')\n"
        "check('$' + '.' * 500 + '!', 'path', broken)\n"
        "check('$.a.b', 'path', broken)\n"
        "print(len(broken))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "1\n"


@pytest.mark.parametrize(("pattern", "most"), list(_patterns()))
def test_each_pattern_that_python_reads_is_applied(pattern: str, most: int | None) -> None:
    """None is left out because it is dangerous and RE2 does not read it."""
    if pattern == UNREAD:
        assert matcher(pattern, most) is None
        return
    assert matcher(pattern, most) is not None


TAGS = [
    ("iam", "tagKeyType", r"[\p{L}\p{Z}\p{N}_.:/=+\-@]+"),
    ("logs", "TagKey", r"^([\p{L}\p{Z}\p{N}_.:/=+\-@]+)$"),
    ("lakeformation", "LFTagKey", r"^([\p{L}\p{Z}\p{N}_.:\/=+\-@%]*)$"),
    ("lakeformation", "TransactionIdString", r"[\p{L}\p{N}\p{P}]*"),
]


@pytest.mark.parametrize(("service", "shape", "pattern"), TAGS)
def test_categories_of_unicode_match_what_re2_matches(service: str, shape: str, pattern: str) -> None:
    """RE2 has Unicode's categories of its own, here on a sample of all planes."""
    assert load_model(service).shapes[shape]["pattern"] == pattern
    texts = [chr(index) for index in (*range(0x250), *range(0x2000, 0x2070), *range(0x3000, 0x3100), 0x1F600, 0x20000)]
    matches = matcher(pattern)
    assert matches is not None
    assert [matches(text) for text in texts] == list(linear_matcher(pattern)(texts))


def test_a_pattern_of_one_character_holds_for_texts_of_one_character() -> None:
    matches = matcher(r"[^\r\n]", 1)
    assert matches is not None
    assert (matches(";"), matches("\n")) == (True, False)
    assert matcher("[a-z]", 64) is None


def test_a_too_long_text_is_not_matched_by_the_pattern() -> None:
    shape = {"Name": {"type": "string", "max": 3, "pattern": "[a-z]+"}}
    broken: list[str] = []
    ShapeCompiler(shape).checker("Name")("A" * 4, "name", broken)
    assert len(broken) == 1
    assert "less than or equal to 3" in broken[0]
