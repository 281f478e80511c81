"""The demo's closing report: the reconciliation, how fast batches ran, warm and cold, and why records waited."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.demo.children import Batches
from penstock.demo.reconcile import Reconciliation

__all__ = ["Outcome", "report_lines"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of the demo.

    ``starts`` are the indexes, among the committed batches, of the first one of each JVM. ``offsets_per_trigger`` bounds
    the records of a batch.
    """

    reconciliation: Reconciliation
    refusal: Sequence[str]
    batches: Batches
    starts: Sequence[int]
    offsets_per_trigger: int
    answers: Mapping[str, Sequence[Sequence[str | None]]]
    home: Path
    kept: bool


@dataclass(frozen=True, slots=True)
class _Rate:
    """One batch that was staged, committed and written down: ``records`` in ``seconds``."""

    records: int
    seconds: float

    @property
    def per_second(self) -> float:
        return self.records / self.seconds


def report_lines(outcome: Outcome, steps: Mapping[str, float], seconds: float) -> list[str]:
    """Return the report as human-readable lines. ``steps`` are seconds by title; ``seconds`` is the whole run's time."""
    reconciliation, batches = outcome.reconciliation, outcome.batches
    verdict = "exact" if not reconciliation.differences else "NOT exact"
    return [
        f"Reconciliation: {verdict}. {reconciliation.produced:,} produced = {reconciliation.written:,} written + "
        f"{reconciliation.dead_lettered:,} dead-lettered, each id once, every field as at the source.",
        f"Batches: {len(batches.lines)}, {batches.mixed} of them with two schema versions.",
        f"Dead letters: {', '.join(f'{count} {reason}' for reason, count in outcome.answers['reasons'])}.",
        *_throughput(outcome),
        *_latency(batches),
        f"Time: {seconds:.0f} s. The longest steps: {_longest(steps)}.",
    ]


def _throughput(outcome: Outcome) -> list[str]:
    """Return the lines on throughput: warm (full batches of a backlog) and cold (the first batch of each JVM)."""
    lines = outcome.batches.lines
    cold = [rate for index in outcome.starts if index < len(lines) and (rate := _rate(lines[index]))]
    later = [line for index, line in enumerate(lines) if index not in outcome.starts]
    warm = [rate for line in later if (rate := _rate(line)) and rate.records > outcome.offsets_per_trigger // 2]
    report = []
    if warm:
        median = statistics.median(rate.per_second for rate in warm)
        largest = max(rate.records for rate in warm)
        report.append(
            f"Throughput, warm: {median:,.0f} records a second, the median of {len(warm)} catch-up batches "
            f"of up to {largest:,} records, from the read of the topic to the commit."
        )
    if cold:
        rates = "; ".join(f"{rate.records:,} records in {rate.seconds:.1f} s" for rate in cold)
        report.append(f"Throughput, cold: {rates}. These are the first batches after each start of the job's JVM.")
    return report


def _latency(batches: Batches) -> list[str]:
    latencies = [line["max_latency_seconds"] for line in batches.lines if line["max_latency_seconds"] is not None]
    if not latencies:
        return []
    return [
        f"Latency from produce to queryable, slowest record of a batch: median {statistics.median(latencies):.1f} s, "
        f"worst {max(latencies):.1f} s.",
        "  It is the time to work off a backlog: the producers send everything while the job's JVM starts, or starts again, "
        "so a record waits for that start and for every batch before its own.",
    ]


def _longest(steps: Mapping[str, float]) -> str:
    slowest = sorted(steps.items(), key=lambda step: -step[1])[:3]
    return ", ".join(f"{title[0].lower()}{title[1:]} ({spent:.0f} s)" for title, spent in slowest)


def _rate(line: Mapping[str, Any]) -> _Rate | None:
    """Return a batch's rate; None if a killed JVM had staged it, because its line lacks a part of its time."""
    seconds = sum(line["seconds"].values())
    return _Rate(line["records"], seconds) if line["seconds"].get("stage") else None
