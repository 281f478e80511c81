"""Glue's operations on interactive sessions and their statements."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from penstock.api.aws.jobs.shapes import PAGE, chosen
from penstock.api.aws.protocol.handlers import call, paged, under
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
    shape = partial(_shape, service)

    def create(request: Request, _context: RequestContext) -> Response:
        settings = chosen(request, _SETTINGS)
        settings["Command"] = chosen(request["Command"], ("Name", "PythonVersion"))
        if request.get("Connections"):
            settings["Connections"] = chosen(request["Connections"], ("Connections",))
        return {"Session": shape(service.create(request["Id"], settings, request.get("Tags") or {}))}

    def get_all(request: Request, _context: RequestContext) -> Response:
        tags = dict(request.get("Tags") or {}).items()
        page = service.page(limit=request.get("MaxResults") or PAGE, token=request.get("NextToken"))
        sessions = [session for session in page.items if tags <= dict(session.tags).items()]
        return paged(page, Ids=[session.id for session in sessions], Sessions=[shape(session) for session in sessions])

    return {
        "CreateSession": create,
        "GetSession": call(service.get, "Id", answer=under("Session", shape)),
        "ListSessions": get_all,
        "StopSession": call(service.stop, "Id", echo="Id"),
        "DeleteSession": call(service.delete, "Id", echo="Id"),
    }


def _statements(service: SessionService) -> dict[str, Handler]:
    def get_all(request: Request, _context: RequestContext) -> Response:
        page = service.statements(request["SessionId"], limit=PAGE, token=request.get("NextToken"))
        return paged(page, Statements=[_statement(statement) for statement in page.items])

    return {
        "RunStatement": call(service.submit, "SessionId", "Code", answer=under("Id", lambda statement: statement.number)),
        "GetStatement": call(service.statement, "SessionId", "Id", answer=under("Statement", _statement)),
        "ListStatements": get_all,
        "CancelStatement": call(service.cancel, "SessionId", "Id"),
    }


def _shape(service: SessionService, session: Session) -> Mapping[str, Any]:
    run, status = service.run(session.id), service.status(session)
    return present(
        **chosen(session.settings, _SHOWN),
        Id=session.id,
        CreatedOn=session.created,
        Status=status,
        ErrorMessage=run.error if run is not None else None,
        Progress=1.0 if session.ready else 0.0,
        CompletedOn=run.completed if run is not None else None,
        ExecutionTime=float(run.seconds) if run is not None else None,
    )


def _statement(statement: Statement) -> Mapping[str, Any]:
    finished = not statement.active
    return present(
        Id=statement.number,
        Code=statement.code,
        State=statement.state,
        Output=_output(statement) if finished else None,
        Progress=1.0 if finished else 0.0,
        StartedOn=int(statement.created.timestamp() * 1000),
        CompletedOn=int(statement.completed.timestamp() * 1000) if statement.completed is not None else 0,
    )


def _output(statement: Statement) -> Mapping[str, Any]:
    """Return Glue's StatementOutput. Its status has the words of Livy: dbt-glue and AWS's kernel compare with ``ok``."""
    if statement.state == "CANCELLED":
        return {**statement.output, "Status": "CANCELLED"}
    return {**statement.output, "Status": "error" if "ErrorName" in statement.output else "ok"}
