"""Runs services together: started in dependency order, restarted when they crash, ended in reverse."""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path

from penstock.errors import EnvironmentProblem
from penstock.local.child import Child, Service

__all__ = ["RestartPolicy", "ServiceState", "Supervisor"]

_WATCH_PAUSE = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartPolicy:
    """How often a crashed service is started again before the platform gives up.

    ``limit`` restarts within ``window`` seconds; the first after ``pause`` seconds, each further one after twice as long.
    """

    limit: int = 3
    window: float = 300
    pause: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceState:
    """What a supervisor knows about one service; ``start_seconds`` is the time from start to ready."""

    name: str
    title: str
    ready: bool
    pid: int | None
    restarts: int
    start_seconds: float | None


class _Member:
    """One supervised service."""

    def __init__(self, service: Service, log: Path) -> None:
        self.service = service
        self.child = Child(service, log)
        self.ready = False
        self.start_seconds: float | None = None
        self.restarted_at: list[float] = []

    def state(self) -> ServiceState:
        return ServiceState(
            name=self.service.name,
            title=self.service.title,
            ready=self.ready and self.child.running,
            pid=self.child.leash_pid if self.child.running else None,
            restarts=len(self.restarted_at),
            start_seconds=self.start_seconds,
        )


class Supervisor:
    """Runs ``services`` with their logs in the folder ``logs``.

    ``changed`` is called, from any thread, whenever a service became ready, ended or was restarted; ``say`` gets one
    line for people about it.
    """

    def __init__(
        self,
        services: Sequence[Service],
        logs: Path,
        *,
        policy: RestartPolicy | None = None,
        changed: Callable[[], None] = lambda: None,
        say: Callable[[str], None] = lambda _text: None,
    ) -> None:
        self._members = {service.name: _Member(service, logs / f"{service.name}.log") for service in services}
        self._policy = policy or RestartPolicy()
        self._changed = changed
        self._say = say
        self._stopping = threading.Event()

    @property
    def states(self) -> list[ServiceState]:
        """The services in the order given."""
        return [member.state() for member in self._members.values()]

    def start(self) -> None:
        """Start everything and return when all are ready.

        Raises the :class:`EnvironmentProblem` of the first service that does not come up, with all others stopped.
        """
        graph = {name: set(member.service.after) & set(self._members) for name, member in self._members.items()}
        order = TopologicalSorter(graph)
        order.prepare()
        try:
            with ThreadPoolExecutor(len(graph) or 1, thread_name_prefix="start") as executor:
                self._start_in(order, executor)
        except BaseException:
            self.stop()
            raise

    def run(self) -> None:
        """Watch the services until :meth:`request_stop`; restart what crashes.

        Raises :class:`EnvironmentProblem` with the log's last lines when a service crashes once too often. The caller
        then stops the rest.
        """
        while not self._stopping.wait(_WATCH_PAUSE):
            for member in self._members.values():
                if not member.child.running and not self._stopping.is_set():
                    self._restart(member)

    def request_stop(self) -> None:
        """Make :meth:`run` return and waits for readiness end; safe in a signal handler."""
        self._stopping.set()

    def stop(self) -> None:
        """End the services, dependents first; returns when all have ended."""
        self._stopping.set()
        waves = self._waves()
        for wave in reversed(waves):
            for member in wave:
                member.child.stop(wait=False)
            for member in wave:
                member.child.stop()
                member.ready = False
        self._changed()

    def _start_in(self, order: "TopologicalSorter[str]", executor: ThreadPoolExecutor) -> None:
        running: dict[Future[None], str] = {}
        try:
            while order.is_active() and not self._stopping.is_set():
                for name in order.get_ready():
                    running[executor.submit(self._bring_up, self._members[name])] = name
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
                    order.done(running.pop(future))
        except BaseException:
            # Ends the other waits for readiness, so that the executor's exit does not sit them out.
            self._stopping.set()
            raise

    def _bring_up(self, member: _Member) -> None:
        member.child.start()
        self._changed()
        seconds = member.child.wait_ready(abandoned=self._stopping.is_set)
        if self._stopping.is_set():
            return
        member.ready = True
        member.start_seconds = seconds
        self._changed()
        self._say(f"{member.service.title} ready after {seconds:.1f} s")

    def _restart(self, member: _Member) -> None:
        """Start a crashed service again, after a pause that grows."""
        while True:
            member.ready = False
            now = time.monotonic()
            recent = [moment for moment in member.restarted_at if now - moment < self._policy.window]
            if len(recent) >= self._policy.limit:
                raise member.child.problem(
                    f"ended with status {member.child.exit_status} and was restarted {len(recent)} times already in "
                    f"{self._policy.window:.0f} s; the platform stops."
                )
            pause = self._policy.pause * 2 ** len(recent)
            self._say(
                f"{member.service.title} ended with status {member.child.exit_status}; restarting it in {pause:g} s "
                f"({len(recent) + 1} of {self._policy.limit})"
            )
            self._changed()
            if self._stopping.wait(pause):
                return
            member.restarted_at.append(time.monotonic())
            try:
                self._bring_up(member)
                return
            except EnvironmentProblem as error:
                member.child.stop()
                self._say(str(error.message).partition("\n")[0])

    def _waves(self) -> list[list[_Member]]:
        """The services grouped so that each group needs only earlier ones."""
        order = TopologicalSorter({n: set(m.service.after) & set(self._members) for n, m in self._members.items()})
        order.prepare()
        waves = []
        while order.is_active():
            names = order.get_ready()
            waves.append([self._members[name] for name in names])
            order.done(*names)
        return waves
