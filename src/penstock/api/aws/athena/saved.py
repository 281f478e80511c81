"""Athena's operations on prepared statements and named queries."""

from collections.abc import Mapping

from penstock.api.aws.athena.answers import page_arguments, pages, unprocessed
from penstock.api.aws.protocol.handlers import call, member, paged, under
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request, Response, present
from penstock.query.service import QueryService
from penstock.sql.errors import InvalidRequest
from penstock.statements.named_queries import NamedQuery
from penstock.statements.prepared import PreparedStatement
from penstock.statements.work_groups import PRIMARY

__all__ = ["named_query_handlers", "prepared_statement_handlers"]

_MAX_BATCH = 50  # BatchGetPreparedStatement has no bound in the model; its neighbours have this one
_DESCRIPTION = member("Description", default=None)


def prepared_statement_handlers(service: QueryService) -> Mapping[str, Handler]:
    """Return the handlers of prepared statements, by operation."""
    prepared = service.prepared

    def group(request: Request, _context: RequestContext) -> str:
        return service.work_groups.get(request["WorkGroup"]).name

    def batch_get(request: Request, context: RequestContext) -> Response:
        names = list(dict.fromkeys(request["PreparedStatementNames"]))
        if len(names) > _MAX_BATCH:
            raise InvalidRequest(
                f"{len(names)} prepared statements were asked for.", remedy=f"Ask for {_MAX_BATCH} at a time."
            )
        statements = prepared.get_many(group(request, context), names)
        present_names = [statement.name for statement in statements]
        missing = unprocessed(names, present_names, "StatementName", "PreparedStatement", code="STATEMENT_NOT_FOUND")
        return {
            "PreparedStatements": [_prepared(statement) for statement in statements],
            "UnprocessedPreparedStatementNames": missing,
        }

    def list_all(request: Request, context: RequestContext) -> Response:
        with pages():
            page = prepared.list(group(request, context), **page_arguments(request))
        names = [{"StatementName": row.name, "LastModifiedTime": row.modified} for row in page.items]
        return paged(page, PreparedStatements=names)

    text = (group, "StatementName", "QueryStatement", _DESCRIPTION)
    return {
        "CreatePreparedStatement": call(prepared.create, *text),
        "GetPreparedStatement": call(prepared.get, group, "StatementName", answer=under("PreparedStatement", _prepared)),
        "BatchGetPreparedStatement": batch_get,
        "ListPreparedStatements": list_all,
        "UpdatePreparedStatement": call(prepared.update, *text),
        "DeletePreparedStatement": call(prepared.delete, group, "StatementName"),
    }


def named_query_handlers(service: QueryService) -> Mapping[str, Handler]:
    """Return the handlers of named queries, by operation."""
    queries = service.named_queries

    def group(request: Request, _context: RequestContext) -> str:
        return service.work_groups.get(request.get("WorkGroup") or PRIMARY).name

    def batch_get(request: Request, _context: RequestContext) -> Response:
        ids = list(dict.fromkeys(request["NamedQueryIds"]))
        rows = queries.get_many(ids)
        missing = unprocessed(ids, [row.id for row in rows], "NamedQueryId", "NamedQuery", code="INVALID_INPUT")
        return {"NamedQueries": [_named(row) for row in rows], "UnprocessedNamedQueryIds": missing}

    def list_all(request: Request, context: RequestContext) -> Response:
        with pages():
            page = queries.list(group(request, context), **page_arguments(request))
        return paged(page, NamedQueryIds=[row.id for row in page.items])

    return {
        "CreateNamedQuery": call(
            queries.create,
            group,
            "Name",
            "Database",
            "QueryString",
            description=_DESCRIPTION,
            token=member("ClientRequestToken", default=None),
            answer=under("NamedQueryId", str),
        ),
        "GetNamedQuery": call(queries.get, "NamedQueryId", answer=under("NamedQuery", _named)),
        "BatchGetNamedQuery": batch_get,
        "ListNamedQueries": list_all,
        "UpdateNamedQuery": call(queries.update, "NamedQueryId", name="Name", sql="QueryString", description=_DESCRIPTION),
        "DeleteNamedQuery": call(queries.delete, "NamedQueryId"),
    }


def _prepared(statement: PreparedStatement) -> Response:
    return present(
        StatementName=statement.name,
        QueryStatement=statement.sql,
        WorkGroupName=statement.work_group,
        LastModifiedTime=statement.modified,
        Description=statement.description,
    )


def _named(query: NamedQuery) -> Response:
    return present(
        NamedQueryId=query.id,
        Name=query.name,
        Database=query.database,
        QueryString=query.sql,
        WorkGroup=query.work_group,
        Description=query.description or None,
    )
