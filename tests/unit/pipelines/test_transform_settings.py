"""The transform section: steps, masks, expectations, and what is refused with its line."""

from pathlib import Path

import pytest

from penstock.errors import InvalidInput
from penstock.pipelines import DeduplicateStep, Expectation, PythonStep, SqlStep, Transform, WindowStep
from penstock.pipelines.transforms import parse_transform
from penstock.settings.document import load_document


def transform(text: str) -> Transform:
    return parse_transform(load_document(text, origin="p.yaml", environment={"KEY": "k"}), Path("/pipelines"))


def test_steps_are_read_in_order() -> None:
    result = transform(
        """
steps:
  clean: {sql: SELECT * FROM records}
  enriched: {python: "lib.steps:enrich", from: records}
  once: {deduplicate: {keys: id, time: at, watermark: 1 hour 30 minutes}}
  sums: {window: {time: at, size: 5 minutes, watermark: 1 minute, aggregates: {n: count(*)}, late: drop}}
"""
    )
    assert result.steps == (
        SqlStep(name="clean", sql="SELECT * FROM records"),
        PythonStep(name="enriched", function="lib.steps:enrich", source="records", folder=Path("/pipelines")),
        DeduplicateStep(name="once", keys=("id",), time="at", watermark="1 hour 30 minutes"),
        WindowStep(
            name="sums", time="at", size="5 minutes", watermark="1 minute", aggregates={"n": "count(*)"}, late="drop"
        ),
    )
    assert (result.stateful, result.quarantines) == (True, True)


def test_masks_and_expectations() -> None:
    result = transform(
        """
mask: {tags: {pii: hash, gone: null}, fields: {card: partial}, key: "${KEY}"}
expect:
  positive: {rows: amount > 0, on_failure: quarantine}
  enough: {batch: count(*) > 10}
"""
    )
    assert result.mask is not None
    assert (result.mask.tags, result.mask.fields, result.mask.key) == (
        {"pii": "hash", "gone": "null"},
        {"card": "partial"},
        "k",
    )
    assert "'k'" not in repr(result.mask)
    assert result.expect == (
        Expectation(name="positive", rows="amount > 0", on_failure="quarantine"),
        Expectation(name="enough", batch="count(*) > 10"),
    )
    assert (result.stateful, result.quarantines) == (False, True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("steps: {records: {sql: SELECT 1}}", "p.yaml:1: 'records' is not a usable name"),
        ("steps:\n  a: {sql: SELECT 1, python: 'm:f'}", "p.yaml:2: a step is one of"),
        ("steps:\n  a: {python: f}", "p.yaml:2: 'python' is 'f'"),
        ("steps:\n  a: {python: 'm:f', from: b}", "Step a: there is no earlier step 'b'"),
        ("steps:\n  a: {sql: SELECT 1, from: records}", "p.yaml:2: 'from' is for other steps"),
        (
            "steps: {a: {deduplicate: {keys: [k], time: t, watermark: ten minutes}}}",
            "p.yaml:1: 'watermark' is 'ten minutes'",
        ),
        ("steps: {a: {deduplicate: {time: t, watermark: 10 minutes}}}", "'keys' is missing"),
        ("steps: {a: {window: {time: t, size: 1 hour, watermark: 1 minute}}}", "a window needs 'aggregates'"),
        ("mask: {tags: {pii: hash}}", "p.yaml:1: Masking with 'hash' needs a key"),
        ("mask: {tags: {pii: encrypt}}", "it can be hash, redact, partial, null"),
        ("expect:\n  a: {rows: x > 0, batch: count(*) > 0}", "p.yaml:2: Expectation a: give one of"),
        ("expect:\n  a: {batch: count(*) > 0, on_failure: quarantine}", "a batch cannot be quarantined"),
        ("expect:\n  a: {rows: x > 0, onfailure: fail}", "onfailure' is not known here"),
    ],
)
def test_mistakes_are_named_with_their_line(text: str, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        transform(text)
    assert message in str(caught.value)
