"""The closing report: what of the batches' metrics becomes which line."""

from pathlib import Path
from typing import Any

from penstock.demo.children import Batches
from penstock.demo.cloud import Refusal
from penstock.demo.reconcile import Reconciliation
from penstock.demo.report import Outcome, report_lines

VERDICT = "Incompatible under BACKWARD:\n- reading data of version 2: TYPE_MISMATCH at /a\n- reading data of version 2: b"


def line(records: int, stage: float | None, latency: float | None = 5.0) -> dict[str, Any]:
    """A batch's line of metrics; None for ``stage`` where a JVM before this one had staged it."""
    seconds = {"commit": 0.5} | ({} if stage is None else {"stage": stage})
    return {
        "records": records,
        "rows": records,
        "dead": 0,
        "versions": {"1": records},
        "seconds": seconds,
        "max_latency_seconds": latency,
    }


def report(lines: list[dict[str, Any]], starts: tuple[int, int] = (0, 3)) -> list[str]:
    outcome = Outcome(
        reconciliation=Reconciliation(produced=10_040, written=10_000, dead_lettered=40, differences=[]),
        refusal=[],
        batches=Batches(lines=lines),
        starts=starts,
        offsets_per_trigger=1_000,
        answers={"reasons": [["SHORT_FRAME", "40"]]},
        home=Path("home"),
        kept=False,
    )
    return report_lines(outcome, {"Start it": 1.0, "Kill the job with SIGKILL": 9.0}, 12.3)


def starting(lines: list[str], words: str) -> list[str]:
    return [name for name in lines if name.startswith(words)]


def test_warm_batches_are_the_full_ones_that_no_jvm_began_with() -> None:
    said = report([line(1000, 9.5), line(1000, 0.5), line(4, 1.0), line(300, 2.5), line(1000, 1.5), line(900, 0.4)])
    [warm] = starting(said, "Throughput, warm")
    # 1000 in 1.0 s, 1000 in 2.0 s and 900 in 0.9 s; the batch of four records says how long one takes, not how much fits.
    assert "1,000 records a second, the median of 3 catch-up batches of up to 1,000 records" in warm
    [cold] = starting(said, "Throughput, cold")
    assert "1,000 records in 10.0 s; 300 records in 3.0 s." in cold


def test_a_batch_that_a_killed_jvm_had_staged_has_no_rate() -> None:
    said = report([line(1000, 0.5), line(1000, 0.5), line(1000, None), line(1000, None)])
    assert "the median of 1 catch-up batches" in starting(said, "Throughput, warm")[0]
    assert "1,000 records in 1.0 s. These" in starting(said, "Throughput, cold")[0]


def test_no_figure_is_made_up_where_there_is_none() -> None:
    assert not starting(report([], starts=(0, 0)), "Throughput")
    assert not starting(report([line(1, 1.0, latency=None)]), "Latency")


def test_latency_comes_with_its_reason() -> None:
    said = report([line(1, 1.0, latency=2.0), line(1, 1.0, latency=8.0), line(1, 1.0, latency=3.0)])
    at = said.index("Latency from produce to queryable, slowest record of a batch: median 3.0 s, worst 8.0 s.")
    assert "the time to work off a backlog" in said[at + 1]


def test_the_reconciliation_comes_first_and_the_longest_steps_last() -> None:
    said = report([line(1, 1.0)])
    assert said[0].startswith("Reconciliation: exact. 10,040 produced = 10,000 written + 40 dead-lettered")
    assert said[-1] == "Time: 12 s. The longest steps: kill the job with SIGKILL (9 s), start it (1 s)."


def test_a_refusal_says_each_incompatibility_once_and_without_a_dash() -> None:
    refusal = Refusal.from_verdict(3, VERDICT)
    assert refusal.headline == "Incompatible under BACKWARD:"
    assert refusal.reasons == ["reading data of version 2: TYPE_MISMATCH at /a", "reading data of version 2: b"]
