"""Drift: a field that writers have and the table lacks, or a null rate that jumps. It is checked before each commit."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from penstock.errors import DataProblem
from penstock.pipelines.model import Drift
from penstock.schema.version import SchemaVersion
from penstock.spark.decode.formats import format_of

__all__ = ["TRAILING", "DriftStop", "Finding", "apply_policy", "lost_fields", "null_jumps", "table_gaps"]

TRAILING = 20
"""The number of committed batches that the usual null rate of a column is taken from."""


class DriftStop(DataProblem):
    """The declared policy stops the pipeline before this batch is committed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One difference, in a sentence, and the policy for it."""

    kind: Literal["missing-field", "null-jump"]
    text: str
    remedy: str


def lost_fields(seen: Iterable[SchemaVersion], reader: SchemaVersion, reader_definition: str) -> list[Finding]:
    """Return fields that a version in the batch has and the reader would drop."""
    return [
        Finding(
            kind="missing-field",
            text=f"field '{path}' of schema version {version.number} ({version.id}) is not in the reader, "
            f"version {reader.number}",
            remedy="Set decode.reader to a version that has the field, or drift.on_missing_field to warn.",
        )
        for version in sorted(seen, key=lambda each: each.number)
        for path in format_of(version.data_format).missing_fields(version.definition, reader_definition)
    ]


def table_gaps(columns: Mapping[str, str], table: Mapping[str, str] | None, *, name: str) -> list[Finding]:
    """Return columns (name to Hive type) that the catalog's table lacks or has with another type; None is a new table."""
    if table is None:
        return []
    known = {column.lower(): kind for column, kind in table.items()}
    findings = []
    for column, kind in columns.items():
        theirs = known.get(column.lower())
        if theirs is None:
            text = f"column '{column}' ({kind}) is not in the catalog table {name}"
            remedy = "Add it there, set catalog.create of the sink, or drift.on_missing_field to warn."
            findings.append(Finding(kind="missing-field", text=text, remedy=remedy))
        elif theirs.lower() != kind.lower():
            text = f"column '{column}' is {kind} in this batch and {theirs} in the catalog table {name}"
            remedy = "Cast it in transform.columns, or change the table."
            findings.append(Finding(kind="missing-field", text=text, remedy=remedy))
    return findings


def null_jumps(nulls: Mapping[str, int], rows: int, history: Sequence[Mapping[str, Any]], drift: Drift) -> list[Finding]:
    """Return columns whose null rate rose by the threshold over that of the last batches.

    ``history``: facts of committed batches, newest first, each with ``rows`` and ``nulls`` (column to count).
    """
    if drift.on_null_jump == "ignore" or rows < drift.min_rows:
        return []
    findings = []
    for column, count in nulls.items():
        past = [facts for facts in history[:TRAILING] if column in facts.get("nulls", {})]
        before = sum(int(facts["rows"]) for facts in past)
        if before < drift.min_rows:
            continue
        usual, now = sum(int(facts["nulls"][column]) for facts in past) / before, count / rows
        if now - usual >= drift.threshold:
            findings.append(
                Finding(
                    kind="null-jump",
                    text=f"column '{column}' is null in {now:.1%} of {rows:,} rows, after {usual:.1%} of {before:,}",
                    remedy="Check the producer of these records; if they are right, raise drift.threshold.",
                )
            )
    return findings


def apply_policy(findings: Sequence[Finding], drift: Drift, *, where: str) -> list[str]:
    """Return the warnings. Raises :class:`DriftStop` if the policy is fail. ``where``: batch and offsets for the message."""
    policy = {"missing-field": drift.on_missing_field, "null-jump": drift.on_null_jump}
    stops = [finding for finding in findings if policy[finding.kind] == "fail"]
    if stops:
        more = f" (and {len(stops) - 1} more)" if len(stops) > 1 else ""
        raise DriftStop(f"Drift: {where}: {stops[0].text}{more}; nothing of it was committed.", remedy=stops[0].remedy)
    return [finding.text for finding in findings if policy[finding.kind] == "warn"]
