"""Runs what the store says is to run: claims runs, starts their supervisors, and records how they end.

Each server process has a runner for each account, and a run belongs to one of them at a time (:mod:`penstock.owners`), whose
heartbeat in the store is its lease. When that process is gone, another one on the same machine takes the run over: its
supervisor goes on meanwhile. A run on a machine that gives no sign of life for a while has failed, and a runner that finds
its run ended by another one ends the run's process.
"""

import hashlib
import logging
import os
import secrets
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from penstock.durable import PRIVATE_UMASK
from penstock.errors import PenstockError
from penstock.interpreter import python_module
from penstock.jobs.model import ENDED, RUNNING, RUNS, JobRun, RunState
from penstock.jobs.store import JobStore
from penstock.owners import Ownership, Poller
from penstock.runs.causes import signal_cause
from penstock.runs.folders import RunFolder, same_machine
from penstock.runs.isolation import Isolation
from penstock.runs.plans import RunSettings, clean_environment, plan
from penstock.runs.retention import KEPT, forget_old
from penstock.runs.strays import kill_strays

__all__ = ["JobRunner", "RunEnded"]

_LOG = logging.getLogger(__name__)
_TICK_SECONDS = 0.5
_SWEEP_SECONDS = 600.0  # also between two looks while nothing runs: who starts a run, or finds one, wakes the runner
_HEARTBEAT = timedelta(seconds=5)
_DEAD_AFTER = timedelta(seconds=60)
_START = timedelta(seconds=30)  # for a supervisor to lock its folder
_LOST_PROCESS = "The run's process was killed, and left no exit status."
_LOST_MACHINE = "The machine {host}, which ran it, has given no sign of life for {seconds:.0f} seconds."

RunEnded = Callable[[JobRun], None]
"""Deals with the end of a run: its retry, and what waits for it. It may be called again for the same run."""


class JobRunner:
    """The runner of one account in this process.

    ``host`` is this machine's name (:func:`penstock.runs.folders.machine_of`); ``credentials`` returns what a run's
    credentials need in its environment beside the token.
    """

    def __init__(
        self,
        store: JobStore,
        settings: RunSettings,
        *,
        host: str,
        check: Callable[[JobRun], None],
        isolation: Isolation | None = None,
        credentials: Callable[[JobRun], Mapping[str, str]] = lambda _run: {},
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._settings = settings
        self._check = check
        self._isolation = isolation or Isolation(account=settings.account)
        self._credentials = credentials
        self._on_end: list[RunEnded] = []
        self._on_tick: list[Callable[[], float]] = []
        self._now = now
        self._host = host
        self._ownership = Ownership(dead_after=_DEAD_AFTER, now=now, monotonic=monotonic)
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._swept = -_SWEEP_SECONDS
        self._poller = Poller(self._look, name="penstock-jobs", what="looking at the runs of jobs", pause=_TICK_SECONDS)

    def folder(self, run_id: str) -> RunFolder:
        """Return the folder of a run."""
        return RunFolder(self._settings.folder / run_id, self._isolation.place(run_id))

    def on_end(self, deal: RunEnded) -> None:
        """Call ``deal`` with each run that has ended."""
        self._on_end.append(deal)

    def on_tick(self, look: Callable[[], float]) -> None:
        """Call ``look`` with each look at the store; it returns the seconds after which it is to be called again."""
        self._on_tick.append(look)

    def begin(self) -> None:
        """Watch the store from now on, on a thread."""
        self._poller.begin()

    def wake(self) -> None:
        """Look at the store now."""
        self._poller.wake()

    def close(self, timeout: float = 5.0) -> None:
        """Stop watching. The runs go on, and the next server takes them over."""
        self._poller.close(timeout)
        self._ownership.close()
        for child in self._children.values():
            if child.poll() is None:
                child.returncode = 0  # it outlives this object on purpose, of which Python would warn

    def _look(self) -> float:
        pause = self.tick()
        if time.monotonic() > self._swept + _SWEEP_SECONDS:
            self._swept = time.monotonic()
            self.sweep()
        return pause

    def sweep(self) -> None:
        """End processes of runs that have ended in the store, and remove old runs and the folders of deleted ones.

        Such a process is one that another server gave up, because this machine gave no sign of life.
        """
        forget_old(self._store, self._now() - KEPT)
        for path in self._settings.folder.glob("*"):
            folder, run = RunFolder(path), self._store.get(RUNS, path.name)
            if run is not None and not run.ended:
                continue
            if folder.supervised:
                folder.request_stop()
            elif run is None:
                self.folder(path.name).remove()

    def tick(self) -> float:
        """Do what is to be done for each run now; return the seconds until the next look."""
        pause = _SWEEP_SECONDS
        for look in self._on_tick:
            try:
                pause = min(pause, look())
            except Exception:  # noqa: BLE001 - runs are attended whatever is wrong with a trigger
                _LOG.exception("the triggers of jobs could not be looked at")
        runs = self._store.active(RUNS)
        active = {run.id: run for run in runs}
        self._ownership.forget_all_but(active)
        self._reap(active)
        # Sessions idle for hours, so they have places of their own.
        running = Counter(run.of_session for run in runs if run.state in RUNNING and same_machine(run.host, self._host))
        for run in runs:
            try:
                if run.ended:
                    self._handle_end(run)
                elif run.state == "WAITING":
                    self._promote(run, runs)
                elif run.owner is None:
                    session = run.of_session
                    running[session] += running[session] < self._settings.at_once and self._claim(run)
                elif self._ownership.owns(run) or self._adopt(run):
                    self._attend(run)
            except PenstockError as error:
                _LOG.warning("run %s of job %s: %s", run.id, run.job, error)
            except Exception:  # noqa: BLE001 - one run must not keep the others from being attended
                _LOG.exception("run %s of job %s could not be attended", run.id, run.job)
        return max(pause, _TICK_SECONDS) if not runs and not self._children else _TICK_SECONDS

    def _reap(self, active: Mapping[str, JobRun]) -> None:
        """Forget the supervisors that have ended, whose ends were recorded; end those whose runs were given up meanwhile."""
        for run_id, child in list(self._children.items()):
            run = active.get(run_id) or self._store.get(RUNS, run_id)
            if run is not None and not run.ended:
                continue
            if child.poll() is not None:
                del self._children[run_id]
            elif self.folder(run_id).exists:
                self.folder(run_id).request_stop()

    def _promote(self, run: JobRun, runs: Sequence[JobRun]) -> None:
        """Let a waiting run begin when one of its job's places is free."""
        limit = (run.settings.get("ExecutionProperty") or {}).get("MaxConcurrentRuns") or 1
        ahead = [
            job_run
            for job_run in runs
            if job_run.scope == run.scope and (job_run.state in RUNNING or job_run.state == "WAITING")
        ]
        if ahead.index(run) < limit and sum(job_run.state in RUNNING for job_run in ahead) < limit:
            self._change(run, lambda stored: replace(stored, state="STARTING") if stored.state == "WAITING" else stored)
            self._poller.wake()

    def _claim(self, run: JobRun) -> bool:
        """Take a run that has no owner, and start it."""
        token = f"{self._settings.account}.{run.id}.{secrets.token_urlsafe(32)}"
        digest = hashlib.sha256(token.encode()).hexdigest()

        def take(stored: JobRun) -> JobRun:
            if stored.owner is not None or stored.state != "STARTING":
                return stored
            now = self._now()
            return replace(stored, owner=self._ownership.name, host=self._host, heartbeat=now, modified=now, token=digest)

        if self._change(run, take).token != digest:
            return False
        self._start(run, token)
        return True

    def _start(self, run: JobRun, token: str) -> None:
        try:
            self._check(run)
            self._isolation.check()
            folder = self.folder(run.id)
            environment = {**clean_environment(self._settings, os.environ, token=token), **self._credentials(run)}
            self._prepare(run, folder, environment)
        except PenstockError as error:
            self._finish(run, "FAILED", error=f"Error Category: LAUNCH_ERROR; {error}")
            return
        self._children[run.id] = subprocess.Popen(
            python_module("penstock.runs.supervisor", str(folder.root)),
            cwd=folder.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            umask=PRIVATE_UMASK,
        )
        _LOG.info("run %s of job %s started", run.id, run.job)

    def _prepare(self, run: JobRun, folder: RunFolder, environment: Mapping[str, str]) -> None:
        """Write what the run's supervisor does, with what the run may reach."""
        planned = plan(run, self._settings, folder=folder)
        urls = [self._settings.endpoint_url, self._settings.s3_endpoint_url or "", self._settings.master]
        confinement = self._isolation.confinement(run, folder, environment, urls=urls, spark=bool(planned["prepare"]))
        self._isolation.prepare(folder)
        user = self._isolation.system_user()
        names = {} if user is None else {"environment": {**planned["environment"], "USER": user.name, "LOGNAME": user.name}}
        folder.prepare({**planned, **names, "confinement": confinement.document() if confinement.confines else None})
        if user is not None:
            folder.give(user.uid, user.gid)

    def _adopt(self, run: JobRun) -> bool:
        """Take over a run whose server process is gone; fail it if its machine is."""
        if not self._ownership.is_silent_orphan(run.id, run, since=run.modified):
            return False
        if not same_machine(run.host, self._host):
            silence = self._ownership.silence(run.id, run, since=run.modified)
            error = _LOST_MACHINE.format(host=run.host, seconds=silence.total_seconds())
            self._finish(run, "FAILED", error=error)
            return False

        def take(stored: JobRun) -> JobRun:
            if (stored.owner, stored.heartbeat) != (run.owner, run.heartbeat) or stored.ended:
                return stored
            return replace(stored, owner=self._ownership.name, heartbeat=self._now())

        return self._ownership.owns(self._change(run, take))

    def _attend(self, run: JobRun) -> None:
        """Record what a run's supervisor has done, and tell it to stop."""
        folder, child = self.folder(run.id), self._children.get(run.id)
        if child is not None:
            child.poll()
        # In this order: a supervisor records the end before it lets the lock go.
        alive = folder.supervised
        ended = folder.ended()
        if ended is not None:
            self._record(run, ended)
            return
        begun = folder.begun()
        starting = begun is None and self._now() - (run.heartbeat or run.modified) < _START
        if not alive and not (starting and (child is None or child.returncode is None)):
            # It may have ended between the two looks.
            late = folder.ended()
            if late is not None:
                self._record(run, late)
            elif begun is None and child is None:
                # The server ended before it started the supervisor.
                self._change(run, lambda stored: replace(stored, owner=None) if self._ownership.owns(stored) else stored)
            else:
                # The kernel has killed the run's process, and not what that started.
                kill_strays(self._settings.account, run.id)
                self._finish(run, "FAILED", error=_LOST_PROCESS)
            return
        if run.state == "STOPPING":
            folder.request_stop()
        self._beat(run, begun)

    def _beat(self, run: JobRun, begun: Mapping[str, Any] | None) -> None:
        now = self._now()
        newly = begun is not None and run.began is None
        # Until it has begun, the heartbeat is the time of its start.
        if not newly and (begun is None or now - (run.heartbeat or run.started) < _HEARTBEAT):
            return

        def beat(stored: JobRun) -> JobRun:
            if not self._ownership.owns(stored) or stored.ended:
                return stored
            began = stored.began or (datetime.fromisoformat(begun["begun"]) if begun is not None else None)
            state: RunState = "RUNNING" if stored.state == "STARTING" else stored.state
            return replace(stored, state=state, began=began, heartbeat=now, modified=now)

        self._change(run, beat)

    def _record(self, run: JobRun, ended: Mapping[str, Any]) -> None:
        state, error = _outcome(run, ended)
        began = datetime.fromisoformat(ended["begun"])
        self._finish(run, state, error=error, began=began, completed=datetime.fromisoformat(ended["ended"]))
        self.folder(run.id).remove_inputs()

    def _finish(
        self,
        run: JobRun,
        state: RunState,
        *,
        error: str | None,
        began: datetime | None = None,
        completed: datetime | None = None,
    ) -> None:
        now = self._now()

        def end(stored: JobRun) -> JobRun:
            if stored.ended:
                return stored
            end_time = completed or now
            return replace(
                stored, state=state, error=error, began=began or stored.began, completed=end_time, modified=now, token=None
            )

        if self._change(run, end).state in ENDED:
            _LOG.info("run %s of job %s: %s %s", run.id, run.job, state, error or "")
            self._poller.wake()

    def _handle_end(self, run: JobRun) -> None:
        if run.host is not None and not same_machine(run.host, self._host) and not self._stale(run):
            return  # the machine that ran it deals with it, unless it is gone
        for deal in self._on_end:
            try:
                deal(run)
            except PenstockError as error:
                if error.fault == "server":
                    raise  # it is tried again
                _LOG.warning("run %s of job %s: what follows its end is left out: %s", run.id, run.job, error)
        self._change(run, lambda stored: replace(stored, handled=True))

    def _stale(self, run: JobRun) -> bool:
        return self._now() - run.modified > _DEAD_AFTER or (run.error or "").startswith("The machine ")

    def _change(self, run: JobRun, change: Callable[[JobRun], JobRun]) -> JobRun:
        return self._store.change(RUNS, run.id, change) or replace(run, state="STOPPED", handled=True)


def _outcome(run: JobRun, ended: Mapping[str, Any]) -> tuple[RunState, str | None]:
    """Return the state and the error of a run from how its process ended."""
    if ended["reason"] == "timeout":
        return "TIMEOUT", f"The run took longer than its Timeout of {run.settings.get('Timeout')} minutes."
    if ended["reason"] == "stop" or run.state == "STOPPING":
        return ("SUCCEEDED", None) if ended["status"] == 0 and run.state != "STOPPING" else ("STOPPED", None)
    if ended["reason"] == "signal":
        return "FAILED", signal_cause(signal.SIGTERM)
    return ("SUCCEEDED", None) if ended["status"] == 0 else ("FAILED", ended["error"])
