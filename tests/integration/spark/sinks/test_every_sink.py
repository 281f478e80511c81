"""What every kind of sink does: a batch once, replays, breaks, empty batches, modes, and clear errors.

A new kind adds a fixture ``KIND_target`` (a :class:`~tests.integration.spark.sinks.targets.SinkTarget`) and its name here.
"""

from collections import Counter

import pytest
from pyspark.sql import SparkSession

from penstock.errors import PenstockError
from penstock.pipelines.sinks.settings import WriteMode
from tests.integration.spark.sinks.targets import CHANGES, COLUMNS, SinkTarget, batch, numbered

pytestmark = [
    pytest.mark.spark,
    # py4j leaves the sockets of its callbacks to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

KINDS = ("postgresql", "redshift", "items", "plain_items", "topic", "kinesis")


@pytest.fixture(params=KINDS)
def target(request: pytest.FixtureRequest) -> SinkTarget:
    sink_target: SinkTarget = request.getfixturevalue(f"{request.param}_target")
    return sink_target


def expected(target: SinkTarget, rows: dict[int, str], repeated: set[int]) -> bool:
    """Whether the sink has ``rows``; those of at-least-once sinks in ``repeated`` several times."""
    counter = Counter(target.rows())
    if target.exactly_once:
        return counter == Counter(rows.items())
    return set(counter) == set(rows.items()) and all(
        number in repeated for (number, _), count in counter.items() if count > 1
    )


def test_batches_append_and_a_replay_changes_nothing(spark_utc: SparkSession, target: SinkTarget) -> None:
    writer = target.writer()
    writer.check()
    first, second = batch(spark_utc, numbered(0, 20)), batch(spark_utc, numbered(20, 10), 1)
    done = [writer.publish(first), writer.publish(second)]
    assert [(published.rows, published.replayed) for published in done] == [(20, False), (10, False)]
    rows = {number: f"n{number}" for number in range(30)}
    assert expected(target, rows, set())

    again = target.writer()
    again.check()
    replay = again.publish(second)
    assert replay.replayed or replay.rows == 10
    assert expected(target, rows, set(range(20, 30)))


def test_a_batch_that_broke_off_is_completed_once(spark_utc: SparkSession, target: SinkTarget) -> None:
    writer, cut = target.writer(), batch(spark_utc, numbered(0, 200))
    writer.check()
    with pytest.raises(PenstockError):
        target.interrupted(writer, cut)
    again = target.writer()
    again.check()
    again.publish(cut)
    again.publish(batch(spark_utc, numbered(200, 1), 1))
    assert expected(target, {number: f"n{number}" for number in range(201)}, set(range(200)))


def test_an_empty_batch_writes_nothing(spark_utc: SparkSession, target: SinkTarget) -> None:
    writer = target.writer()
    writer.check()
    writer.publish(batch(spark_utc, numbered(0, 1)))
    assert writer.publish(batch(spark_utc, [], 1)).rows == 0
    assert target.rows() == [(0, "n0")]


@pytest.mark.parametrize("mode", ["upsert", "cdc"])
def test_the_last_change_of_a_key_counts(spark_utc: SparkSession, target: SinkTarget, mode: WriteMode) -> None:
    if mode not in target.modes:
        return
    writer = target.writer(mode)
    writer.check()

    def change(id: int, name: str | None, op: str, offset: int) -> tuple[object, ...]:
        return (id, name, op, 0, offset) if mode == "cdc" else (id, name, 0, offset)

    columns = CHANGES if mode == "cdc" else COLUMNS
    first = [change(1, "b", "u", 1), change(1, "a", "c", 0), change(2, "x", "c", 2), change(3, "y", "c", 3)]
    writer.publish(batch(spark_utc, first, columns=columns))
    assert target.rows() == [(1, "b"), (2, "x"), (3, "y")]
    second = [change(2, "z", "u", 4), change(3, None, "d", 5), change(1, "gone", "d", 6), change(1, "c", "c", 7)]
    third = batch(spark_utc, second, 1, columns=columns)
    writer.publish(third)
    left = [(1, "c"), (2, "z")] if mode == "cdc" else [(1, "c"), (2, "z"), (3, None)]
    assert target.rows() == left
    again = target.writer(mode)
    again.check()
    again.publish(third)
    assert target.rows() == left


def test_what_cannot_be_reached_is_said_in_one_message(spark_utc: SparkSession, target: SinkTarget) -> None:
    for writer, message in target.unreachable():
        with pytest.raises(PenstockError, match=message):
            writer.check()
