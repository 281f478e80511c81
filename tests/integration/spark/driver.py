"""A driver in a process of its own, for the kill tests: several pipelines in one Spark, each to its own point.

``python -m tests.integration.spark.driver FOLDER NAME[:POINT:BATCH]...``. The pipeline NAME is FOLDER/NAME.yaml, with its
metrics in NAME.jsonl. If there is a folder NAME.notes, the bucket NAME is on a disk that forgets
(:mod:`penstock.testing.powerloss`). Once every pipeline has reached its point, the process and its JVM are killed.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from penstock.cli.platform.fetch import spark_archive
from penstock.local.artefacts import class_path
from penstock.local.java import find_java
from penstock.pipelines import Pipeline, read_pipeline
from penstock.spark.commit.failpoints import Failpoint
from penstock.spark.running.many import PipelineOutcome, exit_code, run_together
from penstock.spark.running.options import RunOptions
from penstock.spark.running.runner import run_in_session, session_settings
from penstock.testing.powerloss import ForgetfulDisk
from tests.integration.spark.stream import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedDeath(Failpoint):
    """A point whose kill waits until every pipeline of the process has reached its own."""

    arrivals: threading.Barrier

    def hit(self, point: str, batch: int, jvm: int | None) -> None:
        if (point, batch) == (self.point, self.batch):
            self.arrivals.wait()
            self.arrivals.wait()  # for the pipeline that is watched, if one is: its kill is later than this
        Failpoint.hit(self, point, batch, jvm)

    @contextmanager
    def watch(self, point: str, batch: int, jvm: int | None, condition: Callable[[], bool]) -> Iterator[None]:
        if (point, batch) == (self.point, self.batch):
            self.arrivals.wait()
        with Failpoint.watch(self, point, batch, jvm, condition):
            yield


def main(folder: Path, names: list[str]) -> int:
    """Run the pipelines; return an exit code if the process outlives them."""
    points = {name: point for name, _, point in (text.partition(":") for text in names)}
    arrivals = threading.Barrier(max(1, sum(map(bool, points.values()))))

    def options(pipeline: Pipeline) -> RunOptions:
        point, _, batch = points[pipeline.name].partition(":")
        failpoint = SharedDeath(point=point, batch=int(batch), arrivals=arrivals) if point else Failpoint()
        return RunOptions(
            master="local[2]",
            jars=class_path("spark"),
            lake=folder / "lake",
            log=folder / "spark.log",
            metrics=folder / f"{pipeline.name}.jsonl",
            once=True,
            registry=Registry(),
            driver_memory="1g",
            archive=spark_archive(find_java(os.environ).home),
            failpoint=failpoint,
            jvm_restarts=0,
        )

    def on_end(outcome: PipelineOutcome) -> None:
        print(outcome, flush=True)
        arrivals.abort()  # the others need not wait for it

    pipelines = [read_pipeline(folder / f"{name}.yaml") for name in points]
    for pipeline in pipelines:
        if (notes := folder / f"{pipeline.name}.notes").is_dir():
            ForgetfulDisk(folder / "lake" / pipeline.name, notes / str(len(list(notes.iterdir())))).install()
    session = session_settings(options(pipelines[0]))
    return exit_code(run_together(pipelines, options, session, run_in_session, name="kills", on_end=on_end))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
