"""Workflows: triggers, jobs and crawlers that belong together, and their runs.

Source: Glue API reference, "CreateWorkflow", "WorkflowRun"; developer guide, "Overview of workflows in AWS Glue".
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal, TypedDict

from penstock.errors import InvalidInput
from penstock.jobs.errors import EntryNotFound, IllegalWorkflow, JobsOff, TooManyRuns
from penstock.jobs.named import TaggedEntries
from penstock.jobs.store import JobStore, Kind
from penstock.jobs.triggers import STARTS, TRIGGERS, WORKFLOWS, Trigger, Workflow, action_node, triggers_of
from penstock.paging import Page, page
from penstock.tags import check_tags

__all__ = ["WORKFLOWS", "WORKFLOW_RUNS", "ActionEnd", "Workflow", "WorkflowRun", "WorkflowService", "WorkflowStatus"]

WorkflowStatus = Literal["RUNNING", "COMPLETED", "STOPPING", "STOPPED", "ERROR"]
_QUOTA = 1_000  # "Number of workflows"
_MOST_PROPERTIES = 100


class ActionEnd(TypedDict):
    """How an action ended: its job or crawler as ``wnode_job_NAME``, the state, and the workflow's run that started it."""

    node: str
    state: str
    run: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowRun:
    """A run of a workflow.

    ``fired`` are the triggers whose actions were or are being started, ``crawls`` when each of its crawls, by their ids, was
    started, and ``failed`` the actions that could not be started (``TRIGGER/NUMBER``), with the reason. ``ends`` says how
    its actions ended once it is completed; in a run that resumes another, those that are not run again have their end from
    its start.
    """

    id: str
    workflow: str
    previous: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    status: WorkflowStatus = "RUNNING"
    error: str | None = None
    started: datetime
    completed: datetime | None = None
    fired: Sequence[str] = ()
    crawls: Mapping[str, str] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    ends: Mapping[str, ActionEnd] = field(default_factory=dict)

    def run_of(self, place: str) -> str:
        """Return the id of the workflow's run by which the action of a place was started, which this one may resume."""
        return self.ends[place]["run"] if place in self.ends else self.id

    @property
    def key(self) -> str:
        """The id."""
        return self.id

    @property
    def scope(self) -> str:
        """The workflow."""
        return self.workflow

    @property
    def rank(self) -> str:
        """By the time of its start."""
        return f"{self.started.isoformat(timespec='microseconds')} {self.id}"

    @property
    def active(self) -> bool:
        """Whether it runs."""
        return self.status in {"RUNNING", "STOPPING"}

    @property
    def name(self) -> str:
        """``WORKFLOW/RUN``, by which its job runs name it."""
        return f"{self.workflow}/{self.id}"


WORKFLOW_RUNS = Kind("workflow run", WorkflowRun)


class WorkflowService(TaggedEntries[Workflow]):
    """The workflows of an account and their runs.

    ``enabled`` says whether this server runs jobs at all; ``wake`` wakes the runner for a new run.
    """

    def __init__(
        self,
        store: JobStore,
        *,
        enabled: bool = True,
        wake: Callable[[], None] = lambda: None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        super().__init__(store, WORKFLOWS, "workflow", quota=_QUOTA)
        self._enabled = enabled
        self._wake = wake
        self._now = now

    def create(self, name: str, settings: Mapping[str, Any], tags: Mapping[str, str]) -> None:
        """Add a workflow. Raises :class:`EntryExists`, :class:`InvalidInput`."""
        check_tags(tags)
        _check_properties(settings.get("DefaultRunProperties") or {})
        now = self._now()
        self._add(Workflow(name=name, settings=settings, tags=tags, created=now, modified=now))

    def update(self, name: str, settings: Mapping[str, Any]) -> None:
        """Replace what ``settings`` has of a workflow. Raises :class:`EntryNotFound`, :class:`InvalidInput`."""
        _check_properties(settings.get("DefaultRunProperties") or {})
        self._change(
            name, lambda workflow: replace(workflow, settings={**workflow.settings, **settings}, modified=self._now())
        )

    def triggers(self, name: str) -> Sequence[Trigger]:
        """Return the triggers of a workflow."""
        return triggers_of(self._store, name)

    def delete(self, name: str) -> None:
        """Delete a workflow with its triggers and runs, but not its jobs. Raises :class:`InvalidInput` while it runs."""
        if any(run.workflow == name for run in self._store.active(WORKFLOW_RUNS)):
            raise InvalidInput(f"Workflow {name} is running.", remedy="Stop its runs first.")
        for trigger in self.triggers(name):
            self._store.delete(TRIGGERS, trigger.name)
        self._store.delete(WORKFLOWS, name)
        self._store.delete_scope(WORKFLOW_RUNS, name)

    def start(self, name: str, properties: Mapping[str, str], *, run_id: str | None = None) -> WorkflowRun:
        """Start a run by the workflow's start trigger, which is on demand or scheduled.

        Raises :class:`EntryNotFound`, :class:`TooManyRuns`, :class:`InvalidInput` if it has no start trigger;
        :class:`JobsOff` if this server runs no jobs.
        """
        self._check_enabled()
        _check_properties(properties)
        self.get(name)
        starts = [trigger.name for trigger in self.triggers(name) if trigger.type in STARTS]
        if not starts:
            raise InvalidInput(
                f"Workflow {name} has no start trigger.", remedy="Create a trigger on demand, or a scheduled one, in it."
            )
        previous = self.last_run(name)
        return self._begin(
            name,
            lambda workflow: WorkflowRun(
                id=run_id or _new_id(),
                workflow=name,
                previous=previous.id if previous is not None else None,
                properties={**(workflow.settings.get("DefaultRunProperties") or {}), **properties},
                started=self._now(),
                fired=tuple(starts),
            ),
        )

    def resume(self, name: str, run_id: str, nodes: Sequence[str]) -> tuple[WorkflowRun, Sequence[str]]:
        """Start a run that runs ``nodes`` (``wnode_job_NAME``) of a completed run again, and what is downstream of them.

        Returns the new run, which has the properties of the first, and the nodes with which it begins. Raises
        :class:`EntryNotFound`, :class:`IllegalWorkflow` if the run is not completed, :class:`InvalidInput` for a node that
        was not run, :class:`TooManyRuns`.
        """
        self._check_enabled()
        earlier = self.run(name, run_id)
        fired, ends, begun = _resumed(earlier, self.triggers(name), nodes)
        run = WorkflowRun(
            id=_new_id(),
            workflow=name,
            previous=run_id,
            properties=earlier.properties,
            started=self._now(),
            fired=fired,
            ends=ends,
        )
        return self._begin(name, lambda _workflow: run), begun

    def _check_enabled(self) -> None:
        if not self._enabled:
            raise JobsOff("workflows")

    def _begin(self, name: str, new: Callable[[Workflow], WorkflowRun]) -> WorkflowRun:
        """Add a run if the workflow may have another one now; return it, or the one that has its id."""

        def make(workflow: Workflow, active: Sequence[WorkflowRun]) -> WorkflowRun:
            run, limit = new(workflow), workflow.settings.get("MaxConcurrentRuns")
            if limit and len([workflow_run for workflow_run in active if workflow_run.id != run.id]) >= limit:
                raise TooManyRuns("workflow", name, limit)
            return run

        added = self._store.add_under(WORKFLOWS, name, WORKFLOW_RUNS, make)
        if added is None:
            raise EntryNotFound("workflow", name)
        self._wake()
        return added[0]

    def refuse(self, name: str, run_id: str, reason: str) -> None:
        """Record a run that could not be started, with the reason, unless the id is taken or there is no such workflow."""

        def make(workflow: Workflow, _active: Sequence[WorkflowRun]) -> WorkflowRun:
            now = self._now()
            properties = workflow.settings.get("DefaultRunProperties") or {}
            run = WorkflowRun(id=run_id, workflow=name, properties=properties, started=now)
            return replace(run, status="ERROR", error=reason, completed=now)

        self._store.add_under(WORKFLOWS, name, WORKFLOW_RUNS, make)

    def run(self, name: str, run_id: str) -> WorkflowRun:
        """Return one run. Raises :class:`EntryNotFound`."""
        run = self._store.get(WORKFLOW_RUNS, run_id)
        if run is None or run.workflow != name:
            raise EntryNotFound("workflow run", run_id)
        return run

    def last_run(self, name: str) -> WorkflowRun | None:
        """Return the latest run; None if there is none."""
        return next(iter(self._store.list(WORKFLOW_RUNS, name, after=None, limit=1, newest_first=True)), None)

    def runs(self, name: str, *, limit: int, token: str | None = None) -> Page[WorkflowRun]:
        """Return up to ``limit`` runs, newest first. Raises :class:`EntryNotFound`."""
        self.get(name)

        def read(after: str | None, count: int) -> Sequence[WorkflowRun]:
            return self._store.list(WORKFLOW_RUNS, name, after=after, limit=count, newest_first=True)

        return page(f"workflow runs:{name}", token, limit, read, lambda workflow_run: workflow_run.rank, kind=str)

    def put_properties(self, name: str, run_id: str, properties: Mapping[str, str]) -> None:
        """Add or replace properties of a run. Raises :class:`EntryNotFound`, :class:`InvalidInput`."""
        self.run(name, run_id)

        def change(run: WorkflowRun) -> WorkflowRun:
            changed = {**run.properties, **properties}
            _check_properties(changed)
            return replace(run, properties=changed)

        self._store.change(WORKFLOW_RUNS, run_id, change)

    def stop(self, name: str, run_id: str) -> None:
        """Stop a run. Raises :class:`EntryNotFound`, :class:`IllegalWorkflow` if it does not run."""
        self.run(name, run_id)

        def request(run: WorkflowRun) -> WorkflowRun:
            if run.status != "RUNNING":
                raise IllegalWorkflow(f"Run {run_id} of workflow {name} is not running: it is {run.status}.")
            return replace(run, status="STOPPING")

        self._store.change(WORKFLOW_RUNS, run_id, request)
        self._wake()


def _resumed(
    run: WorkflowRun, triggers: Sequence[Trigger], nodes: Sequence[str]
) -> tuple[Sequence[str], Mapping[str, ActionEnd], Sequence[str]]:
    """Return the fired triggers and the ends with which a run begins that resumes ``run``, and those of ``nodes`` it begins.

    Source: Glue developer guide, "Repairing and resuming a workflow run": only completed runs; jobs and crawlers that the
    run has tried, no triggers; of two nodes that depend on each other, the upstream one is run first.
    Raises :class:`IllegalWorkflow`, :class:`InvalidInput`.
    """
    if run.status != "COMPLETED":
        raise IllegalWorkflow(f"Run {run.id} of workflow {run.workflow} cannot be resumed: it is {run.status}.")
    if not nodes:
        raise InvalidInput("NodeIds is empty.", remedy="Name the jobs or crawlers to run again.")
    fired = [trigger for trigger in triggers if trigger.name in run.fired]
    there = {
        f"{trigger.name}/{number}": action_node(action) for trigger in fired for number, action in enumerate(trigger.actions)
    }
    tried = {place: end["node"] for place, end in run.ends.items()}
    for node in nodes:
        if node not in tried.values():
            raise InvalidInput(
                f"Run {run.id} of workflow {run.workflow} has not run the node '{node[:300]}'.",
                remedy="Give the UniqueId of a job or crawler that it has run, from GetWorkflowRun with IncludeGraph.",
            )
    if there != tried:
        raise InvalidInput(
            f"The actions of workflow {run.workflow} are others now than in run {run.id}.",
            remedy="Start the workflow with StartWorkflowRun.",
        )
    again, later = _downstream(triggers, nodes)
    kept = [name for name in run.fired if name not in later]
    ends = {place: end for place, end in run.ends.items() if end["node"] not in again and place.rpartition("/")[0] in kept}
    begun = {node for place, node in tried.items() if place not in ends and place.rpartition("/")[0] in kept}
    return kept, ends, [node for node in dict.fromkeys(nodes) if node in begun]


def _downstream(triggers: Sequence[Trigger], nodes: Sequence[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return ``nodes`` with all that follow from them, and the names of the triggers on the way."""
    nodes_after, passed = set(nodes), set[str]()
    while True:
        new = [
            trigger
            for trigger in triggers
            if trigger.name not in passed and nodes_after & {*map(action_node, trigger.conditions)}
        ]
        if not new:
            return frozenset(nodes_after), frozenset(passed)
        passed |= {trigger.name for trigger in new}
        nodes_after |= {action_node(action) for trigger in new for action in trigger.actions}


def _new_id() -> str:
    return f"wr_{secrets.token_hex(32)}"


def _check_properties(properties: Mapping[str, str]) -> None:
    if len(properties) > _MOST_PROPERTIES:
        raise InvalidInput(f"A workflow's run has up to {_MOST_PROPERTIES} properties.")
