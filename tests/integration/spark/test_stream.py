"""Broker to Parquet through real Spark: versions, damage, zlib, replays, drift, and one read a batch."""

import json
import shutil
import stat
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from penstock.errors import DataProblem, EnvironmentProblem, InvalidInput, NotFound
from penstock.local.broker import Broker
from penstock.pipelines import parse_pipeline
from penstock.schema.version import SchemaVersion
from penstock.spark.commit.drift import DriftStop
from penstock.spark.metrics import BatchMetrics
from penstock.spark.running.runner import RunOptions, RunReport, run
from tests.integration.spark.stream import Registry, Topic, declaration, frame, records, rows, version

pytestmark = [
    pytest.mark.spark,
    # py4j leaves the sockets of its callbacks to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def topic(broker: Broker) -> Topic:
    return Topic(broker)


class Job:
    """Runs of one pipeline over one topic, each reading what is there."""

    def __init__(self, spark: SparkSession, lake: Path, topic: Topic) -> None:
        self.spark, self.lake, self.topic = spark, lake, topic
        self.registry = Registry()
        self.batches: list[BatchMetrics] = []

    def run(self, *, resume: bool = False, retries: int = 0, **declared: object) -> RunReport:
        extra = f"batchMaxRetries: {retries}\n{declared.pop('extra', '')}"
        text = declaration(self.topic, self.lake, extra=extra, **declared)  # type: ignore[arg-type]
        options = RunOptions(registry=self.registry, once=True, on_batch=self.batches.append, resume_from_ledger=resume)
        return run(parse_pipeline(text, environment={}), self.spark, options)

    def checkpoint(self, name: str) -> Path:
        return self.lake / "lk" / "checkpoint" / name


@pytest.fixture
def job(spark: SparkSession, lake: Path, topic: Topic) -> Job:
    return Job(spark, lake, topic)


def ids(lake: Path) -> list[int]:
    return sorted(row["id"] for row in rows(lake))


def test_mixed_versions_in_one_batch_are_read_once(job: Job) -> None:
    job.topic.send(
        frame(1, record) if record["id"] % 2 else frame(2, {**record, "seats": record["id"]}) for record in records(0, 500)
    )
    report = job.run()
    assert (report.batches, report.rows, report.dead) == (1, 500, 0)
    for row in rows(job.lake):
        assert row["seats"] == (None if row["id"] % 2 else row["id"])
    assert ids(job.lake) == list(range(500))
    assert job.batches[0].versions == {"1": 250, "2": 250}
    assert job.batches[0].passes == 1
    assert report.read == 500


def test_damaged_records_go_to_the_dead_letters_and_nothing_else_does(job: Job) -> None:
    good = frame(1, {"id": 1, "day": "d"})
    damaged = {
        "SHORT_FRAME": good[:10],
        "WRONG_HEADER": b"\x04" + good[1:],
        "WRONG_COMPRESSION": good[:1] + b"\x01" + good[2:],
        "UNKNOWN_VERSION": good[:2] + uuid4().bytes + good[18:],
        "UNDECODABLE": good[:-1],
        "TRAILING_BYTES": good + b"\x00",
    }
    job.topic.send([*damaged.values(), None, b"", good])
    report = job.run()
    assert (report.rows, report.dead) == (1, 7)
    dead = rows(job.lake, "dead")
    by_value = {row["value"]: row for row in dead}
    for reason, value in damaged.items():
        assert by_value[value]["reason"] == reason
        assert by_value[value]["topic"] == job.topic.name
        assert by_value[value]["message"]
    assert by_value[b""]["reason"] == "SHORT_FRAME"
    assert by_value[damaged["UNDECODABLE"]]["schema_version_id"] == str(version(1).id)
    assert by_value[damaged["SHORT_FRAME"]]["schema_version_id"] is None
    assert {(row["partition"], row["offset"]) for row in dead} == {(n % 2, n // 2) for n in (0, 1, 2, 3, 4, 5, 7)}
    assert job.batches[0].tombstones == 1
    assert job.batches[0].passes == 2
    assert job.batches[0].reasons == {**dict.fromkeys(damaged, 1), "SHORT_FRAME": 2, "TOMBSTONE": 1}
    assert report.read > 9  # what tells test_mixed_versions that its count can tell readings apart


def test_tombstones_are_dead_letters_where_declared(job: Job) -> None:
    job.topic.send([None, frame(1, {"id": 1, "day": "d"})])
    text = declaration(job.topic, job.lake).replace("schema: flights}", "schema: flights, tombstones: dead-letter}")
    run(parse_pipeline(text, environment={}), job.spark, RunOptions(registry=job.registry, once=True))
    assert [row["reason"] for row in rows(job.lake, "dead")] == ["TOMBSTONE"]


def test_zlib_and_plain_frames_mix(job: Job) -> None:
    broken = frame(1, {"id": 9, "day": "d"}, compress=True)[:-3]
    job.topic.send([*(frame(1, record, compress=record["id"] % 2 == 0) for record in records(0, 100)), broken])
    report = job.run()
    assert ids(job.lake) == list(range(100))
    assert report.dead == 1
    assert rows(job.lake, "dead")[0]["value"] == broken


def test_a_version_registered_between_batches_widens_the_table(job: Job) -> None:
    job.registry.numbers = [1]
    job.topic.send(frame(1, record) for record in records(0, 10))
    job.run()
    job.registry.numbers = [1, 2, 3]
    job.topic.send(frame(3, {**record, "seats": 7, "gate": "A1"}) for record in records(10, 10))
    job.topic.send(frame(1, record) for record in records(20, 10))
    job.run()
    seen = {row["id"]: (row["seats"], row["gate"]) for row in rows(job.lake)}
    assert sorted(seen) == list(range(30))
    assert all(seen[number] == (7, "A1") for number in range(10, 20))
    assert all(seen[number] == (None, None) for number in (*range(10), *range(20, 30)))
    assert job.batches[-1].dead == 0


def test_a_version_registered_after_the_list_was_made_is_looked_up(job: Job) -> None:
    job.registry.listed_late = [3]
    job.topic.send(frame(3, {**record, "seats": 1, "gate": "B"}) for record in records(0, 10))
    report = job.run()
    assert (report.rows, report.dead) == (10, 0)
    assert {row["gate"] for row in rows(job.lake)} == {"B"}


def test_more_versions_than_branches_are_decoded_in_passes(job: Job) -> None:
    job.registry.numbers = [1, 2, 3]
    job.topic.send(
        frame(1 + record["id"] % 3, {**record, "seats": 1, "gate": "B"} if record["id"] % 3 else record)
        for record in records(0, 30)
    )
    text = declaration(job.topic, job.lake).replace("schema: flights}", "schema: flights, max_branches: 1}")
    report = run(parse_pipeline(text, environment={}), job.spark, RunOptions(registry=job.registry, once=True))
    assert (report.rows, report.dead) == (30, 0)
    assert ids(job.lake) == list(range(30))


def test_an_outage_of_the_registry_fails_the_batch_and_dead_letters_nothing(job: Job) -> None:
    job.topic.send(frame(1, record) for record in records(0, 5))
    job.registry.away = True
    with pytest.raises(EnvironmentProblem, match="away"):
        job.run()
    assert rows(job.lake) == []
    job.registry.away = False
    assert job.run().rows == 5
    assert rows(job.lake, "dead") == []


def test_an_unknown_schema_is_an_error_before_the_first_record(job: Job) -> None:
    def unknown(*_: object, **__: object) -> list[SchemaVersion]:
        raise NotFound("Schema is not found.")

    job.registry.versions = unknown  # type: ignore[method-assign]
    with pytest.raises(NotFound, match="Schema is not found"):
        job.run()


def test_a_replay_after_losing_sparks_commit_changes_nothing(job: Job) -> None:
    job.topic.send(frame(1, record) for record in records(0, 40))
    job.run(per_trigger=20)
    files = {path: path.stat().st_mtime_ns for path in (job.lake / "lk" / "flights").rglob("*.parquet")}
    last = max(int(path.name) for path in job.checkpoint("commits").iterdir())
    job.checkpoint(f"commits/{last}").unlink()
    job.topic.send(frame(1, record) for record in records(40, 5))
    job.run(per_trigger=20)
    assert ids(job.lake) == list(range(45))
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in files.items())


def test_a_lost_checkpoint_is_refused_and_the_ledger_can_go_on(job: Job) -> None:
    job.topic.send(frame(1, record) for record in records(0, 10))
    job.run()
    shutil.rmtree(job.checkpoint(""))
    with pytest.raises(DataProblem, match=r"checkpoint/metadata is missing.*--resume-from-ledger"):
        job.run()
    job.topic.send(frame(1, record) for record in records(10, 10))
    job.run(resume=True)
    assert ids(job.lake) == list(range(20))
    job.run()
    assert ids(job.lake) == list(range(20))


def test_an_older_checkpoint_is_refused(job: Job) -> None:
    job.topic.send(frame(1, record) for record in records(0, 10))
    job.run(per_trigger=5)
    last = max(int(path.name) for path in job.checkpoint("offsets").iterdir())
    job.checkpoint(f"commits/{last}").unlink()
    job.checkpoint(f"offsets/{last}").unlink()
    with pytest.raises(DataProblem, match=rf"offsets/{last} is missing"):
        job.run()


def test_a_damaged_checkpoint_file_is_named(job: Job) -> None:
    job.topic.send(frame(1, record) for record in records(0, 4))
    job.run()
    job.checkpoint("offsets/0").write_bytes(b"")
    with pytest.raises(DataProblem, match=r"offsets/0 is damaged: it is empty"):
        job.run()


def test_the_lake_holds_data_and_hidden_folders_only(job: Job) -> None:
    job.topic.send([*(frame(1, record) for record in records(0, 10)), b"bad"])
    job.run()
    names = [path.name for path in (job.lake / "lk").rglob("*") if path.is_file() and "checkpoint" not in path.parts]
    assert not [name for name in names if name.endswith(".crc") or name == "_SUCCESS"]
    assert not list((job.lake / "lk").glob("*/_penstock/*/staging/*"))
    data = list((job.lake / "lk" / "flights").rglob("*.parquet"))
    assert len(data) == 3  # one a partition, because the batch is small
    # Whatever the mask of the process that started Spark: this one's is not 077.
    assert {stat.S_IMODE(path.stat().st_mode) for path in data} == {0o600}
    assert {stat.S_IMODE(path.parent.stat().st_mode) for path in data} == {0o700}


def test_a_pinned_reader_stops_at_a_field_it_would_lose(job: Job) -> None:
    job.topic.send([frame(2, {"id": 1, "day": "d", "seats": 3})])
    pinned = declaration(job.topic, job.lake).replace("schema: flights}", "schema: flights, reader: 1}")
    with pytest.raises(DriftStop, match=r"offsets .* field .seats. of schema version 2 "):
        run(parse_pipeline(pinned, environment={}), job.spark, RunOptions(registry=job.registry, once=True))
    assert rows(job.lake) == []
    warned = pinned + "drift: {on_missing_field: warn}\n"
    report = run(
        parse_pipeline(warned, environment={}),
        job.spark,
        RunOptions(registry=job.registry, once=True, on_batch=job.batches.append),
    )
    assert report.rows == 1
    assert "seats" in job.batches[0].warnings[0]


def test_drift_sees_a_version_none_of_whose_records_can_be_read(job: Job) -> None:
    job.topic.send([frame(2, {"id": 1, "day": "d", "seats": 3})[:-2], frame(1, {"id": 2, "day": "d"})])
    pinned = declaration(job.topic, job.lake).replace("schema: flights}", "schema: flights, reader: 1}")
    with pytest.raises(DriftStop, match=r"field .seats. of schema version 2 "):
        run(parse_pipeline(pinned, environment={}), job.spark, RunOptions(registry=job.registry, once=True))
    assert rows(job.lake) == rows(job.lake, "dead") == []


@pytest.mark.parametrize("day", ["data loss", "TimeoutException"])
def test_a_record_that_the_transform_cannot_cast_is_an_error_with_sparks_sqlstate(
    job: Job, day: str, caplog: pytest.LogCaptureFixture
) -> None:
    job.topic.send([frame(1, {"id": 1, "day": day})])
    with pytest.raises(DataProblem, match=rf"cannot be transformed: \[CAST_INVALID_INPUT\] The value '{day}'"):
        job.run(retries=1, transform="transform: {columns: {number: CAST(day AS INT)}}")
    assert rows(job.lake) == []
    assert not [record for record in caplog.records if record.name.startswith("penstock.")], (
        "the same records would fail again"
    )


def test_a_transform_that_is_not_sql_is_an_error(job: Job) -> None:
    job.topic.send([frame(1, {"id": 1, "day": "d"})])
    with pytest.raises(InvalidInput, match=r"The transform of pipeline flights is wrong: \[PARSE_SYNTAX_ERROR\]"):
        job.run(transform="transform: {sql: SELEC day FROM records}")


def test_a_jump_of_nulls_stops_the_batch(job: Job) -> None:
    drift = "drift: {on_null_jump: fail, threshold: 0.5, min_rows: 20}"
    job.topic.send(frame(2, {**record, "seats": 3}) for record in records(0, 30))
    job.run(extra=drift)
    job.topic.send(frame(2, {**record, "seats": None}) for record in records(30, 30))
    with pytest.raises(DriftStop, match=r"column 'seats' is null in 100.0% of 30 rows, after 0.0% of 30"):
        job.run(extra=drift)
    assert ids(job.lake) == list(range(30))


@pytest.mark.parametrize("strict", [True, False])
def test_records_that_are_gone_fail_the_stream_or_are_counted(job: Job, strict: bool) -> None:
    job.topic.send(frame(1, record) for record in records(0, 10))
    job.run()
    job.topic.send(frame(1, record) for record in records(10, 10))
    job.topic.delete_before(0, 8)  # partition 0 has been read up to offset 5
    text = declaration(job.topic, job.lake).replace("    username:", f"    failOnDataLoss: {strict}\n    username:")
    options = RunOptions(registry=job.registry, once=True, on_batch=job.batches.append)
    if strict:
        with pytest.raises(DataProblem, match=rf"Records of topic {job.topic.name} .* are gone") as caught:
            run(parse_pipeline(text, environment={}), job.spark, options)
        assert "failOnDataLoss: false" in str(caught.value)
        assert ids(job.lake) == list(range(10))
    else:
        assert run(parse_pipeline(text, environment={}), job.spark, options).rows == 7
        assert [warning.split(" ")[0] for warning in job.batches[-1].warnings] == ["3"]
        assert ids(job.lake) == [number for number in range(20) if number not in {10, 12, 14}]


def test_metrics_are_one_json_line_a_batch(job: Job, tmp_path: Path) -> None:
    job.topic.send(frame(1, record) for record in records(0, 10))
    text = declaration(job.topic, job.lake, per_trigger=4)
    path = tmp_path / "metrics" / "flights.jsonl"
    run(parse_pipeline(text, environment={}), job.spark, RunOptions(registry=job.registry, once=True, metrics=path))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert sum(line["rows"] for line in lines) == 10
    assert [line["batch"] for line in lines] == list(range(len(lines)))
    assert all(line["seconds"]["stage"] > 0 and line["max_latency_seconds"] > 0 for line in lines)


def test_wrong_credentials_are_one_clear_error(job: Job) -> None:
    job.topic.send([frame(1, {"id": 1, "day": "d"})])
    text = declaration(job.topic, job.lake).replace(f"password: {job.topic.broker.password}", "password: wrong")
    from penstock.errors import AccessDenied

    with pytest.raises(AccessDenied, match="refused the credentials") as caught:
        run(parse_pipeline(text, environment={}), job.spark, RunOptions(registry=job.registry, once=True))
    assert "\n" not in str(caught.value)
