"""Drift between writers, table and rows, judged by the declared policy."""

import json
from uuid import UUID

import pytest

from penstock.pipelines import Drift
from penstock.schema.version import SchemaVersion
from penstock.spark.commit.drift import DriftStop, apply_policy, lost_fields, null_jumps, table_gaps

FIELDS = [{"name": "a", "type": "long"}, {"name": "b", "type": "int"}]


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


def test_a_table_without_a_column_or_with_another_type() -> None:
    findings = table_gaps({"A": "bigint", "b": "int", "c": "int"}, {"a": "bigint", "b": "string"}, name="d.t")
    assert [finding.text for finding in findings] == [
        "column 'b' is int in this batch and string in the catalog table d.t",
        "column 'c' (int) is not in the catalog table d.t",
    ]
    assert table_gaps({"a": "int"}, None, name="d.t") == []


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
