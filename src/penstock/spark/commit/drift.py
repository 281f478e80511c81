"""Drift: a field that writers have and reader or table lack, or a null rate that jumps. It is checked before each commit.

A warning is reported once: the manifest of a batch keeps the keys of reported findings (the fact ``said``), with which the
next batch's are compared. A version's missing fields are reported when the first batch has the version, under each
reader; a jump is reported when it comes, and again if it comes again.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from penstock.errors import DataProblem
from penstock.pipelines.model import Drift
from penstock.schema.version import SchemaVersion
from penstock.spark.decode.formats import format_of
from penstock.spark.decode.formats.port import PayloadFormat

__all__ = ["TRAILING", "DriftStop", "Finding", "apply_policy", "lost_fields", "null_jumps", "reported_after"]

TRAILING = 20
"""The number of committed batches that the usual null rate of a column is taken from."""


class DriftStop(DataProblem):
    """The declared policy stops the pipeline before this batch is committed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One difference, in a sentence, and the policy for it. ``keys`` name it among those that were reported.

    ``table``: rows that the table cannot take, which is a stop in any case.
    """

    type: Literal["missing-field", "null-jump", "table"]
    text: str
    remedy: str
    keys: tuple[str, ...] = ()


def lost_fields(
    writers: Iterable[SchemaVersion],
    reader: SchemaVersion,
    reader_definition: str,
    *,
    reported: Collection[str] = (),
    payloads: PayloadFormat | None = None,
) -> list[Finding]:
    """Return fields that versions in the batch have and the reader would drop; versions that lose the same are one finding.

    ``reported``: keys of versions that are left out: they were warned of before. ``payloads`` is the declared format,
    by default the reader's without settings.
    """
    payloads = payloads or format_of(reader.data_format)
    lost: dict[tuple[str, ...], list[SchemaVersion]] = {}
    for version in sorted(writers, key=lambda schema_version: schema_version.number):
        if _field_key(reader, version) in reported:
            continue
        fields = tuple(payloads.missing_fields(version.definition, reader_definition))
        if fields:
            lost.setdefault(fields, []).append(version)
    return [_lost(fields, versions, reader) for fields, versions in lost.items()]


def _lost(fields: Sequence[str], versions: Sequence[SchemaVersion], reader: SchemaVersion) -> Finding:
    many, several = len(fields) > 1, len(versions) > 1
    names = ", ".join(f"'{field}'" for field in fields)
    numbers = ", ".join(f"{version.number} ({version.id})" for version in versions)
    return Finding(
        type="missing-field",
        text=f"{'fields' if many else 'field'} {names} of schema {'versions' if several else 'version'} {numbers} "
        f"{'are' if many else 'is'} not in the reader, version {reader.number}",
        remedy=f"Set decode.reader to a version that has the {'fields' if many else 'field'}, or drift.on_missing_field "
        "to warn.",
        keys=tuple(_field_key(reader, version) for version in versions),
    )


def _field_key(reader: SchemaVersion, version: SchemaVersion) -> str:
    return f"field:{reader.number}:{version.number}"


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
                    type="null-jump",
                    text=f"column '{column}' is null in {now:.1%} of {rows:,} rows, after {usual:.1%} of {before:,}",
                    remedy="Check the producer of these records; if they are right, raise drift.threshold.",
                    keys=(f"null:{column}",),
                )
            )
    return findings


def apply_policy(findings: Sequence[Finding], drift: Drift, *, where: str, reported: Collection[str] = ()) -> list[str]:
    """Return the warnings. Raises :class:`DriftStop` if the policy is fail. ``where``: batch and offsets for the message.

    ``reported``: the result of :func:`reported_after` for the last batch. A finding all of whose keys are in it is not
    reported again, and stops the batch where the policy is to fail.
    """
    policy = _policies(drift)
    stops = [finding for finding in findings if policy[finding.type] == "fail"]
    if stops:
        more = f" (and {len(stops) - 1} more)" if len(stops) > 1 else ""
        raise DriftStop(f"Drift: {where}: {stops[0].text}{more}; nothing of it was committed.", remedy=stops[0].remedy)
    warned = [finding for finding in findings if policy[finding.type] == "warn"]
    return [finding.text for finding in warned if not finding.keys or not set(finding.keys) <= set(reported)]


def reported_after(findings: Sequence[Finding], drift: Drift, *, reported: Collection[str]) -> list[str]:
    """Return the sorted keys that are reported after a batch with these findings, and before it ``reported``.

    Keys of jumps stay as long as each batch has the jump.
    """
    policy = _policies(drift)
    now = {key for finding in findings if policy[finding.type] == "warn" for key in finding.keys}
    return sorted(now | {key for key in reported if not key.startswith("null:")})


def _policies(drift: Drift) -> Mapping[str, str]:
    return {"missing-field": drift.on_missing_field, "null-jump": drift.on_null_jump, "table": "fail"}
