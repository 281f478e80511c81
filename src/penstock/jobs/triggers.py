"""Triggers: what starts jobs and crawlers on demand, by a schedule, or when others have ended.

Source: Glue API reference, "CreateTrigger", "Predicate"; developer guide, "AWS Glue triggers".
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal

from penstock.cron import parse_cron
from penstock.errors import InvalidInput
from penstock.jobs.definitions import check_arguments
from penstock.jobs.errors import EntryNotFound, SettingNotServed
from penstock.jobs.model import JOBS
from penstock.jobs.named import TaggedEntries, TaggedEntry
from penstock.jobs.starters import code_arguments
from penstock.jobs.store import JobStore, Kind, all_entries
from penstock.tags import check_tags

__all__ = [
    "STARTS",
    "TRIGGERS",
    "WORKFLOWS",
    "Trigger",
    "TriggerService",
    "TriggerState",
    "Workflow",
    "action_node",
    "next_run",
    "triggers_of",
]

TriggerState = Literal["CREATED", "ACTIVATED", "DEACTIVATED"]
_QUOTA = 1_000  # "Max triggers per account"
_MOST_ACTIONS = 50  # "Max jobs per trigger"
STARTS = frozenset({"ON_DEMAND", "SCHEDULED"})
"""The types of triggers that start a workflow."""
_ENDS = frozenset({"SUCCEEDED", "STOPPED", "FAILED", "TIMEOUT"})
_CRAWL_ENDS = frozenset({"SUCCEEDED", "FAILED", "CANCELLED"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger(TaggedEntry):
    """A trigger. ``settings`` are Glue's Description, Schedule, Predicate and Actions.

    ``next_run`` is the time of a schedule's next run while it is activated. ``met`` has, for the conditions of a trigger
    outside of workflows, the run by which each is met by now; ``crawls`` the last crawl of each crawler that it has seen.
    """

    type: str
    workflow: str | None = None
    settings: Mapping[str, Any]
    state: TriggerState = "CREATED"
    next_run: datetime | None = None
    met: Mapping[str, str] = field(default_factory=dict)
    crawls: Mapping[str, str] = field(default_factory=dict)
    used: Mapping[str, str] = field(default_factory=dict)
    """By condition, the run by which it was met when the trigger was fired last."""

    @property
    def active(self) -> bool:
        """Whether it watches something: the clock, jobs or crawlers."""
        return self.state == "ACTIVATED"

    @property
    def actions(self) -> Sequence[Mapping[str, Any]]:
        """What it starts."""
        return tuple(self.settings.get("Actions") or ())

    @property
    def conditions(self) -> Sequence[Mapping[str, Any]]:
        """What it waits for."""
        return tuple((self.settings.get("Predicate") or {}).get("Conditions") or ())

    @property
    def any_condition(self) -> bool:
        """Whether one condition is enough."""
        return (self.settings.get("Predicate") or {}).get("Logical") == "ANY"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow(TaggedEntry):
    """A workflow. ``settings`` are Glue's Description, DefaultRunProperties and MaxConcurrentRuns."""

    settings: Mapping[str, Any]
    created: datetime
    modified: datetime


TRIGGERS = Kind("trigger", Trigger)
WORKFLOWS = Kind("workflow", Workflow)


def action_node(action: Mapping[str, Any]) -> str:
    """Return the id of the node that the job or crawler of an action, or of a condition, is in its workflow's graph."""
    crawler = action.get("CrawlerName")
    return f"wnode_crawler_{crawler}" if crawler else f"wnode_job_{action['JobName']}"


def triggers_of(store: JobStore, workflow: str) -> Sequence[Trigger]:
    """Return the triggers of a workflow."""
    return [entry for entry in all_entries(store, TRIGGERS) if entry.workflow == workflow]


def next_run(trigger: Trigger, now: datetime) -> datetime | None:
    """Return the time of a schedule's next run; None for other triggers."""
    schedule = trigger.settings.get("Schedule")
    return parse_cron(schedule).next_after(now) if trigger.type == "SCHEDULED" and schedule else None


class TriggerService(TaggedEntries[Trigger]):
    """The triggers of an account.

    ``fire`` starts the actions of a trigger on demand; ``is_crawler`` says whether there is a crawler of a name.
    """

    def __init__(
        self,
        store: JobStore,
        *,
        fire: Callable[[Trigger], None],
        is_crawler: Callable[[str], bool] = lambda _name: True,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        super().__init__(store, TRIGGERS, "trigger", quota=_QUOTA)
        self._fire = fire
        self._is_crawler = is_crawler
        self._now = now

    def create(self, trigger: Trigger, *, activate: bool) -> None:
        """Add a trigger, activated or not.

        Raises :class:`EntryExists`, :class:`InvalidInput`, :class:`TooManyEntries`; :class:`EntryNotFound` if what it starts
        or its workflow does not exist.
        """
        _check(trigger)
        self._check_actions(trigger.actions)
        self._check_workflow(trigger)
        check_tags(trigger.tags)
        if activate and trigger.type == "ON_DEMAND":
            raise InvalidInput("StartOnCreation is not for a trigger on demand.", remedy="Start it with StartTrigger.")
        self._add(self._activated(trigger) if activate else trigger)

    def update(self, name: str, settings: Mapping[str, Any]) -> Trigger:
        """Replace what ``settings`` has of a trigger. Raises :class:`EntryNotFound`, :class:`InvalidInput`."""
        self._check_actions(settings.get("Actions") or ())

        def change(trigger: Trigger) -> Trigger:
            changed = replace(trigger, settings={**trigger.settings, **settings}, met={}, used={})
            _check(changed)
            return replace(changed, next_run=next_run(changed, self._now()) if changed.active else None)

        return self._change(name, change)

    def code_arguments(self, actions: Sequence[Mapping[str, Any]]) -> Mapping[str, Sequence[str]]:
        """Return, by job, the arguments that the author of ``actions`` may only set with the right to update that job."""
        arguments = {
            (action["JobName"], number): code_arguments(self._store, action["JobName"], action.get("Arguments") or {})
            for number, action in enumerate(actions)
            if action.get("JobName")
        }
        return {job: names for (job, _), names in arguments.items() if names}

    def start(self, name: str) -> None:
        """Activate a trigger; one on demand is fired. Raises :class:`EntryNotFound`, and the errors of its actions."""
        trigger = self.get(name)
        if trigger.type == "ON_DEMAND":
            self._fire(trigger)
        else:
            self._change(name, self._activated)

    def stop(self, name: str) -> None:
        """Deactivate a trigger. Raises :class:`EntryNotFound`."""
        if self.get(name).type != "ON_DEMAND":
            self._change(name, lambda trigger: replace(trigger, state="DEACTIVATED", next_run=None, met={}))

    def delete(self, name: str) -> None:
        """Delete a trigger. A missing one is not an error, as in Glue."""
        self._store.delete(TRIGGERS, name)

    def _check_actions(self, actions: Sequence[Mapping[str, Any]]) -> None:
        for action in actions:
            job, crawler = action.get("JobName"), action.get("CrawlerName")
            if job and self._store.get(JOBS, job) is None:
                raise EntryNotFound("job", job)
            if crawler and not self._is_crawler(crawler):
                raise EntryNotFound("crawler", crawler)

    def _check_workflow(self, trigger: Trigger) -> None:
        """Refuse a second start trigger (developer guide, "Blueprint and workflow restrictions")."""
        if trigger.workflow is None:
            return
        if self._store.get(WORKFLOWS, trigger.workflow) is None:
            raise EntryNotFound("workflow", trigger.workflow)
        starts = [member.name for member in triggers_of(self._store, trigger.workflow) if member.type in STARTS]
        if trigger.type in STARTS and starts and trigger.name not in starts:
            raise InvalidInput(
                f"Workflow {trigger.workflow} has the start trigger {starts[0]}, and can have one.",
                remedy="Delete that first.",
            )

    def _activated(self, trigger: Trigger) -> Trigger:
        return replace(trigger, state="ACTIVATED", next_run=next_run(trigger, self._now()), met={}, crawls={})


def _check(trigger: Trigger) -> None:
    if trigger.type == "EVENT":
        raise SettingNotServed(
            "Triggers of the type EVENT are not served: there is no EventBridge here, and no SDK can send what fires them "
            "(glue:NotifyEvent).",
            remedy="Make the trigger ON_DEMAND, and call StartWorkflowRun or StartTrigger where the event occurs.",
        )
    if not 1 <= len(trigger.actions) <= _MOST_ACTIONS:
        raise InvalidInput(f"A trigger has from 1 to {_MOST_ACTIONS} actions.")
    for action in trigger.actions:
        if bool(action.get("JobName")) is bool(action.get("CrawlerName")):
            raise InvalidInput("An action starts either a job or a crawler.", remedy="Give JobName or CrawlerName.")
        check_arguments(action.get("Arguments") or {})
    schedule = trigger.settings.get("Schedule")
    if (trigger.type == "SCHEDULED") is not bool(schedule):
        raise InvalidInput("A schedule is needed for SCHEDULED, and for no other type.", remedy="Write cron(0 12 * * ? *).")
    if schedule:
        parse_cron(schedule)
    _check_conditions(trigger)


def _check_conditions(trigger: Trigger) -> None:
    if (trigger.type == "CONDITIONAL") is not bool(trigger.conditions):
        raise InvalidInput("A predicate is needed for CONDITIONAL, and for no other type.")
    jobs = {action["JobName"] for action in trigger.actions if action.get("JobName")}
    for condition in trigger.conditions:
        if condition.get("JobName") in jobs:
            raise InvalidInput(
                f"Job {condition['JobName']} cannot be in the predicate and in the actions of a conditional trigger: "
                "it would start itself again.",
                remedy="Use a scheduled trigger to repeat a job.",
            )
        of_job, of_crawler = condition.get("JobName"), condition.get("CrawlerName")
        state = condition.get("State") if of_job else condition.get("CrawlState")
        if bool(of_job) is bool(of_crawler) or state not in (_ENDS if of_job else _CRAWL_ENDS):
            raise InvalidInput(
                "A condition is the end of a job or of a crawler.",
                remedy="Give JobName and State (SUCCEEDED, STOPPED, FAILED, TIMEOUT), or CrawlerName and CrawlState "
                "(SUCCEEDED, FAILED, CANCELLED).",
            )
