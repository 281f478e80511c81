"""Runs services together: starts them in dependency order, restarts them after a crash or hang, stops them in reverse.

Each service has a watching thread of its own, so that a slow restart does not delay the others.
"""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path

from penstock.errors import EnvironmentProblem
from penstock.local.processes.child import LAST_LINES, Child, Service
from penstock.retries import RetryPolicy, doubling

__all__ = ["LivenessPolicy", "RestartPolicy", "ServiceState", "Supervisor"]

_WATCH_PAUSE = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartPolicy:
    """When to restart a crashed service: first after ``pause`` seconds, then after twice as long each time.

    After ``limit`` restarts within ``window`` seconds it counts as failed, which is reported. Restarts continue, at least
    every ``longest_pause`` seconds, because the cause may pass. The other services keep running.
    """

    limit: int = 3
    window: float = 300
    pause: float = 0.5
    longest_pause: float = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class LivenessPolicy:
    """When to restart a service that runs and does not answer.

    It is probed every ``interval`` seconds and has ``deadline`` seconds to answer; after ``patience`` probes in a row
    without an answer it is restarted. That takes a minute or two, because a busy service is not dead.
    """

    interval: float = 10
    deadline: float = 10
    patience: int = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceState:
    """The state of one service; ``start_seconds`` is the time from start to ready.

    ``problem`` says why it counts as failed, with its exit status and the end of its log.
    """

    name: str
    title: str
    ready: bool
    pid: int | None
    restarts: int
    start_seconds: float | None
    problem: str | None = None


class _SupervisedService:
    """One supervised service."""

    def __init__(self, definition: Service, log: Path) -> None:
        self.definition = definition
        self.child = Child(definition, log)
        self.ready = False
        self.start_seconds: float | None = None
        self.restarted_at: list[float] = []
        self.problem: EnvironmentProblem | None = None

    def state(self) -> ServiceState:
        return ServiceState(
            name=self.definition.name,
            title=self.definition.title,
            ready=self.ready and self.child.running,
            pid=self.child.leash_pid if self.child.running else None,
            restarts=len(self.restarted_at),
            start_seconds=self.start_seconds,
            problem=None if self.problem is None else self.problem.message,
        )


class Supervisor:
    """Runs ``services`` with their logs in the folder ``logs``.

    ``changed`` is called, from any thread, when a service became ready, ended or was restarted; ``report`` gets a
    human-readable line about it.
    """

    def __init__(
        self,
        services: Sequence[Service],
        logs: Path,
        *,
        policy: RestartPolicy | None = None,
        liveness: LivenessPolicy | None = None,
        changed: Callable[[], None] = lambda: None,
        report: Callable[[str], None] = lambda _text: None,
    ) -> None:
        self._services = {service.name: _SupervisedService(service, logs / f"{service.name}.log") for service in services}
        self._policy = policy or RestartPolicy()
        self._liveness = liveness or LivenessPolicy()
        self._changed = changed
        self._report = report
        self._stopping = threading.Event()
        self._watchers: list[threading.Thread] = []

    @property
    def failure(self) -> EnvironmentProblem | None:
        """Return why the first failed service counts as failed now; None if none does."""
        return next((service.problem for service in self._services.values() if service.problem is not None), None)

    @property
    def states(self) -> list[ServiceState]:
        """Return the services in the order given."""
        return [service.state() for service in self._services.values()]

    def start(self) -> None:
        """Start all services and return when they are ready.

        Raises the :class:`EnvironmentProblem` of the first service that does not start, after stopping all others.
        """
        graph = {name: set(service.definition.after) & set(self._services) for name, service in self._services.items()}
        order = TopologicalSorter(graph)
        order.prepare()
        try:
            with ThreadPoolExecutor(len(graph) or 1, thread_name_prefix="start") as executor:
                self._start_in(order, executor)
        except BaseException:
            self.stop()
            raise

    def run(self) -> None:
        """Watch the services until :meth:`request_stop`; restart those that crash or do not answer."""
        self._watchers = [
            threading.Thread(target=self._watch, args=(service,), name=f"watch-{name}", daemon=True)
            for name, service in self._services.items()
        ]
        for watcher in self._watchers:
            watcher.start()
        self._stopping.wait()
        self._join_watchers()

    def request_stop(self) -> None:
        """Make :meth:`run` return, and end waits for readiness; safe in a signal handler."""
        self._stopping.set()

    def stop(self) -> None:
        """Stop the services, dependents first. Return when all have ended."""
        self._stopping.set()
        # A thread that is restarting its service would leave it running.
        self._join_watchers()
        waves = self._waves()
        for wave in reversed(waves):
            for service in wave:
                service.child.stop(wait=False)
            for service in wave:
                service.child.stop()
                service.ready = False
        self._changed()

    def _start_in(self, order: "TopologicalSorter[str]", executor: ThreadPoolExecutor) -> None:
        running: dict[Future[None], str] = {}
        try:
            while order.is_active() and not self._stopping.is_set():
                for name in order.get_ready():
                    running[executor.submit(self._bring_up, self._services[name])] = name
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    future.result()
                    order.done(running.pop(future))
        except BaseException:
            # End the other waits for readiness, for which the executor's exit would wait.
            self._stopping.set()
            raise

    def _bring_up(self, service: _SupervisedService) -> None:
        service.child.start()
        self._changed()
        seconds = service.child.wait_ready(abandoned=self._stopping.is_set)
        if self._stopping.is_set():
            return
        service.ready = True
        service.problem = None
        service.start_seconds = seconds
        self._changed()
        self._report(f"{service.definition.title} ready after {seconds:.1f} s")

    def _join_watchers(self) -> None:
        for watcher in self._watchers:
            watcher.join()

    def _watch(self, service: _SupervisedService) -> None:
        silent, asked_at = 0, time.monotonic()
        while not self._stopping.wait(_WATCH_PAUSE):
            if not service.child.running:
                self._restart(service)
                silent, asked_at = 0, time.monotonic()
            elif time.monotonic() - asked_at >= self._liveness.interval:
                alive = service.definition.is_alive(self._liveness.deadline)
                silent, asked_at = (0 if alive else silent + 1), time.monotonic()
                if silent >= self._liveness.patience and not self._stopping.is_set():
                    self._report(f"{service.definition.title} did not answer {silent} probes in a row; ending it")
                    service.child.kill()

    def _restart(self, service: _SupervisedService) -> None:
        """Restart a crashed service, after growing pauses, until it is ready."""
        what = f"ended with status {service.child.exit_status}"
        pauses = RetryPolicy(pauses=doubling(self._policy.pause, self._policy.longest_pause))
        while not self._stopping.is_set():
            service.ready = False
            now = time.monotonic()
            recent = sum(now - moment < self._policy.window for moment in service.restarted_at)
            pause = pauses.pause(recent + 1)
            if recent < self._policy.limit:
                count = f"({recent + 1} of {self._policy.limit})"
                self._report(f"{service.definition.title} {what}; restarting it in {pause:g} s {count}")
            else:
                again = f"was restarted {recent} times already in {self._policy.window:.0f} s"
                had_problem = service.problem is not None
                service.problem = service.child.problem(f"{what} and {again}; the next restart is in {pause:g} s")
                self._report(service.problem.message.partition("\n")[0] if had_problem else str(service.problem))
            self._changed()
            if self._stopping.wait(pause):
                return
            service.restarted_at.append(time.monotonic())
            try:
                self._bring_up(service)
                return
            except Exception as error:  # noqa: BLE001 -- the cause may pass, such as a full disk
                service.child.stop()
                what = f"did not start: {_brief(error)}"

    def _waves(self) -> list[list[_SupervisedService]]:
        """Return the services in groups, each of which needs only earlier groups."""
        order = TopologicalSorter({n: set(s.definition.after) & set(self._services) for n, s in self._services.items()})
        order.prepare()
        waves = []
        while order.is_active():
            names = order.get_ready()
            waves.append([self._services[name] for name in names])
            order.done(*names)
        return waves


def _brief(error: Exception) -> str:
    """Return an error's text without its log lines and full stop."""
    return str(error).partition("\n")[0].removesuffix(LAST_LINES).rstrip(".")
