"""Athena's operations on prepared statements and named queries."""

from collections.abc import Mapping
from typing import Any

from penstock.api.aws.athena.answers import page_arguments, pages, unprocessed, with_token
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.query.service import QueryService
from penstock.sql.errors import InvalidRequest
from penstock.statements.named_queries import NamedQuery
from penstock.statements.prepared import PreparedStatement
from penstock.statements.work_groups import PRIMARY

__all__ = ["named_query_handlers", "prepared_statement_handlers"]

_MAX_BATCH = 50  # BatchGetPreparedStatement has no bound in the model; its neighbours have this one


def prepared_statement_handlers(service: QueryService) -> Mapping[str, Handler]:
    """Return the handlers of prepared statements, by operation."""
    handlers = _PreparedStatements(service)
    return {
        "CreatePreparedStatement": handlers.create,
        "GetPreparedStatement": handlers.get,
        "BatchGetPreparedStatement": handlers.batch_get,
        "ListPreparedStatements": handlers.list,
        "UpdatePreparedStatement": handlers.update,
        "DeletePreparedStatement": handlers.delete,
    }


def named_query_handlers(service: QueryService) -> Mapping[str, Handler]:
    """Return the handlers of named queries, by operation."""
    handlers = _NamedQueries(service)
    return {
        "CreateNamedQuery": handlers.create,
        "GetNamedQuery": handlers.get,
        "BatchGetNamedQuery": handlers.batch_get,
        "ListNamedQueries": handlers.list,
        "UpdateNamedQuery": handlers.update,
        "DeleteNamedQuery": handlers.delete,
    }


class _PreparedStatements:
    def __init__(self, service: QueryService) -> None:
        self._prepared = service.prepared
        self._groups = service.work_groups

    def create(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        self._prepared.create(
            self._group(request), request["StatementName"], request["QueryStatement"], request.get("Description")
        )
        return {}

    def get(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        return {"PreparedStatement": _prepared(self._prepared.get(self._group(request), request["StatementName"]))}

    def batch_get(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        names = list(dict.fromkeys(request["PreparedStatementNames"]))
        if len(names) > _MAX_BATCH:
            raise InvalidRequest(
                f"{len(names)} prepared statements were asked for.", remedy=f"Ask for {_MAX_BATCH} at a time."
            )
        statements = self._prepared.get_many(self._group(request), names)
        return {
            "PreparedStatements": [_prepared(statement) for statement in statements],
            "UnprocessedPreparedStatementNames": unprocessed(
                names,
                (statement.name for statement in statements),
                "StatementName",
                "PreparedStatement",
                code="STATEMENT_NOT_FOUND",
            ),
        }

    def list(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        with pages():
            page = self._prepared.list(self._group(request), **page_arguments(request))
        names = [{"StatementName": item.name, "LastModifiedTime": item.modified} for item in page.items]
        return with_token({"PreparedStatements": names}, page.next_token)

    def update(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        self._prepared.update(
            self._group(request), request["StatementName"], request["QueryStatement"], request.get("Description")
        )
        return {}

    def delete(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        self._prepared.delete(self._group(request), request["StatementName"])
        return {}

    def _group(self, request: Mapping[str, Any]) -> str:
        return self._groups.get(request["WorkGroup"]).name


class _NamedQueries:
    def __init__(self, service: QueryService) -> None:
        self._queries = service.named_queries
        self._groups = service.work_groups

    def create(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        query_id = self._queries.create(
            self._group(request),
            request["Name"],
            request["Database"],
            request["QueryString"],
            description=request.get("Description"),
            token=request.get("ClientRequestToken"),
        )
        return {"NamedQueryId": query_id}

    def get(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        return {"NamedQuery": _named(self._queries.get(request["NamedQueryId"]))}

    def batch_get(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        ids = list(dict.fromkeys(request["NamedQueryIds"]))
        queries = self._queries.get_many(ids)
        return {
            "NamedQueries": [_named(query) for query in queries],
            "UnprocessedNamedQueryIds": unprocessed(
                ids, (query.id for query in queries), "NamedQueryId", "NamedQuery", code="INVALID_INPUT"
            ),
        }

    def list(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        with pages():
            page = self._queries.list(self._group(request), **page_arguments(request))
        return with_token({"NamedQueryIds": [item.id for item in page.items]}, page.next_token)

    def update(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        self._queries.update(
            request["NamedQueryId"],
            name=request["Name"],
            sql=request["QueryString"],
            description=request.get("Description"),
        )
        return {}

    def delete(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        self._queries.delete(request["NamedQueryId"])
        return {}

    def _group(self, request: Mapping[str, Any]) -> str:
        return self._groups.get(request.get("WorkGroup") or PRIMARY).name


def _prepared(statement: PreparedStatement) -> Mapping[str, Any]:
    described = {} if statement.description is None else {"Description": statement.description}
    return {
        "StatementName": statement.name,
        "QueryStatement": statement.sql,
        "WorkGroupName": statement.work_group,
        "LastModifiedTime": statement.modified,
        **described,
    }


def _named(query: NamedQuery) -> Mapping[str, Any]:
    described = {} if not query.description else {"Description": query.description}
    return {
        "NamedQueryId": query.id,
        "Name": query.name,
        "Database": query.database,
        "QueryString": query.sql,
        "WorkGroup": query.work_group,
        **described,
    }
