"""Every example of the pages docs/registry/compatibility-FORMAT.md gives the verdict that the page claims."""

import pytest

from tests.unit.docs.compatibility_page import Claim, claims, findings, read_claims

OPTIONAL = """\
```old
{"type": "record", "name": "R", "fields": []}
```
```new
{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
```
"""


@pytest.mark.parametrize("claim", claims(), ids=str)
def test_an_example_gives_its_verdict(claim: Claim) -> None:
    assert findings(claim) == claim.findings


def test_wrong_claims_are_noticed() -> None:
    text = OPTIONAL + "BACKWARD: READER_FIELD_MISSING_DEFAULT_VALUE at /a\nFORWARD (Glue): compatible\n"
    right = read_claims(text, "AVRO")
    assert [(str(claim), findings(claim) == claim.findings) for claim in right] == [
        ("AVRO-line-7-BACKWARD-Glue", True),
        ("AVRO-line-7-BACKWARD-Confluent", True),
        ("AVRO-line-8-FORWARD-Glue", True),
    ]
    for wrong in (
        "BACKWARD: compatible",
        "FORWARD: TYPE_MISMATCH at /a",
        "BACKWARD: READER_FIELD_MISSING_DEFAULT_VALUE at /b",
    ):
        assert all(findings(claim) != claim.findings for claim in read_claims(OPTIONAL + wrong, "AVRO"))


def test_examples_that_claim_nothing_are_noticed() -> None:
    for text in (
        OPTIONAL,
        OPTIONAL + OPTIONAL + "BACKWARD: compatible",
        "BACKWARD: compatible",
        OPTIONAL + "BACKWARD: fine",
        OPTIONAL + "BACKWARD (Glu): compatible",
    ):
        with pytest.raises(ValueError, match=r"claim|line"):
            read_claims(text, "AVRO")


def test_references_and_other_blocks() -> None:
    text = f"```json\nBACKWARD: fine\n```\n```reference a.json\n{{}}\n```\n{OPTIONAL}- `BACKWARD (Glue): compatible`\n"
    (claim,) = read_claims(text, "AVRO")
    assert [(item.name, item.text) for item in claim.references] == [("a.json", "{}\n")]
