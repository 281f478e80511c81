"""SIGKILL of the driver and its JVM at each point of a batch, a restart after each, and exact reconciliation each time."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from penstock.local.broker import Broker
from penstock.spark.commit.failpoints import POINTS
from penstock.testing.powerloss import after_power_loss
from tests.integration.spark.stream import Topic, declaration, frame, rows

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.spark

# Those of a pipeline with one table of files, and no state.
_POINTS = tuple(point for point in POINTS if point not in {"after-stage-files", "after-state", "mid-sinks", "after-sinks"})
_PER_BATCH = 30
_BATCHES = len(_POINTS) + 1
_PUBLISHED = {"mid-publish", "after-publish", "after-accounts", "after-catalog", "after-commit"}


class Killed:
    """A pipeline over a topic whose records tell their partition and offset."""

    def __init__(self, broker: Broker, folder: Path, *, forgetful: bool = False) -> None:
        self.forgetful = forgetful
        self.runs = 0
        self.folder = folder
        self.lake = folder / "lake"
        self.topic = Topic(broker)
        self.pipeline = folder / "pipeline.yaml"
        self.pipeline.write_text(declaration(self.topic, self.lake, per_trigger=_PER_BATCH))
        self.topic.send(self.value(number) for number in range(_PER_BATCH * _BATCHES))

    @staticmethod
    def value(number: int) -> bytes:
        if number % 10 == 9:
            return b"damaged %d" % number
        record = {"id": number, "day": f"2013-01-0{1 + number % 3}"}
        return frame(1, record) if number % 2 else frame(2, {**record, "seats": number})

    def run(self, failpoint: str | None, *, names_written: bool = False) -> int:
        """Run until it is done or dead; the exit status. Then the power is lost where the disk forgets: see its module."""
        environment = {**os.environ, "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1", "PYTHONPATH": str(ROOT)}
        if failpoint is not None:
            environment["PENSTOCK_FAILPOINT"] = failpoint
        output = self.folder / "driver.out"
        paths = [self.pipeline, self.lake, self.folder / "spark.log", self.folder / "metrics.jsonl"]
        self.runs += 1
        notes = self.folder / f"notes-{self.runs}"
        if self.forgetful:
            paths.append(notes)
        with output.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.integration.spark.driver", *map(str, paths)],
                env=environment,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
            try:
                status = process.wait(240)
            finally:
                _end_group(process.pid)
        assert status in {0, -signal.SIGKILL}, output.read_text()[-3000:]
        if self.forgetful:
            # Also after a run that ended well: what it reports is on the disk.
            left = self.lake.rename(self.folder / "left")
            after_power_loss(notes, self.lake, names_of=left if names_written else None)
            shutil.rmtree(left)
        return status

    def committed(self) -> dict[int, dict[str, Any]]:
        """Committed batches of the ledger."""
        ledger = self.lake / "lk" / "flights" / "_penstock" / "flights" / "ledger"
        return {int(path.stem): json.loads(path.read_bytes()) for path in ledger.glob("*/*.committed")}

    def reconcile(self, through: int) -> None:
        """Rows and dead letters of the batches up to ``through`` are the topic's records, each once, each field equal."""
        assert sorted(self.committed()) == list(range(through + 1))
        end = json.loads(self.committed()[through]["batch"]["end"])[self.topic.name] if through >= 0 else {"0": 0, "1": 0}
        expected = [number for number in range(_PER_BATCH * _BATCHES) if number // 2 < int(end[str(number % 2)])]
        files = self.files(through)
        results = {(row["p"], row["o"]): row for row in rows(self.lake, "flights", files)}
        dead = {(row["partition"], row["offset"]): row["value"] for row in rows(self.lake, "dead", files)}
        assert len(results) == len(rows(self.lake, "flights", files))
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
        names = {path.name for path in (self.lake / "lk").rglob("part-*") if "_penstock" not in path.parts}
        return {name for name in names if int(name.split("-")[2]) <= through}


def _end_group(group: int) -> None:
    """End what the driver left: its JVM notices by itself, this only makes sure of it and waits."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            return
        time.sleep(0.05)


def test_a_kill_at_any_point_loses_and_doubles_nothing(broker: Broker, tmp_path: Path) -> None:
    stream = Killed(broker, tmp_path)
    for batch, point in enumerate(_POINTS):
        # Each run is the restart after the kill before it: it replays that batch, commits it, and dies in the next.
        assert stream.run(f"{point}:{batch}") == -signal.SIGKILL, point
        published = [name for name in stream.files(batch) if int(name.split("-")[2]) == batch]
        assert bool(published) == (point in _PUBLISHED), point
        stream.reconcile(batch if point == "after-commit" else batch - 1)
    assert stream.run(None) == 0
    last = max(stream.committed())
    stream.reconcile(last)
    assert len(stream.committed()) >= _BATCHES
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    committed = {line["batch"]: line["rows"] + line["dead"] for line in lines if line["outcome"] == "committed"}
    assert sum(committed.values()) == _PER_BATCH * _BATCHES
    assert not list((stream.lake / "lk").glob("*/_penstock/*/staging/*"))


def test_a_power_loss_takes_back_no_committed_batch(broker: Broker, tmp_path: Path) -> None:
    """The lake, ledger and checkpoint are what was synced: at the points where more is written than was."""
    stream = Killed(broker, tmp_path, forgetful=True)
    for batch, point in enumerate(("after-stage", "after-prepare", "mid-publish", "after-commit")):
        # Where files are about to be renamed, names that are there with nothing in them are the worse.
        written = point in {"after-stage", "mid-publish"}
        assert stream.run(f"{point}:{batch}", names_written=written) == -signal.SIGKILL, point
        stream.reconcile(batch if point == "after-commit" else batch - 1)
    assert stream.run(None) == 0
    last = max(stream.committed())
    stream.reconcile(last)
    half = _PER_BATCH * _BATCHES // 2
    assert json.loads(stream.committed()[last]["batch"]["end"])[stream.topic.name] == {"0": half, "1": half}
