"""Fires triggers: by the clock, when jobs and crawlers end, and within runs of workflows.

Whatever a trigger starts has an id that follows from what fired it, so that it is started once, however often this is done:
by two servers, or again after one was killed.
"""

import hashlib
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol
from uuid import NAMESPACE_URL, uuid5

from penstock.errors import PenstockError
from penstock.jobs.model import RUNS, JobRun
from penstock.jobs.runs import RunRequest, RunService
from penstock.jobs.store import JobStore
from penstock.jobs.triggers import TRIGGERS, Trigger, action_node, next_run
from penstock.jobs.workflows import WORKFLOW_RUNS, ActionEnd, WorkflowRun, WorkflowService, WorkflowStatus

__all__ = ["Crawls", "TriggerRunner", "action_run_id", "last_attempt"]

_LOG = logging.getLogger(__name__)
_LATE = timedelta(minutes=5)
_SETTINGS = ("Timeout", "SecurityConfiguration", "NotificationProperty")


class Crawls(Protocol):
    """The crawlers that triggers start and wait for."""

    def start(self, name: str, crawl_id: str) -> None:
        """Start the crawl of this id once; raise :class:`PenstockError` if it cannot be started."""

    def last(self, name: str) -> tuple[str, str] | None:
        """Return id and end (SUCCEEDED, FAILED, CANCELLED) of the last crawl that has ended; None without one."""

    def state(self, name: str, crawl_id: str) -> str | None:
        """Return RUNNING or how the crawl of this id ended; None if it was not started, or the crawler does not exist."""


def action_run_id(trigger: str, cause: str, number: int) -> str:
    """Return the id of the run that an action of a trigger starts for a cause."""
    return "jr_" + hashlib.sha256(f"{trigger}\0{cause}\0{number}".encode()).hexdigest()


def action_crawl_id(trigger: str, cause: str, number: int) -> str:
    """Return the id of the crawl that an action of a trigger starts for a cause."""
    return str(uuid5(NAMESPACE_URL, f"{trigger}\0{cause}\0{number}"))


def last_attempt(store: JobStore, run_id: str) -> JobRun | None:
    """Return a run, or the last of its retries; None if it was not started."""
    latest = store.get(RUNS, run_id)
    while latest is not None:
        again = store.get(RUNS, f"{run_id}_attempt_{latest.attempt + 1}")
        if again is None:
            return latest
        latest = again
    return None


def _is_final(run: JobRun) -> bool:
    """Whether no retry follows."""
    return run.ended and (run.state != "FAILED" or run.attempt >= int(run.settings.get("MaxRetries") or 0))


class TriggerRunner:
    """Fires the triggers of one account."""

    def __init__(
        self,
        store: JobStore,
        runs: RunService,
        workflows: WorkflowService,
        crawls: Crawls,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._store = store
        self._runs = runs
        self._workflows = workflows
        self._crawls = crawls
        self._now = now

    def fire(self, trigger: Trigger) -> None:
        """Fire a trigger on demand; raise the first error of its actions. One of a workflow starts the workflow."""
        if trigger.workflow is not None:
            self._workflows.start(trigger.workflow, {})
            return
        cause = f"on demand {self._now().isoformat()}"
        for number, action in enumerate(trigger.actions):
            self._act(trigger, cause, number, action, _request(trigger, cause, number, action))

    def tick(self) -> float:
        """Fire what is due, and what waited for crawls; go on with the runs of workflows.

        Returns the seconds until something may be due: 0 while a workflow runs.
        """
        triggers = self._store.active(TRIGGERS)
        for trigger in triggers:
            if trigger.type == "SCHEDULED":
                self._schedule(trigger)
            elif trigger.workflow is None:
                self._look_at_crawls(trigger)
        runs = self._store.active(WORKFLOW_RUNS)
        for run in runs:
            self._advance(run)
        now = self._now()
        due = [(trigger.next_run - now).total_seconds() for trigger in triggers if trigger.next_run is not None]
        return 0.0 if runs else max(0.0, min(due, default=math.inf))

    def ended(self, run: JobRun) -> None:
        """Fire the triggers outside of workflows that wait for the end of a run that a trigger started."""
        if run.trigger is None or run.workflow is not None or not _is_final(run):
            return
        for trigger in self._store.active(TRIGGERS):
            if trigger.workflow is None:
                for number, condition in enumerate(trigger.conditions):
                    if condition.get("JobName") == run.job and condition.get("State") == run.state:
                        self._meet(trigger.name, number, f"{run.job}/{run.id}")

    def _schedule(self, trigger: Trigger) -> None:
        due, now = trigger.next_run, self._now()
        if due is None or due > now:
            return
        late = now - due > _LATE
        # Before the schedule moves on: a server that is killed in between leaves nothing out, and the ids stay the same.
        if not late:
            self._start_due(trigger, due)
        claimed = False

        def claim(trigger: Trigger) -> Trigger:
            nonlocal claimed
            claimed = trigger.active and trigger.next_run == due
            return replace(trigger, next_run=next_run(trigger, now)) if claimed else trigger

        self._store.change(TRIGGERS, trigger.name, claim)
        if claimed and late:
            _LOG.warning("trigger %s: its run of %s was missed", trigger.name, due.isoformat())

    def _start_due(self, trigger: Trigger, due: datetime) -> None:
        if trigger.workflow is None:
            self._all_actions(trigger, due.isoformat())
            return
        digest = hashlib.sha256(f"{trigger.name}\0{due.isoformat()}".encode()).hexdigest()
        run_id = f"wr_{digest}"
        try:
            self._workflows.start(trigger.workflow, {}, run_id=run_id)
        except PenstockError as error:
            _raise_if_it_may_pass(error)
            _LOG.warning("trigger %s: its scheduled run is left out: %s", trigger.name, error)
            self._workflows.refuse(trigger.workflow, run_id, f"Trigger {trigger.name} could not start it: {error}")

    def _look_at_crawls(self, trigger: Trigger) -> None:
        for number, condition in enumerate(trigger.conditions):
            name = condition.get("CrawlerName")
            if not name:
                continue
            last = self._crawls.last(name)
            latest = last[0] if last is not None else ""
            if trigger.crawls.get(name) == latest:
                continue
            # What ended before the trigger was activated does not count.
            if name in trigger.crawls and last is not None and condition.get("CrawlState") == last[1]:
                self._meet(trigger.name, number, f"crawl {latest}")
            self._store.change(TRIGGERS, trigger.name, _seeing(name, latest))

    def _meet(self, name: str, number: int, event: str) -> None:
        """Note that a condition is met, and fire the trigger if that is enough."""
        place = str(number)

        def meet(trigger: Trigger) -> Trigger:
            # Another server, or one that was killed, may have fired the trigger with it.
            return trigger if trigger.used.get(place) == event else replace(trigger, met={**trigger.met, place: event})

        trigger = self._store.change(TRIGGERS, name, meet)
        if trigger is None or not trigger.active or trigger.met.get(place) != event:
            return
        if not trigger.any_condition and len(trigger.met) < len(trigger.conditions):
            return
        events = sorted(trigger.met.values()) if not trigger.any_condition else [event]
        self._all_actions(
            trigger, " ".join(events), predecessors=[event for event in events if not event.startswith("crawl ")]
        )

        def use(current: Trigger) -> Trigger:
            met = {key: value for key, value in current.met.items() if value not in events}
            return replace(current, met=met, used={**current.used, **trigger.met})

        self._store.change(TRIGGERS, name, use)

    def _all_actions(self, trigger: Trigger, cause: str, *, predecessors: Sequence[str] = ()) -> None:
        """Start what a trigger starts. A job that is refused has a run that says why, in the state ERROR."""
        for number, action in enumerate(trigger.actions):
            request = _request(trigger, cause, number, action, predecessors=predecessors)
            try:
                self._act(trigger, cause, number, action, request)
            except PenstockError as error:
                _raise_if_it_may_pass(error)
                _LOG.warning("trigger %s: an action is left out: %s", trigger.name, error)
                if not action.get("CrawlerName"):
                    reason = f"Trigger {trigger.name} could not start it: {error}"
                    self._runs.refuse(action["JobName"], request, "ERROR", reason)

    def _act(self, trigger: Trigger, cause: str, number: int, action: Mapping[str, Any], request: RunRequest) -> None:
        """Start the crawl of an action, or the job with ``request``."""
        if action.get("CrawlerName"):
            self._crawls.start(action["CrawlerName"], action_crawl_id(trigger.name, cause, number))
        else:
            self._runs.start(action["JobName"], request)

    def _advance(self, run: WorkflowRun) -> None:
        """Go on with a run of a workflow: start what was fired, fire what can be, and end it if nothing is left."""
        triggers = {trigger.name: trigger for trigger in self._workflows.triggers(run.workflow)}
        ends: dict[str, str] = {}
        places: dict[str, ActionEnd] = {}
        pending = False
        for name in run.fired:
            trigger = triggers.get(name)
            for number, action in enumerate(trigger.actions if trigger is not None else ()):
                assert trigger is not None
                run, end = self._action_end(run, trigger, number, action)
                if end is None:
                    pending = True
                else:
                    node, place = action_node(action), f"{name}/{number}"
                    ends[node] = end
                    places[place] = {"node": node, "state": end, "run": run.run_of(place)}
        if run.status == "RUNNING":
            ready = [
                trigger.name for trigger in triggers.values() if trigger.name not in run.fired and _holds(trigger, ends)
            ]
            if ready:
                self._change(run, lambda stored: replace(stored, fired=(*stored.fired, *ready)))
                return
        if not pending:
            status: WorkflowStatus = "STOPPED" if run.status == "STOPPING" else "COMPLETED"
            error = " ".join(run.failed.values())[:2_000] or None
            self._change(run, lambda stored: replace(stored, status=status, error=error, completed=self._now(), ends=places))

    def _action_end(
        self, run: WorkflowRun, trigger: Trigger, number: int, action: Mapping[str, Any]
    ) -> tuple[WorkflowRun, str | None]:
        """Return how an action of a workflow's run ended, None if it has not; start it if that was not done."""
        place = f"{trigger.name}/{number}"
        if place in run.ends or place in run.failed:
            return run, run.ends[place]["state"] if place in run.ends else "ERROR"
        if action.get("CrawlerName"):
            return self._crawl_end(run, place, action["CrawlerName"], action_crawl_id(trigger.name, run.id, number))
        attempt = last_attempt(self._store, action_run_id(trigger.name, run.id, number))
        if attempt is None and run.status == "STOPPING":
            return run, "STOPPED"
        if attempt is None:
            before = self._before(run, trigger)
            request = _request(trigger, run.id, number, action, workflow=run, predecessors=before)
            try:
                self._runs.start(action["JobName"], request)
            except PenstockError as error:
                _raise_if_it_may_pass(error)
                return self._change(run, _failing(place, str(error))), "ERROR"
            return run, None
        if run.status == "STOPPING" and not attempt.ended and attempt.state != "STOPPING":
            self._runs.stop(attempt.job, attempt.id)
        return run, attempt.state if _is_final(attempt) or (attempt.ended and run.status == "STOPPING") else None

    def _crawl_end(self, run: WorkflowRun, place: str, name: str, crawl_id: str) -> tuple[WorkflowRun, str | None]:
        state = self._crawls.state(name, crawl_id)
        if state is None and crawl_id in run.crawls:
            return self._change(run, _failing(place, f"The crawl of {name} was lost.")), "ERROR"
        if state is None and run.status == "STOPPING":
            return run, "STOPPED"
        if state is None:
            try:
                self._crawls.start(name, crawl_id)
            except PenstockError as error:
                _raise_if_it_may_pass(error)
                return self._change(run, _failing(place, str(error))), "ERROR"
        if crawl_id not in run.crawls:
            now = self._now().isoformat()
            run = self._change(run, lambda stored: replace(stored, crawls={**stored.crawls, crawl_id: now}))
        return run, None if state in {None, "RUNNING"} else state

    def _before(self, run: WorkflowRun, trigger: Trigger) -> Sequence[str]:
        """Return the runs whose ends fired a trigger of a workflow's run."""
        jobs = {condition.get("JobName") for condition in trigger.conditions}
        keys = []
        for other in self._workflows.triggers(run.workflow):
            for number, action in enumerate(other.actions):
                if action.get("JobName") in jobs and other.name in run.fired:
                    started_by = run.run_of(f"{other.name}/{number}")
                    before = last_attempt(self._store, action_run_id(other.name, started_by, number))
                    keys += [f"{before.job}/{before.id}"] if before is not None else []
        return keys

    def _change(self, run: WorkflowRun, change: Callable[[WorkflowRun], WorkflowRun]) -> WorkflowRun:
        return self._store.change(WORKFLOW_RUNS, run.id, change) or run


def _request(
    trigger: Trigger,
    cause: str,
    number: int,
    action: Mapping[str, Any],
    *,
    predecessors: Sequence[str] = (),
    workflow: WorkflowRun | None = None,
) -> RunRequest:
    """Return the run that an action of a trigger starts for a cause."""
    arguments = dict(action.get("Arguments") or {})
    if workflow is not None:
        arguments |= {"--WORKFLOW_NAME": workflow.workflow, "--WORKFLOW_RUN_ID": workflow.id}
    return RunRequest(
        settings={member: action[member] for member in _SETTINGS if action.get(member) is not None},
        arguments=arguments,
        id=action_run_id(trigger.name, cause, number),
        trigger=trigger.name,
        workflow=workflow.name if workflow is not None else None,
        predecessors=predecessors,
    )


def _raise_if_it_may_pass(error: PenstockError) -> None:
    """Raise a problem of the server, such as a full store: what it kept from being done is tried again."""
    if error.fault == "server":
        raise error


def _failing(place: str, reason: str) -> Callable[[WorkflowRun], WorkflowRun]:
    return lambda run: replace(run, failed={**run.failed, place: reason})


def _seeing(crawler: str, crawl: str) -> Callable[[Trigger], Trigger]:
    return lambda trigger: replace(trigger, crawls={**trigger.crawls, crawler: crawl})


def _holds(trigger: Trigger, ends: Mapping[str, str]) -> bool:
    """Whether a trigger of a workflow is to be fired, by the ends of the run's jobs and crawls so far."""
    if not trigger.conditions or not trigger.active:
        return False
    met = [
        ends.get(action_node(condition)) == condition.get("State" if condition.get("JobName") else "CrawlState")
        for condition in trigger.conditions
    ]
    return any(met) if trigger.any_condition else all(met)
