"""Dead letters through the pipeline once more: after a fix, each once, also after a replay that dies."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.errors import EnvironmentProblem, NotFound
from penstock.local.broker import Broker
from penstock.pipelines import parse_pipeline
from penstock.spark.dead_letter_table import LetterTable
from penstock.spark.running.replay import LetterSelection, ReplayReport, replay
from penstock.spark.running.runner import RunOptions, run
from tests.integration.spark.stream import Registry, Topic, declaration, frame, records, rows

pytestmark = [
    pytest.mark.spark,
    # py4j leaves the sockets of its callbacks to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


class Dies(Exception):
    """A process that ends."""


def test_letters_of_an_unknown_version_are_rows_once_it_is_registered(
    spark: SparkSession, lake: Path, broker: Broker
) -> None:
    topic, registry = Topic(broker), Registry()
    pipeline = parse_pipeline(declaration(topic, lake, extra="batchMaxRetries: 0"), environment={})
    options = RunOptions(registry=registry, once=True)
    late = [frame(3, {**record, "seats": 7, "gate": "A"}) for record in records(100, 20)]
    topic.send([*(frame(1, record) for record in records(0, 10)), *late, b"damaged"])
    assert run(pipeline, spark, options).dead == 21

    def again(*reasons: str, on_files: bool = False, **changed: object) -> ReplayReport:
        def dies(_files: Sequence[str]) -> None:
            if on_files:
                raise Dies

        selection = LetterSelection(location="s3://lk/dead", reasons=reasons, **changed)  # type: ignore[arg-type]
        return replay(pipeline, spark, replace(options, on_files=dies), selection)

    # Not fixed yet: they fail again, as letters of a second attempt.
    assert again("UNKNOWN_VERSION", limit=5) == ReplayReport(selected=5, rows=0, dead=5, completed=0)
    groups = {(group.reason, group.attempt): group.letters for group in LetterTable("s3://lk/dead", lake).groups()}
    assert groups == {("UNKNOWN_VERSION", 0): 20, ("UNKNOWN_VERSION", 1): 5, ("SHORT_FRAME", 0): 1}

    registry.numbers.append(3)
    # The replay dies when its files are in place; the next one completes it, and finds nothing to do.
    with pytest.raises(Dies):
        again("UNKNOWN_VERSION", on_files=True)
    assert again("UNKNOWN_VERSION") == ReplayReport(selected=0, rows=0, dead=0, completed=1)
    results = rows(lake)
    assert sorted(row["id"] for row in results) == [*range(10), *range(100, 120)]
    assert {(row["seats"], row["gate"]) for row in results if row["id"] >= 100} == {(7, "A")}
    assert again() == ReplayReport(selected=1, rows=0, dead=1, completed=0)


def test_a_replay_without_letters_says_so_and_one_that_fails_takes_nothing(
    spark: SparkSession, lake: Path, broker: Broker
) -> None:
    topic, registry = Topic(broker), Registry()
    pipeline = parse_pipeline(declaration(topic, lake, extra="batchMaxRetries: 0"), environment={})
    options = RunOptions(registry=registry, once=True)
    with pytest.raises(NotFound, match="no dead letters in s3://lk/dead"):
        replay(pipeline, spark, options, LetterSelection(location="s3://lk/dead"))
    topic.send([frame(3, {**record, "seats": 7, "gate": "A"}) for record in records(0, 4)])
    run(pipeline, spark, options)
    registry.away = True
    with pytest.raises(EnvironmentProblem, match="registry is away"):
        replay(pipeline, spark, options, LetterSelection(location="s3://lk/dead"))
    registry.away = False
    registry.numbers.append(3)
    assert replay(pipeline, spark, options, LetterSelection(location="s3://lk/dead")).rows == 4
    assert len(rows(lake)) == 4
