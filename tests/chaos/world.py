"""One pipeline with several sinks, its services, and the runs between faults."""

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import pyarrow.dataset as ds

from penstock.testing.server import RunningServer
from tests.chaos.faults import Fault, apply
from tests.chaos.records import encoded, expected
from tests.chaos.targets import Target
from tests.integration.spark.commands import register_flights, started
from tests.integration.spark.stream import Topic

__all__ = ["World"]

_RUN_SECONDS = 1_800
_CHUNK = 50_000


@dataclass
class World:
    """A topic of ``count`` records, and a pipeline from it to ``targets``, run by ``penstock run``."""

    server: RunningServer
    topic: Topic
    targets: Sequence[Target]
    folder: Path
    count: int
    per_batch: int
    services: Mapping[str, int]
    environment: Mapping[str, str] = field(default_factory=dict)
    say: Callable[[str], None] = print
    runs: int = 0

    def __post_init__(self) -> None:
        registry = f"chaos-{uuid4().hex[:8]}"
        versions = register_flights(self.server, registry, 2)
        (self.lake / "chaos").mkdir(parents=True, exist_ok=True)
        (self.folder / "pipeline.yaml").write_text(self._declaration(registry))
        for first in range(0, self.count, _CHUNK):
            self.topic.send(encoded(first, min(_CHUNK, self.count - first), versions))

    @property
    def lake(self) -> Path:
        return self.server.lake

    def _declaration(self, registry: str) -> str:
        broker = self.topic.broker
        sinks = "\n".join(f"  {target.name}: {target.section()}" for target in self.targets)
        return f"""
name: chaos
source:
  kafka:
    brokers: {broker.bootstrap}
    topic: {self.topic.name}
    security_protocol: SASL_PLAINTEXT
    username: {broker.username}
    password: {broker.password}
    maxOffsetsPerTrigger: {self.per_batch}
decode: {{registry: {registry}, schema: flights}}
transform: {{sql: "SELECT *, _partition AS p, _offset AS o FROM records"}}
sinks:
{sinks}
dead_letters: {{location: s3://chaos/dead}}
checkpoint: s3://chaos/checkpoint
batchMaxRetries: 20
"""

    def committed(self) -> int:
        """Return the number of the last committed batch, -1 without one."""
        numbers = [int(path.stem) for path in self.lake.glob("chaos/*/_penstock/chaos/ledger/*/*.committed")]
        return max(numbers, default=-1)

    def run(self, fault: Fault | None = None) -> int:
        """Run until the topic is read or the fault ends the run; return the exit status."""
        self.runs += 1
        environment = {**self.server.environment(), **self.environment}
        if fault is not None and fault.kind == "kill":
            environment["PENSTOCK_FAILPOINT"] = f"{fault.what}:{self.committed() + 1 + fault.after}"
        arguments = ["run", str(self.folder / "pipeline.yaml"), "--once", "--master", "local[2]", "--driver-memory", "1g"]
        arguments += ["--lake", str(self.lake), "--log", str(self.folder / "spark.log"), "--home", str(self.folder / "home")]
        before, began = self.committed(), time.monotonic()
        with started(arguments, environment, self.folder / f"run-{self.runs}") as command:
            outside = None
            if fault is not None and fault.kind != "kill":
                outside = threading.Thread(target=apply, args=(fault, command, self.services), daemon=True)
                outside.start()
            status = command.process.wait(_RUN_SECONDS)
            if outside is not None:
                outside.join(30)
            errors = command.err
        seconds = time.monotonic() - began
        self.say(
            f"run {self.runs}: {fault or 'no fault'}: exit {status}, batches {before} to {self.committed()}, {seconds:.0f} s"
        )
        assert "Traceback" not in errors, errors[-3000:]
        assert status in {0, -9} or fault is not None, errors[-3000:]
        return status

    def endure(self, faults: Sequence[Fault]) -> None:
        """Run through the faults, then to the end."""
        for fault in faults:
            self.run(fault)
        assert self.run() == 0

    def reconcile(self) -> dict[str, int]:
        """Compare every sink, the dead letters and the accounts with the topic; return repeated rows by sink."""
        rows, dead = expected(self.count)
        repeated = {}
        for target in self.targets:
            expecteds = target.rows()
            if target.exact:
                assert expecteds == rows, f"{target.name}: {_difference(expecteds, rows)}"
            else:
                assert sorted(set(expecteds), key=lambda row: row.id) == rows, target.name
            repeated[target.name] = len(expecteds) - len(rows)
        table = ds.dataset(self.lake / "chaos" / "dead", partitioning="hive").to_table(
            columns=["partition", "offset", "value"]
        )
        letters = [(row["partition"], row["offset"], row["value"]) for row in table.to_pylist()]
        assert len(letters) == len(dead)
        assert {(partition, offset): value for partition, offset, value in letters} == dead
        self._accounts(len(rows), len(dead))
        return repeated

    def _accounts(self, rows: int, dead: int) -> None:
        accounts = ds.dataset(self.lake / "chaos" / "chaos_accounts", partitioning="hive").to_table().to_pylist()
        for row in accounts:
            assert row["consumed"] == row["transformed"] + row["quarantined"] + row["tombstones"], row
        for target in self.targets:
            of_sink = [row for row in accounts if row["sink"] == target.name]
            assert len({row["batch_id"] for row in of_sink}) == len(of_sink)
            assert sum(row["consumed"] for row in of_sink) == self.count
            assert sum(row["quarantined"] for row in of_sink) == dead
            assert sum(row["received"] for row in of_sink) == rows
            assert sum(row["written"] for row in of_sink) == rows, target.name
            read = [
                json.loads(row["end_offsets"])[self.topic.name] for row in of_sink if row["batch_id"] == self.committed()
            ]
            assert read == [{"0": (self.count + 1) // 2, "1": self.count // 2}]


def _difference(found: Sequence[object], wanted: Sequence[object]) -> str:
    missing, extra = set(wanted) - set(found), set(found) - set(wanted)
    doubled = len(found) - len(set(found))
    return f"{len(missing)} missing, {len(extra)} wrong, {doubled} doubled; e.g. {[*missing][:2]} {[*extra][:2]}"
