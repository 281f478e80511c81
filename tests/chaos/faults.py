"""The faults, and schedules of them from a seed."""

import random
import signal
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import psutil

from penstock.spark.commit.failpoints import POINTS
from tests.integration.spark.commands import Command

__all__ = ["Fault", "apply", "one_of_each", "schedule"]

Kind = Literal["kill", "kill-jvm", "pause", "stop"]


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of one run.

    ``kill``: SIGKILL of driver and JVM at ``what``, a point of the commit, in the batch ``after`` more batches.
    ``kill-jvm``: SIGKILL of the JVM ``seconds`` after batch ``after`` more was committed. ``pause``: the service ``what``
    (broker, registry, a store) stops answering for ``seconds``. ``stop``: SIGTERM.
    """

    kind: Kind
    what: str = ""
    after: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.kind} {self.what} after {self.after} batches, {self.seconds:.2f} s".replace("  ", " ")


def schedule(seed: int, count: int, services: Sequence[str], points: Sequence[str] = POINTS) -> list[Fault]:
    """Return ``count`` faults: each point of the commit in turn, in an order from the seed, and others between them."""
    chance = random.Random(seed)
    order: list[str] = []
    faults: list[Fault] = []
    while len(faults) < count:
        if not order:
            order = list(points)
            chance.shuffle(order)
        faults.append(Fault("kill", order.pop(), chance.randrange(2)))
        other: Kind = chance.choice(("kill-jvm", "pause", "stop"))
        faults.append(_from_outside(other, chance, services))
    return faults[:count]


def one_of_each(seed: int, services: Sequence[str]) -> list[Fault]:
    """Return a fault of each kind, in an order from the seed, but kills first: they take the fewest batches.

    The kills are between and after the sinks, where only a pipeline with several sinks has points: the others are those of
    ``tests/integration/spark/test_kill.py``.
    """
    chance = random.Random(seed)
    kills = [Fault("kill", point, chance.randrange(2)) for point in ("mid-sinks", "after-sinks")]
    others: Sequence[Kind] = ("kill-jvm", "pause", "stop")
    from_outside = [_from_outside(kind, chance, services) for kind in others]
    chance.shuffle(kills)
    chance.shuffle(from_outside)
    return [*kills, *from_outside]


def _from_outside(kind: Kind, chance: random.Random, services: Sequence[str]) -> Fault:
    if kind == "pause":
        return Fault(kind, chance.choice(list(services)), chance.randrange(2), chance.uniform(0.5, 4.0))
    return Fault(kind, "", chance.randrange(2), chance.uniform(0.0, 1.5))


def apply(fault: Fault, command: Command, services: Mapping[str, int]) -> None:
    """Apply a fault that comes from outside, then stop the run a batch later, so that faults are left for the others.

    ``services`` maps their names to ports. Does nothing if the run ended before.
    """
    if not _wait_for_batches(command, fault.after + 1):
        return
    if fault.kind == "pause":
        process = _listener(services[fault.what])
        process.suspend()
        try:
            threading.Event().wait(fault.seconds)
        finally:
            process.resume()
    else:
        threading.Event().wait(fault.seconds)
        if fault.kind == "kill-jvm" and command.process.poll() is None:
            for child in psutil.Process(command.process.pid).children():
                if child.name() == "java":
                    child.kill()
    committed = len(command.lines("committed:"))
    if fault.kind == "stop" or _wait_for_batches(command, committed + 1):
        command.process.send_signal(signal.SIGTERM)


def _wait_for_batches(command: Command, count: int) -> bool:
    """Wait until the run has committed ``count`` batches; return whether it still runs."""
    while command.process.poll() is None:
        if len(command.lines("committed:")) >= count:
            return True
        threading.Event().wait(0.05)
    return False


def _listener(port: int) -> psutil.Process:
    for net_connection in psutil.net_connections("tcp"):
        listens = net_connection.status == psutil.CONN_LISTEN and getattr(net_connection.laddr, "port", None) == port
        if listens and net_connection.pid is not None:
            return psutil.Process(net_connection.pid)
    raise LookupError(f"nothing listens on port {port}")
