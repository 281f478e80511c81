"""Glue's operations on triggers."""

from collections.abc import Callable, Mapping
from typing import Any

from penstock.api.aws.jobs.shapes import PAGE, check_author, paged, wanted
from penstock.api.aws.protocol.operations import Handler, OperationSet, RequestContext
from penstock.api.aws.protocol.values import Request, Response, present
from penstock.errors import NotFound
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

    def named(act: Callable[[str], None]) -> Handler:
        def handle(request: Request, _context: RequestContext) -> Response:
            act(request["Name"])
            return {"Name": request["Name"]}

        return handle

    return {
        "CreateTrigger": create,
        "UpdateTrigger": update,
        "DeleteTrigger": named(service.delete),
        "StartTrigger": named(service.start),
        "StopTrigger": named(service.stop),
    }


def _readers(service: TriggerService) -> dict[str, Handler]:
    def get(request: Request, _context: RequestContext) -> Response:
        return {"Trigger": trigger_shape(service.get(request["Name"]))}

    def get_all(request: Request, _context: RequestContext) -> Response:
        job = request.get("DependentJobName")
        page = service.page(limit=request.get("MaxResults") or PAGE, token=request.get("NextToken"))
        return paged(page, Triggers=[trigger_shape(item) for item in page.items if _starts(item, job)])

    def names(request: Request, _context: RequestContext) -> Response:
        job, tags = request.get("DependentJobName"), dict(request.get("Tags") or {}).items()
        page = service.page(limit=request.get("MaxResults") or PAGE, token=request.get("NextToken"))
        matches = [item.name for item in page.items if _starts(item, job) and tags <= dict(item.tags).items()]
        return paged(page, TriggerNames=matches)

    def get_several(request: Request, _context: RequestContext) -> Response:
        triggers: list[Mapping[str, Any]] = []
        missing: list[str] = []
        for name in dict.fromkeys(request["TriggerNames"]):
            try:
                triggers.append(trigger_shape(service.get(name)))
            except NotFound:
                missing.append(name)
        return {"Triggers": triggers, "TriggersNotFound": missing}

    return {"GetTrigger": get, "GetTriggers": get_all, "ListTriggers": names, "BatchGetTriggers": get_several}


def _starts(trigger: Trigger, job: str | None) -> bool:
    return job is None or any(action.get("JobName") == job for action in trigger.actions)


def _settings(request: Request) -> Mapping[str, Any]:
    settings = wanted(request, ("Description", "Schedule"))
    if request.get("Actions") is not None:
        settings["Actions"] = [_action(action) for action in request["Actions"]]
    if request.get("Predicate") is not None:
        conditions = [wanted(condition, _CONDITION) for condition in request["Predicate"].get("Conditions") or ()]
        settings["Predicate"] = present(Logical=request["Predicate"].get("Logical"), Conditions=conditions or None)
    return settings


def _action(shape: Request) -> Mapping[str, Any]:
    action = wanted(shape, _ACTION)
    if shape.get("NotificationProperty"):
        action["NotificationProperty"] = wanted(shape["NotificationProperty"], ("NotifyDelayAfter",))
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
