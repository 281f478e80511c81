"""Sensitive data in text: numbers that their issuers publish as examples, near misses, and AWS's printed actions."""

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import InvalidInput
from penstock.glue.entities.actions import changed, find_all, plan
from penstock.glue.entities.types import TYPES

# Test numbers of card schemes, example numbers of issuers and documents that describe a format.
FOUND = {
    "EMAIL": ["Kitty46@gmail.com", "first.last+tag@sub.example.co.uk", "o'neil@example.org"],
    "IP_ADDRESS": ["192.0.2.1", "2001:db8::1", "::1", "::ffff:192.0.2.128", "2001:0db8:0000:0000:0000:ff00:0042:8329"],
    "MAC_ADDRESS": ["00:1B:44:11:3A:B7", "00-1b-44-11-3a-b7", "001b.4411.3ab7"],
    "CREDIT_CARD": [
        "4111111111111111",
        "4111 1111 1111 1111",
        "5555-5555-5555-4444",
        "378282246310005",
        "3782 822463 10005",
        "30569309025904",
        "3056 930902 5904",
        "6011111111111117",
        "3530111333300000",
        "2223003122003222",
        "4222222222222",
    ],
    "PHONE_NUMBER": [
        "+1 425 555 0100",
        "(425) 555-0100",
        "425.555.0100",
        "1-425-555-0100",
        "4255550100",
        "+44 20 7946 0958",
    ],
    "DATE": ["2020-08-27", "08/27/2020", "27.08.2020", "August 27, 2020", "27 Aug 2020", "Feb 29, 2024"],
    "USA_SSN": ["219-09-9999", "078-05-1120", "078051120", "078 05 1120"],
    "USA_ITIN": ["912-90-3456", "912 70 3456", "912903456"],
    "USA_PASSPORT_NUMBER": ["340020013", "A12345678"],
    "USA_HEALTH_INSURANCE_CLAIM_NUMBER": ["078-05-1120A", "078051120B1"],
    "USA_MEDICARE_BENEFICIARY_IDENTIFIER": ["1EG4-TE5-MK72", "1EG4TE5MK73"],
    "USA_NATIONAL_PROVIDER_IDENTIFIER": ["1234567893"],
    "USA_NATIONAL_DRUG_CODE": ["0777-3105-02", "60574-411-01", "12345-6789-1", "00777-3105-02"],
    "USA_DEA_NUMBER": ["AP5836727", "F91234563"],
    "USA_HCPCS_CODE": ["A0021", "J1100"],
    "UK_NATIONAL_HEALTH_SERVICE_NUMBER": ["943 476 5919", "9434765919", "401-023-2137"],
    "UK_NATIONAL_INSURANCE_NUMBER": ["AB123456C", "AB 12 34 56 C"],
}
NOT_FOUND = {
    "EMAIL": ["user@localhost", "@example.com", "a@b", "no at.example.com"],
    "IP_ADDRESS": ["256.1.1.1", "1.2.3", "1.2.3.4.5", "12:30:45", "std::vector", "::", "1:2:3:4:5:6:7:8:9"],
    "MAC_ADDRESS": ["00:1B:44:11:3A", "00:1B-44:11:3A:B7", "00:1B:44:11:3A:B7:C1", "GG:1B:44:11:3A:B7"],
    "CREDIT_CARD": ["4111111111111112", "0000000000000000", "6441-6289-6867-2162", "1234567890123", "41111111111111111111"],
    "PHONE_NUMBER": ["125-555-0100", "425-155-0100", "425-555-010", "911-555-0100", "14255550100123", "+123", "+1 25"],
    "DATE": ["2021-02-29", "13/32/2020", "2020-1", "31 Feb 2020", "1.2.3.4"],
    "USA_SSN": ["000-12-3456", "666-12-3456", "912-12-3456", "219-00-9999", "219-09-0000", "219-099999", "1219-09-9999"],
    "USA_ITIN": ["812-90-3456", "912-93-3456", "912-49-3456"],
    "USA_PASSPORT_NUMBER": ["34002001", "AB1234567", "340-020-013"],
    "USA_HEALTH_INSURANCE_CLAIM_NUMBER": ["000-05-1120A", "078051120", "078051120ABC"],
    "USA_MEDICARE_BENEFICIARY_IDENTIFIER": ["1SG4TE5MK73", "0EG4TE5MK73", "1EG4-TE5MK73"],
    "USA_NATIONAL_PROVIDER_IDENTIFIER": ["1234567890", "3234567893"],
    "USA_NATIONAL_DRUG_CODE": ["777-3105-02", "60574-411-1"],
    "USA_DEA_NUMBER": ["AP5836728", "5836727"],
    "USA_HCPCS_CODE": ["Z0021", "A002", "A00212"],
    "UK_NATIONAL_HEALTH_SERVICE_NUMBER": ["943 476 5918", "0000000000"],
    "UK_NATIONAL_INSURANCE_NUMBER": ["DA123456C", "GB123456C", "AB123456E"],
}


@pytest.mark.parametrize("name", TYPES)
def test_a_type_finds_its_examples_alone_and_in_a_sentence_and_leaves_near_misses(name: str) -> None:
    for text in FOUND[name]:
        assert list(TYPES[name].find(text)) == [(0, len(text))], text
        assert list(TYPES[name].find(f"It is {text}, he said.")) == [(6, 6 + len(text))], text
        assert list(TYPES[name].find(f"({text})")), text
    for text in NOT_FOUND[name]:
        assert list(TYPES[name].find(text)) == [], text


def test_a_candidate_that_fails_its_check_hides_no_other_one() -> None:
    assert list(TYPES["CREDIT_CARD"].find("1234 4111 1111 1111 1111")) == [(5, 24)]
    assert list(TYPES["CREDIT_CARD"].find("4111 1111 1111 1111 12")) == [(0, 19)]
    assert list(TYPES["CREDIT_CARD"].find("4111 1111 1111 1111 123")) == [(0, 19)]
    assert [start for start, _ in TYPES["EMAIL"].find("a@example.com,b@example.com")] == [0, 14]


@given(st.text(st.sampled_from("0123456789-.: ()+@abcAGx/"), max_size=60))
def test_found_places_are_in_order_and_within_the_text(text: str) -> None:
    for kind in TYPES.values():
        places = list(kind.find(text))
        assert [place for pair in places for place in pair] == sorted(place for pair in places for place in pair)
        assert all(0 <= start < end <= len(text) for start, end in places)


@given(st.lists(st.integers(0, 9), min_size=14, max_size=14), st.integers(1, 9))
def test_of_ten_cards_that_differ_in_their_last_digit_one_is_found(digits: list[int], change: int) -> None:
    stem = "4" + "".join(str(digit) for digit in digits)
    lasts = [last for last in range(10) if list(TYPES["CREDIT_CARD"].find(f"{stem}{last}"))]
    assert len(lasts) == 1
    # One wrong digit is always noticed.
    wrong = f"4{(digits[0] + change) % 10}{stem[2:]}{lasts[0]}"
    assert not list(TYPES["CREDIT_CARD"].find(wrong))


def act(text: str, *settings: tuple[str, dict[str, Any]]) -> str:
    parameters: dict[str, list[Any]] = {}
    for entity, setting in settings:
        parameters.setdefault(entity, []).append(setting)
    return changed(text, find_all(text, plan(parameters, ["c"])["c"]))


def test_actions_make_the_texts_that_aws_prints() -> None:
    partial = {"numLeftCharsToExclude": "3", "numRightCharsToExclude": "4", "redactChar": "#"}
    redact = ("PHONE_NUMBER", {"action": "PARTIAL_REDACT", "actionOptions": partial})
    # "Phone Number": "1-2#######1718"
    assert act("1-231-555-1718", redact) == "1-2#######1718"
    assert act("+12315557890", redact) == "+12#####7890"
    digits = {"action": "PARTIAL_REDACT", "actionOptions": {"matchPattern": "[0-9]", "redactChar": "X"}}
    assert act("call (231) 555-1718", ("PHONE_NUMBER", digits)) == "call (XXX) XXX-XXXX"
    hashed = act("id 340020013", ("USA_PASSPORT_NUMBER", {"action": "SHA256_HASH"}))
    assert hashed == f"id {hashlib.sha256(b'340020013').hexdigest()}"
    text = {"action": "REDACT", "actionOptions": {"redactText": "***"}}
    assert act("a@example.com or b@example.com", ("EMAIL", text)) == "*** or ***"
    # What would leave all of an entity redacts it whole.
    short = {"action": "PARTIAL_REDACT", "actionOptions": {"numLeftCharsToExclude": 9}}
    assert act("A0021", ("USA_HCPCS_CODE", short)) == "*****"
    # Entities that overlap leave nothing between them.
    assert act("219-09-9999", ("USA_SSN", text), ("USA_PASSPORT_NUMBER", text), ("DATE", {"action": "DETECT"})) == "***"


def test_actions_are_for_their_columns() -> None:
    redact = {"action": "REDACT", "actionOptions": {"redactText": "-"}}
    results = plan({"EMAIL": [{**redact, "sourceColumnsToExclude": ["b"]}, {"action": "DETECT"}]}, ["a", "b"])
    assert {name: [task.action.name for task in tasks] for name, tasks in results.items()} == {
        "a": ["REDACT", "DETECT"],
        "b": ["DETECT"],
    }
    assert plan('{"EMAIL": [{"action": "DETECT", "sourceColumns": ["b"]}]}', ["a", "b"])["a"] == []
    assert [task.entity for task in plan(["EMAIL", "DATE", "EMAIL"], ["a"])["a"]] == ["EMAIL", "DATE"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (["EMAIL", "PERSON_NAME"], "type PERSON_NAME cannot be detected"),
        (None, "types of entities are None"),
        ("5", "types of entities are 5"),
        ('"EMAIL"', "types of entities are EMAIL, not a list"),
        ([f"T{number}" for number in range(250)], "T8, T9 and 240 more cannot be detected"),
        ({"USA_DRIVING_LICENSE": [{"action": "DETECT"}]}, "USA_DRIVING_LICENSE"),
        ({"EMAIL": [{"action": "DROP"}]}, "Action 'DROP' of EMAIL"),
        ({"EMAIL": [{"action": "DETECT", "columns": ["a"]}]}, "Members columns of EMAIL"),
        ({"EMAIL": [{"action": "DETECT", "sourceColumns": ["z"]}]}, "Columns z of EMAIL do not exist"),
        ({"EMAIL": [{"action": "REDACT"}]}, "has no redactText"),
        ({"EMAIL": [{"action": "SHA256_HASH", "actionOptions": {"key": "1"}}]}, "Options key of SHA256_HASH"),
        ({"EMAIL": [{"action": "PARTIAL_REDACT", "actionOptions": {"matchPattern": "("}}]}, "cannot be read"),
        ({"EMAIL": [{"action": "PARTIAL_REDACT", "actionOptions": {"redactChar": "##"}}]}, "out of its range"),
        ({"EMAIL": ["DETECT"]}, "not a list of maps"),
        ("{", "not JSON"),
    ],
)
def test_parameters_that_cannot_be_followed_are_refused(parameters: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as error:
        plan(parameters, ["a"])
    assert error.value.remedy
