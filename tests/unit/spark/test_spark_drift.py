"""Drift between writers, table and rows, judged by the declared policy."""

import json
from dataclasses import replace
from uuid import UUID

import pytest

from penstock.pipelines import Drift
from penstock.schema.version import SchemaVersion
from penstock.spark.commit.drift import DriftStop, apply_policy, lost_fields, null_jumps, reported_after

FIELDS = [{"name": name, "type": "long"} for name in "abcd"]


def version(number: int) -> SchemaVersion:
    return SchemaVersion(
        id=UUID(int=number),
        schema_arn="a",
        registry_name="r",
        schema_name="s",
        number=number,
        definition=json.dumps({"type": "record", "name": "R", "fields": FIELDS[:number]}),
        data_format="AVRO",
    )


def test_a_field_the_reader_lacks_stops_or_warns() -> None:
    findings = lost_fields([version(1), version(2)], version(1), version(1).definition)
    with pytest.raises(DriftStop, match=r"Drift: batch 7: field 'b' of schema version 2 .* nothing of it was committed"):
        apply_policy(findings, Drift(), where="batch 7")
    assert len(apply_policy(findings, Drift(on_missing_field="warn"), where="batch 7")) == 1


def test_versions_that_lose_the_same_fields_are_one_finding_and_are_said_once() -> None:
    reader, warn = version(1), Drift(on_missing_field="warn")
    first = lost_fields([version(3), version(2), version(1)], reader, reader.definition)
    assert apply_policy(first, warn, where="batch 1") == [
        f"field 'b' of schema version 2 ({UUID(int=2)}) is not in the reader, version 1",
        f"fields 'b', 'c' of schema version 3 ({UUID(int=3)}) are not in the reader, version 1",
    ]
    reported = reported_after(first, warn, reported=())
    assert reported == ["field:1:2", "field:1:3"]
    assert lost_fields([version(2), version(3)], reader, reader.definition, reported=reported) == []
    (new,) = lost_fields([version(3), version(4)], reader, reader.definition, reported=reported)
    assert new.text.startswith("fields 'b', 'c', 'd' of schema version 4 ")
    assert reported_after([new], warn, reported=reported) == [*reported, "field:1:4"]
    assert len(lost_fields([version(3)], version(2), version(2).definition, reported=reported)) == 1, (
        "another reader, another finding"
    )


def test_several_versions_with_the_same_fields_missing_are_named_together() -> None:
    (finding,) = lost_fields([version(2), replace(version(2), number=3)], version(1), version(1).definition)
    assert finding.text.startswith("field 'b' of schema versions 2 (")
    assert finding.keys == ("field:1:2", "field:1:3")


def test_a_jump_is_said_when_it_comes_and_again_when_it_comes_again() -> None:
    history, drift = [{"rows": 1000, "nulls": {"a": 0}}], Drift()
    jump, calm = null_jumps({"a": 60}, 100, history, drift), null_jumps({"a": 0}, 100, history, drift)
    assert len(apply_policy(jump, drift, where="b", reported=[])) == 1
    reported = reported_after(jump, drift, reported=["field:1:2"])
    assert reported == ["field:1:2", "null:a"]
    assert apply_policy(jump, drift, where="b", reported=reported) == []
    assert reported_after(calm, drift, reported=reported) == ["field:1:2"]
    with pytest.raises(DriftStop):
        apply_policy(jump, Drift(on_null_jump="fail"), where="b", reported=reported)


@pytest.mark.parametrize(
    ("now", "history", "jumps"),
    [
        (60, [{"rows": 1000, "nulls": {"a": 300}}], True),
        (49, [{"rows": 1000, "nulls": {"a": 300}}], False),
        (100, [], False),
        (100, [{"rows": 1000, "nulls": {"other": 0}}], False),
        (100, [{"rows": 50, "nulls": {"a": 0}}], False),
        (100, [{"rows": 60, "nulls": {"a": 0}}, {"rows": 60, "nulls": {"a": 0}}], True),
    ],
)
def test_null_rates_are_compared_with_the_trailing_ones(now: int, history: list[dict[str, object]], jumps: bool) -> None:
    assert bool(null_jumps({"a": now}, 100, history, Drift(on_null_jump="fail"))) is jumps


def test_small_batches_and_ignored_jumps_are_not_judged() -> None:
    history = [{"rows": 1000, "nulls": {"a": 0}}]
    assert null_jumps({"a": 99}, 99, history, Drift()) == []
    assert null_jumps({"a": 100}, 100, history, Drift(on_null_jump="ignore")) == []
