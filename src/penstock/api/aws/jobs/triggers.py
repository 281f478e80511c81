"""Glue's operations on triggers."""

from collections.abc import Mapping
from typing import Any

from penstock.api.aws.jobs.shapes import PAGE, check_author, chosen
from penstock.api.aws.protocol.handlers import batch_get, call, paged, under
from penstock.api.aws.protocol.operations import Handler, OperationSet, RequestContext
from penstock.api.aws.protocol.values import Request, Response, present
from penstock.jobs.triggers import Trigger, TriggerService

__all__ = ["operations", "trigger_shape"]

_ACTION = ("JobName", "Arguments", "Timeout", "SecurityConfiguration", "CrawlerName")
_CONDITION = ("LogicalOperator", "JobName", "State", "CrawlerName", "CrawlState")


def operations(service: TriggerService) -> OperationSet:
    """Return every operation of Glue on triggers."""
    return OperationSet(service="glue", handlers={**_writers(service), **_readers(service)})


def _writers(service: TriggerService) -> dict[str, Handler]:
    def check_authors(request: Request, context: RequestContext) -> None:
        for job, names in service.code_arguments(request.get("Actions") or ()).items():
            check_author(context, job, names)

    def create(request: Request, context: RequestContext) -> Response:
        check_authors(request, context)
        trigger = Trigger(
            name=request["Name"],
            type=request["Type"],
            workflow=request.get("WorkflowName"),
            settings=_settings(request),
            tags=request.get("Tags") or {},
        )
        service.create(trigger, activate=bool(request.get("StartOnCreation")))
        return {"Name": trigger.name}

    def update(request: Request, context: RequestContext) -> Response:
        check_authors(request["TriggerUpdate"], context)
        return {"Trigger": trigger_shape(service.update(request["Name"], _settings(request["TriggerUpdate"])))}

    return {
        "CreateTrigger": create,
        "UpdateTrigger": update,
        "DeleteTrigger": call(service.delete, "Name", echo="Name"),
        "StartTrigger": call(service.start, "Name", echo="Name"),
        "StopTrigger": call(service.stop, "Name", echo="Name"),
    }


def _readers(service: TriggerService) -> dict[str, Handler]:
    def get_all(request: Request, _context: RequestContext) -> Response:
        job = request.get("DependentJobName")
        page = service.page(limit=request.get("MaxResults") or PAGE, token=request.get("NextToken"))
        return paged(page, Triggers=[trigger_shape(trigger) for trigger in page.items if _starts(trigger, job)])

    def names(request: Request, _context: RequestContext) -> Response:
        job, tags = request.get("DependentJobName"), dict(request.get("Tags") or {}).items()
        page = service.page(limit=request.get("MaxResults") or PAGE, token=request.get("NextToken"))
        matches = [trigger.name for trigger in page.items if _starts(trigger, job) and tags <= dict(trigger.tags).items()]
        return paged(page, TriggerNames=matches)

    return {
        "GetTrigger": call(service.get, "Name", answer=under("Trigger", trigger_shape)),
        "GetTriggers": get_all,
        "ListTriggers": names,
        "BatchGetTriggers": batch_get("Triggers", trigger_shape, service.get, "TriggerNames", missing="TriggersNotFound"),
    }


def _starts(trigger: Trigger, job: str | None) -> bool:
    return job is None or any(action.get("JobName") == job for action in trigger.actions)


def _settings(request: Request) -> Mapping[str, Any]:
    settings = chosen(request, ("Description", "Schedule"))
    if request.get("Actions") is not None:
        settings["Actions"] = [_action(action) for action in request["Actions"]]
    if request.get("Predicate") is not None:
        conditions = [chosen(condition, _CONDITION) for condition in request["Predicate"].get("Conditions") or ()]
        settings["Predicate"] = present(Logical=request["Predicate"].get("Logical"), Conditions=conditions or None)
    return settings


def _action(shape: Request) -> Mapping[str, Any]:
    action = chosen(shape, _ACTION)
    if shape.get("NotificationProperty"):
        action["NotificationProperty"] = chosen(shape["NotificationProperty"], ("NotifyDelayAfter",))
    return action


def trigger_shape(trigger: Trigger) -> Mapping[str, Any]:
    """Return Glue's Trigger."""
    return present(
        **trigger.settings,
        Name=trigger.name,
        WorkflowName=trigger.workflow,
        Type=trigger.type,
        State=trigger.state,
    )
