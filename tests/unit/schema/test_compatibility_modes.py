"""Eight modes over three kinds of change, against the last version and against all."""

import json

import pytest

from penstock.schema.compatibility import CompatibilityMode, CompatibilityVerdict, Conflict, check
from penstock.schema.format import ParsedSchema
from penstock.schema.formats import format_of

AVRO = format_of("AVRO")
A, B = {"name": "a", "type": "int"}, {"name": "b", "type": "string"}
OPTIONAL_B = {**B, "default": ""}


def parsed(*fields: dict[str, str]) -> ParsedSchema:
    return AVRO.parse(json.dumps({"type": "record", "name": "R", "fields": list(fields)}))


# name: (earlier versions, the new one)
CHANGES = {
    "adds a required field": ([parsed(A)], parsed(A, B)),
    "deletes a required field": ([parsed(A, B)], parsed(A)),
    "adds an optional field": ([parsed(A)], parsed(A, OPTIONAL_B)),
    "fits the last, backward breaks the first": ([parsed(A), parsed(A, OPTIONAL_B)], parsed(A, B)),
    "fits the last, forward breaks the first": ([parsed(A, B), parsed(A, OPTIONAL_B)], parsed(A)),
    "changes a type": ([parsed(A)], parsed({"name": "a", "type": "string"})),
    "is the first": ([], parsed(A)),
}
ALL = frozenset(CompatibilityMode)
OPEN = frozenset({CompatibilityMode.NONE, CompatibilityMode.DISABLED})


@pytest.mark.parametrize(
    ("change", "passing"),
    [
        ("adds a required field", {"FORWARD", "FORWARD_ALL"}),
        ("deletes a required field", {"BACKWARD", "BACKWARD_ALL"}),
        ("adds an optional field", {mode.value for mode in ALL}),
        ("fits the last, backward breaks the first", {"BACKWARD", "FORWARD", "FORWARD_ALL", "FULL"}),
        ("fits the last, forward breaks the first", {"BACKWARD", "BACKWARD_ALL", "FORWARD", "FULL"}),
        ("changes a type", set()),
        ("is the first", {mode.value for mode in ALL}),
    ],
)
@pytest.mark.parametrize("mode", list(CompatibilityMode))
def test_modes(mode: CompatibilityMode, change: str, passing: set[str]) -> None:
    earlier, new = CHANGES[change]
    verdict = check(AVRO, mode, new, list(enumerate(earlier, start=1)))
    assert verdict.compatible == (mode in passing or mode in OPEN)


def test_a_verdict_says_what_was_checked_and_what_broke() -> None:
    earlier, new = CHANGES["fits the last, backward breaks the first"]
    verdict = check(AVRO, CompatibilityMode.FULL_ALL, new, list(enumerate(earlier, start=1)))
    assert verdict.checked == (1, 2)
    (conflict,) = verdict.conflicts
    assert (conflict.version, conflict.direction, conflict.incompatibility.path) == (1, "BACKWARD", "/b")
    assert Conflict.from_json(json.loads(json.dumps(conflict.to_json()))) == conflict
    assert "reading data of version 1: READER_FIELD_MISSING_DEFAULT_VALUE at /b" in str(verdict)


def test_only_what_the_mode_compares_is_checked() -> None:
    versions = [(number, parsed(A)) for number in (3, 5, 9)]
    checked = {mode: check(AVRO, mode, parsed(A), versions).checked for mode in CompatibilityMode}
    for mode, numbers in checked.items():
        expected = () if mode in OPEN else (3, 5, 9) if mode.checks_all else (9,)
        assert numbers == expected, mode


def test_an_empty_verdict_is_compatible() -> None:
    assert str(CompatibilityVerdict(mode=CompatibilityMode.NONE)) == "Compatible under NONE."
