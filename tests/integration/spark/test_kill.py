"""SIGKILL of the driver and its JVM at each point of a batch, a restart after each, and exact reconciliation each time."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from penstock.local.broker import Broker
from penstock.retries import wait_until
from penstock.spark.commit.failpoints import POINTS
from penstock.testing.powerloss import after_power_loss
from tests.integration.spark.stream import Topic, declaration, frame, rows

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.spark

# Those of a pipeline with one table of files, and no state.
_POINTS = tuple(point for point in POINTS if point not in {"after-stage-files", "after-state", "mid-sinks", "after-sinks"})
_HALF = (len(_POINTS) + 1) // 2
_PER_BATCH = 30
_BATCHES = 3
_PUBLISHED = {"mid-publish", "after-publish", "after-accounts", "after-catalog", "after-commit"}


class Victim:
    """A pipeline with a bucket of its own, over a topic whose records tell their partition and offset."""

    def __init__(self, broker: Broker, folder: Path, name: str, *, forgetful: bool = False) -> None:
        self.name = name
        self.folder = folder
        self.lake = folder / "lake"
        self.bucket = self.lake / name
        self.topic = Topic(broker)
        text = declaration(self.topic, self.lake, per_trigger=_PER_BATCH, name=name, bucket=name)
        (folder / f"{name}.yaml").write_text(text)
        if forgetful:
            (folder / f"{name}.notes").mkdir()
        self.topic.send(self.value(number) for number in range(_PER_BATCH * _BATCHES))

    @staticmethod
    def value(number: int) -> bytes:
        if number % 10 == 9:
            return b"damaged %d" % number
        record = {"id": number, "day": f"2013-01-0{1 + number % 3}"}
        return frame(1, record) if number % 2 else frame(2, {**record, "seats": number})

    def lose_power(self, *, names_written: bool = False) -> None:
        """Leave of the bucket what was synced in the last run; with ``names_written``, all names: see the disk's module."""
        notes = max((self.folder / f"{self.name}.notes").iterdir(), key=lambda path: int(path.name))
        left = self.bucket.rename(self.folder / "left")
        after_power_loss(notes, self.bucket, names_of=left if names_written else None)
        shutil.rmtree(left)

    def committed(self) -> dict[int, dict[str, Any]]:
        """Committed batches of the ledger."""
        ledger = self.bucket / "flights" / "_penstock" / self.name / "ledger"
        return {int(path.stem): json.loads(path.read_bytes()) for path in ledger.glob("*/*.committed")}

    def reconcile(self, through: int) -> None:
        """Rows and dead letters of the batches up to ``through`` are the topic's records, each once, each field equal."""
        assert sorted(self.committed()) == list(range(through + 1))
        end = json.loads(self.committed()[through]["batch"]["end"])[self.topic.name] if through >= 0 else {"0": 0, "1": 0}
        expected = [number for number in range(_PER_BATCH * _BATCHES) if number // 2 < int(end[str(number % 2)])]
        files = self.files(through)
        results = {(row["p"], row["o"]): row for row in rows(self.lake, "flights", files, bucket=self.name)}
        dead = {(row["partition"], row["offset"]): row["value"] for row in rows(self.lake, "dead", files, bucket=self.name)}
        assert len(results) == len(rows(self.lake, "flights", files, bucket=self.name))
        assert len(results) + len(dead) == len(expected)
        for number in expected:
            where = (number % 2, number // 2)
            if number % 10 == 9:
                assert dead[where] == self.value(number)
            else:
                row = results[where]
                assert (row["id"], row["day"]) == (number, f"2013-01-0{1 + number % 3}")
                assert row["seats"] == (None if number % 2 else number)

    def files(self, through: int) -> set[str]:
        """Names of the data files of batches up to ``through``, and no later one is there."""
        names = {path.name for path in self.bucket.rglob("part-*") if "_penstock" not in path.parts}
        return {name for name in names if int(name.split("-")[2]) <= through}

    def reconcile_all(self) -> None:
        """Every record of the topic was committed."""
        last = max(self.committed())
        self.reconcile(last)
        half = _PER_BATCH * _BATCHES // 2
        assert json.loads(self.committed()[last]["batch"]["end"])[self.topic.name] == {"0": half, "1": half}


def run(folder: Path, victims: Mapping[str, str]) -> int:
    """Run the pipelines in one Spark, each to its point (or to its end), until all are done or dead; the exit status."""
    environment = {**os.environ, "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1", "PYTHONPATH": str(ROOT)}
    output = folder / "driver.out"
    names = [f"{name}:{point}" if point else name for name, point in victims.items()]
    with output.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.integration.spark.driver", str(folder), *names],
            env=environment,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
        try:
            status = process.wait(600)
        finally:
            _end_group(process.pid)
    assert status in {0, -signal.SIGKILL}, output.read_text()[-3000:]
    return status


def _end_group(group: int) -> None:
    """End what the driver left: its JVM notices by itself, this only makes sure of it and waits."""

    def gone() -> bool:
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            return True
        return False

    wait_until(gone, seconds=240)


def kill(folder: Path, victims: Iterable[Victim], points: Iterable[str], batch: int) -> None:
    """Kill all pipelines at once, each at its own point of ``batch``."""
    at = {victim.name: f"{point}:{batch}" for victim, point in zip(victims, points, strict=True)}
    assert run(folder, at) == -signal.SIGKILL, at


def test_a_kill_at_any_point_loses_and_doubles_nothing(broker: Broker, tmp_path: Path) -> None:
    """Pipelines of one Spark die at once, each at a point; and again at another one, in the batch after the replay."""
    victims = [Victim(broker, tmp_path, f"at{number}") for number in range(_HALF)]
    # One that is left over dies at the first point both times.
    for batch, points in enumerate((_POINTS[:_HALF], (*_POINTS[_HALF:], _POINTS[0])[:_HALF])):
        kill(tmp_path, victims, points, batch)
        for victim, point in zip(victims, points, strict=True):
            published = [name for name in victim.files(batch) if int(name.split("-")[2]) == batch]
            assert bool(published) == (point in _PUBLISHED), point
            victim.reconcile(batch if point == "after-commit" else batch - 1)
    assert run(tmp_path, {victim.name: "" for victim in victims}) == 0
    for victim in victims:
        victim.reconcile_all()
        lines = [json.loads(line) for line in (tmp_path / f"{victim.name}.jsonl").read_text().splitlines()]
        committed = {line["batch"]: line["rows"] + line["dead"] for line in lines if line["outcome"] == "committed"}
        assert sum(committed.values()) == _PER_BATCH * _BATCHES
        assert not list(victim.bucket.glob("*/_penstock/*/staging/*"))


def test_a_power_loss_takes_back_no_committed_batch(broker: Broker, tmp_path: Path) -> None:
    """The lake, ledger and checkpoint are what was synced: at the points where more is written than was."""
    points = ("after-stage", "after-prepare", "mid-publish", "after-commit")
    victims = [Victim(broker, tmp_path, f"on-{point}", forgetful=True) for point in points]
    kill(tmp_path, victims, points, 1)
    for victim, point in zip(victims, points, strict=True):
        # Where files are about to be renamed, names that are there with nothing in them are the worse.
        victim.lose_power(names_written=point in {"after-stage", "mid-publish"})
        victim.reconcile(1 if point == "after-commit" else 0)
    assert run(tmp_path, {victim.name: "" for victim in victims}) == 0
    for victim in victims:
        victim.lose_power()  # also what a run that ended well reports is on the disk
        victim.reconcile_all()
