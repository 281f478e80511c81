"""What a Deny on a work group is attacked with: each of Athena's operations that is served."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.security.access.denied_requests import Arguments, World

__all__ = ["DENIED", "LISTED", "NEITHER"]

Requests = Mapping[tuple[str, str], Callable[[World], Arguments]]


def _group(**more: Any) -> Callable[[World], Arguments]:
    return lambda world: {"WorkGroup": world.secret, **more}


def _statement(member: str = "QueryExecutionId") -> Callable[[World], Arguments]:
    return lambda world: {member: world.query_id if member == "QueryExecutionId" else [world.query_id]}


def _named(**more: Any) -> Callable[[World], Arguments]:
    return lambda world: {"NamedQueryId": world.named_query_id, **more}


def _arn(**more: Any) -> Callable[[World], Arguments]:
    place = "arn:aws:athena:{0.region}:{0.account}:workgroup/"
    return lambda world: {"ResourceARN": place.format(world.target) + world.secret, **more}


def _catalog(end: str = "", **more: Any) -> Callable[[World], Arguments]:
    return lambda world: {"Name": f"{world.secret}{end}", **more}


_PREPARED = {"StatementName": "by_id"}
_QUERY = {"Name": "saved", "QueryString": "SELECT 1"}

DENIED: Requests = {
    ("athena", "GetDatabase"): lambda world: {
        "CatalogName": "AwsDataCatalog",
        "DatabaseName": world.secret.replace("-", "_").upper(),
    },
    ("athena", "GetTableMetadata"): lambda world: {
        "CatalogName": "AwsDataCatalog",
        "DatabaseName": world.database,
        "TableName": "Hushed",
    },
    ("athena", "CreateWorkGroup"): lambda world: {"Name": f"{world.secret}-new"},
    ("athena", "GetWorkGroup"): _group(),
    ("athena", "UpdateWorkGroup"): _group(State="DISABLED"),
    ("athena", "DeleteWorkGroup"): _group(RecursiveDeleteOption=True),
    ("athena", "StartQueryExecution"): _group(QueryString="SELECT 1"),
    ("athena", "ListQueryExecutions"): _group(),
    ("athena", "GetQueryExecution"): _statement(),
    ("athena", "BatchGetQueryExecution"): _statement("QueryExecutionIds"),
    ("athena", "GetQueryResults"): _statement(),
    ("athena", "GetQueryRuntimeStatistics"): _statement(),
    ("athena", "StopQueryExecution"): _statement(),
    ("athena", "CreatePreparedStatement"): _group(QueryStatement="SELECT 1", **_PREPARED),
    ("athena", "GetPreparedStatement"): _group(**_PREPARED),
    ("athena", "BatchGetPreparedStatement"): _group(PreparedStatementNames=["by_id"]),
    ("athena", "ListPreparedStatements"): _group(),
    ("athena", "UpdatePreparedStatement"): _group(QueryStatement="SELECT 1", **_PREPARED),
    ("athena", "DeletePreparedStatement"): _group(**_PREPARED),
    ("athena", "CreateNamedQuery"): _group(Database="default", **_QUERY),
    ("athena", "ListNamedQueries"): _group(),
    ("athena", "GetNamedQuery"): _named(),
    ("athena", "BatchGetNamedQuery"): lambda world: {"NamedQueryIds": [world.named_query_id]},
    ("athena", "UpdateNamedQuery"): _named(**_QUERY),
    ("athena", "DeleteNamedQuery"): _named(),
    ("athena", "CreateDataCatalog"): _catalog("-new", Type="GLUE"),
    ("athena", "GetDataCatalog"): _catalog(),
    ("athena", "UpdateDataCatalog"): _catalog(Type="GLUE"),
    ("athena", "DeleteDataCatalog"): _catalog(),
    ("athena", "ListTagsForResource"): _arn(),
    ("athena", "TagResource"): _arn(Tags=[{"Key": "a", "Value": "b"}]),
    ("athena", "UntagResource"): _arn(TagKeys=["a"]),
}

LISTED: Requests = {
    ("athena", "ListWorkGroups"): lambda _: {},
    ("athena", "ListDataCatalogs"): lambda _: {},
    ("athena", "ListDatabases"): lambda _: {"CatalogName": "AwsDataCatalog"},
    ("athena", "ListTableMetadata"): lambda world: {"CatalogName": "AwsDataCatalog", "DatabaseName": world.database},
}

NEITHER = {("athena", "ListEngineVersions")}
