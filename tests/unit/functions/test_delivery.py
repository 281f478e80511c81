"""What becomes of a batch, as pure functions: each record is marked as done or discarded once, in order, whatever fails."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.functions.delivery.failures import failure_record, outcome_of
from penstock.functions.delivery.steps import (
    AGE,
    RETRIES,
    Discard,
    Failed,
    Invoke,
    MarkDone,
    Outcome,
    Partly,
    Pause,
    Step,
    Succeeded,
    deliver,
)
from penstock.functions.environment import Result
from penstock.functions.kafka.event import KafkaOrigin
from penstock.functions.model import FailurePolicy
from penstock.functions.records import Progress, Record

NOW = 1_700_000_000.0


def records(*places: tuple[str, int], age: float = 0.0) -> list[Record]:
    moment = int((NOW - age) * 1000)
    return [Record(partition=p, position=o, timestamp_ms=moment, key=None, entry=b"{}") for p, o in places]


def run(batch: list[Record], policy: FailurePolicy, function: Callable[[list[Record], int], Outcome]) -> list[Step]:
    """All steps of a delivery to a function that is a function."""
    steps: list[Step] = []
    going = deliver(batch, policy, lambda: NOW)
    outcome: Outcome | None = None
    while True:
        try:
            step = going.send(outcome)
        except StopIteration:
            return steps
        steps.append(step)
        assert len(steps) < 10_000, "endless"
        outcome = function(list(step.records), step.attempt) if isinstance(step, Invoke) else None


def places(found: Any) -> list[tuple[str, int]]:
    return [(record.partition, record.position) for record in found]


def shown(steps: list[Step]) -> list[Any]:
    names = {Invoke: "invoke", MarkDone: "done", Discard: "discard"}
    return [
        ("pause", step.seconds) if isinstance(step, Pause) else (names[type(step)], [r.position for r in step.records])
        for step in steps
    ]


def test_a_success_settles_the_batch() -> None:
    steps = run(records(("t-0", 1), ("t-0", 2)), FailurePolicy(), lambda _r, _a: Succeeded())
    assert shown(steps) == [("invoke", [1, 2]), ("done", [1, 2])]


def test_retries_wait_longer_and_then_the_batch_is_discarded() -> None:
    steps = run(records(("t-0", 1), ("t-0", 2)), FailurePolicy(retries=2), lambda _r, _a: Failed())
    invoke = ("invoke", [1, 2])
    assert shown(steps) == [invoke, ("pause", 0.5), invoke, ("pause", 1.0), invoke, ("discard", [1, 2])]
    discard = steps[-1]
    assert isinstance(discard, Discard)
    assert (discard.condition, discard.invokes) == (RETRIES, 3)


def test_without_a_limit_a_batch_is_retried_until_it_succeeds() -> None:
    steps = run(records(("t-0", 1)), FailurePolicy(), lambda _r, attempt: Succeeded() if attempt == 50 else Failed())
    pauses = [step.seconds for step in steps if isinstance(step, Pause)]
    assert len(pauses) == 49
    assert max(pauses) == 60.0
    assert shown(steps)[-1] == ("done", [1])


def test_splitting_uses_up_no_retry_and_finds_the_culprit() -> None:
    batch = records(*[("t-0", number) for number in range(8)])
    steps = run(
        batch,
        FailurePolicy(retries=1, bisect=True),
        lambda given, _a: Failed() if any(record.position == 5 for record in given) else Succeeded(),
    )
    assert [part for what, part in shown(steps) if what == "discard"] == [[5]]
    assert [part for what, part in shown(steps) if what == "done"] == [[0, 1, 2, 3], [4], [6, 7]]
    assert [part for what, part in shown(steps) if what == "invoke"].count([5]) == 2


def test_a_report_moves_the_checkpoint_of_each_partition() -> None:
    batch = records(("t-0", 1), ("t-0", 2), ("t-1", 7), ("t-1", 8))

    def function(given: list[Record], attempt: int) -> Outcome:
        return Partly(lowest={"t-0": 2}) if len(given) == 4 else Succeeded()

    steps = run(batch, FailurePolicy(retries=0), function)
    # No retry is allowed, but the record at the head has had its first call only.
    assert places(steps[1].records) == [("t-0", 1), ("t-1", 7), ("t-1", 8)]  # type: ignore[union-attr]
    assert [type(step) for step in steps] == [Invoke, MarkDone, Discard]


def test_a_reported_head_is_discarded_alone_where_batches_may_be_split() -> None:
    batch = records(*[("t-0", number) for number in range(4)])

    def function(given: list[Record], _attempt: int) -> Outcome:
        bad = [record.position for record in given if record.position == 1]
        return Partly(lowest={"t-0": 1}) if bad else Succeeded()

    steps = run(batch, FailurePolicy(retries=1, bisect=True), function)
    assert [item for item in shown(steps) if item[0] in {"done", "discard"}] == [
        ("done", [0]),
        ("discard", [1]),
        ("done", [2, 3]),
    ]


def test_old_records_are_discarded_before_the_function_sees_them() -> None:
    batch = [*records(("t-0", 1), age=100), *records(("t-0", 2), age=10)]
    steps = run(batch, FailurePolicy(age=60), lambda _r, _a: Succeeded())
    assert shown(steps) == [("discard", [1]), ("invoke", [2]), ("done", [2])]
    assert isinstance(steps[0], Discard)
    assert (steps[0].condition, steps[0].invokes) == (AGE, 0)


@settings(max_examples=300)
@given(
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    poison=st.sets(st.tuples(st.integers(0, 3), st.integers(0, 5))),
    retries=st.integers(0, 3),
    bisect=st.booleans(),
    reports=st.booleans(),
    crashes=st.integers(0, 3),
)
def test_every_record_is_settled_or_discarded_once_and_in_order(
    *, sizes: list[int], poison: set[tuple[int, int]], retries: int, bisect: bool, reports: bool, crashes: int
) -> None:
    batch = records(*[(f"t-{p}", o) for p, size in enumerate(sizes) for o in range(size)])
    bad = {(f"t-{p}", o) for p, o in poison}
    left = [crashes]

    def function(given: list[Record], _attempt: int) -> Outcome:
        if left[0] > 0:
            left[0] -= 1
            return Failed(error={"errorType": "Runtime.ExitError"})
        wrong = [record for record in given if (record.partition, record.position) in bad]
        if not wrong:
            return Succeeded()
        if not reports:
            return Failed()
        lowest: dict[str, int] = {}
        for record in wrong:
            lowest[record.partition] = min(lowest.get(record.partition, record.position), record.position)
        return Partly(lowest=lowest)

    steps = run(batch, FailurePolicy(retries=retries, bisect=bisect), function)
    ended = [record for step in steps if isinstance(step, MarkDone | Discard) for record in step.records]
    assert sorted(places(ended)) == sorted(places(batch))
    for number, size in enumerate(sizes):
        assert [o for p, o in places(ended) if p == f"t-{number}"] == list(range(size))
    done = {place for step in steps if isinstance(step, MarkDone) for place in places(step.records)}
    assert not done & bad
    if bisect and crashes <= retries:
        assert done == set(places(batch)) - bad, "only poison is discarded"


@given(order=st.permutations(list(range(12))), start=st.integers(0, 100))
def test_progress_is_the_unbroken_prefix(order: list[int], start: int) -> None:
    progress = Progress()
    for number in range(12):
        progress.begin(start + 2 * number)
    done: set[int] = set()
    reached = -1
    for number in order:
        done.add(number)
        news = progress.finish([start + 2 * number])
        prefix = next((index for index in range(12) if index not in done), 12) - 1
        assert news == (start + 2 * prefix if prefix > reached else None)
        reached = max(reached, prefix)
    assert len(progress) == 0


@pytest.mark.parametrize(
    "answer", [None, {}, "", {"batchItemFailures": []}, {"batchItemFailures": None}, {"statusCode": 200}]
)
def test_answers_that_mean_success(answer: dict[str, Any] | str | None) -> None:
    assert outcome_of(Result(request_id="r", answer=answer), records(("t-0", 1)), reports=True) == Succeeded()


@pytest.mark.parametrize(
    "failures",
    [
        [{"itemIdentifier": ""}],
        [{"itemIdentifier": None}],
        [{"identifier": "1"}],
        [{"itemIdentifier": "99"}],
        [{"itemIdentifier": {"partition": "t-1", "offset": 1}}],
        [{"itemIdentifier": {"partition": "t-0"}}],
        [{"itemIdentifier": {"partition": "t-0", "offset": float("inf")}}],
        [{"itemIdentifier": "1"}, {"itemIdentifier": ""}],
        {"itemIdentifier": "1"},
        ["1"],
    ],
)
def test_reports_that_mean_failure_of_the_whole_batch(failures: Any) -> None:
    result = Result(request_id="r", answer={"batchItemFailures": failures})
    assert isinstance(outcome_of(result, records(("t-0", 1)), reports=True), Failed)
    assert outcome_of(result, records(("t-0", 1)), reports=False) == Succeeded()


def test_a_report_that_is_none_is_shown() -> None:
    outcome = outcome_of(Result(request_id="r", answer="done"), records(("t-0", 1)), reports=True)
    assert isinstance(outcome, Failed)
    assert 'reported "done"' in outcome.error["errorMessage"]


@pytest.mark.parametrize(("milliseconds", "said"), [(10**17, "9999-12-31T23:59:59.000Z"), (-1, "1970-01-01T00:00:00.000Z")])
def test_a_record_with_an_invalid_time_can_be_discarded(milliseconds: int, said: str) -> None:
    strange = [Record(partition="t-0", position=1, timestamp_ms=milliseconds, key=None, entry=b"{}")]
    about = failure_record(Discard(records=strange, condition="x"), KafkaOrigin(bootstrap_servers="b:9092"), "arn")
    assert about["KafkaBatchInfo"]["recordsInfo"]["t-0"]["firstRecordTimestamp"] == said
