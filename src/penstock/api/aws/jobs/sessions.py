"""Glue's operations on interactive sessions and their statements."""

from collections.abc import Callable, Mapping
from typing import Any

from penstock.api.aws.jobs.shapes import PAGE, paged, wanted
from penstock.api.aws.protocol.operations import Handler, OperationSet, RequestContext
from penstock.api.aws.protocol.values import Request, Response, present
from penstock.jobs.sessions import Session, SessionService, Statement

__all__ = ["operations"]

_SETTINGS = (
    *("Description", "Role", "Timeout", "IdleTimeout", "DefaultArguments", "MaxCapacity", "NumberOfWorkers"),
    *("WorkerType", "SecurityConfiguration", "GlueVersion"),
)
_SHOWN = (
    *("Description", "Role", "Command", "IdleTimeout", "DefaultArguments", "Connections", "MaxCapacity"),
    *("NumberOfWorkers", "WorkerType", "SecurityConfiguration", "GlueVersion"),
)


def operations(service: SessionService) -> OperationSet:
    """Return every operation of Glue on sessions that ``service`` answers."""
    return OperationSet(service="glue", handlers={**_sessions(service), **_statements(service)})


def _sessions(service: SessionService) -> dict[str, Handler]:
    def create(request: Request, _context: RequestContext) -> Response:
        settings = wanted(request, _SETTINGS)
        settings["Command"] = wanted(request["Command"], ("Name", "PythonVersion"))
        if request.get("Connections"):
            settings["Connections"] = wanted(request["Connections"], ("Connections",))
        return {"Session": _shape(service, service.create(request["Id"], settings, request.get("Tags") or {}))}

    def get(request: Request, _context: RequestContext) -> Response:
        return {"Session": _shape(service, service.get(request["Id"]))}

    def get_all(request: Request, _context: RequestContext) -> Response:
        tags = dict(request.get("Tags") or {}).items()
        page = service.page(limit=request.get("MaxResults") or PAGE, token=request.get("NextToken"))
        sessions = [item for item in page.items if tags <= dict(item.tags).items()]
        return paged(
            page, Ids=[session.id for session in sessions], Sessions=[_shape(service, session) for session in sessions]
        )

    def named(act: Callable[[str], None]) -> Handler:
        def handle(request: Request, _context: RequestContext) -> Response:
            act(request["Id"])
            return {"Id": request["Id"]}

        return handle

    return {
        "CreateSession": create,
        "GetSession": get,
        "ListSessions": get_all,
        "StopSession": named(service.stop),
        "DeleteSession": named(service.delete),
    }


def _statements(service: SessionService) -> dict[str, Handler]:
    def run(request: Request, _context: RequestContext) -> Response:
        code = request["Code"]
        return {"Id": service.submit(request["SessionId"], code).number}

    def get(request: Request, _context: RequestContext) -> Response:
        number = request["Id"]
        return {"Statement": _statement(service.statement(request["SessionId"], number))}

    def get_all(request: Request, _context: RequestContext) -> Response:
        page = service.statements(request["SessionId"], limit=PAGE, token=request.get("NextToken"))
        return paged(page, Statements=[_statement(item) for item in page.items])

    def cancel(request: Request, _context: RequestContext) -> Response:
        number = request["Id"]
        service.cancel(request["SessionId"], number)
        return {}

    return {"RunStatement": run, "GetStatement": get, "ListStatements": get_all, "CancelStatement": cancel}


def _shape(service: SessionService, session: Session) -> Mapping[str, Any]:
    run, status = service.run(session.id), service.status(session)
    return present(
        **wanted(session.settings, _SHOWN),
        Id=session.id,
        CreatedOn=session.created,
        Status=status,
        ErrorMessage=run.error if run is not None else None,
        Progress=1.0 if session.ready else 0.0,
        CompletedOn=run.completed if run is not None else None,
        ExecutionTime=float(run.seconds) if run is not None else None,
    )


def _statement(statement: Statement) -> Mapping[str, Any]:
    done = not statement.active
    return present(
        Id=statement.number,
        Code=statement.code,
        State=statement.state,
        Output=_output(statement) if done else None,
        Progress=1.0 if done else 0.0,
        StartedOn=int(statement.created.timestamp() * 1000),
        CompletedOn=int(statement.completed.timestamp() * 1000) if statement.completed is not None else 0,
    )


def _output(statement: Statement) -> Mapping[str, Any]:
    """Return Glue's StatementOutput. Its status has the words of Livy: dbt-glue and AWS's kernel compare with ``ok``."""
    if statement.state == "CANCELLED":
        return {**statement.output, "Status": "CANCELLED"}
    return {**statement.output, "Status": "error" if "ErrorName" in statement.output else "ok"}
