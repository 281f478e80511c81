"""Which resources the operations of Athena, Secrets Manager and CloudWatch Logs are authorized on."""

from collections.abc import Sequence

from penstock.api.aws.authorization.resource_context import EVERYTHING, Builder, ResourceContext, each_by
from penstock.api.aws.protocol.values import Request
from penstock.names import arn, canonical

__all__ = ["ATHENA", "LOGS", "SECRETS", "log_stream_resource"]


def _work_group(request: Request, context: ResourceContext) -> Sequence[str]:
    return (_work_group_arn(request.get("WorkGroup") or "primary", context),)


def _new_work_group(request: Request, context: ResourceContext) -> Sequence[str]:
    return (_work_group_arn(request["Name"], context),)


def _work_groups_of(request: Request, context: ResourceContext) -> Sequence[str]:
    """Return the work groups of the statements or named queries of a request; of unknown ones, any."""
    ids: list[str] = []
    for member in ("QueryExecutionId", "NamedQueryId"):
        ids += [request[member]] if member in request else []
    ids += request.get("QueryExecutionIds") or request.get("NamedQueryIds") or []
    names = {context.lookup.work_group_of(each) or "*" for each in ids} or {"*"}
    return [_work_group_arn(name, context) for name in sorted(names)]


def _work_group_arn(name: str, context: ResourceContext) -> str:
    return arn("athena", context.region, context.account, f"workgroup/{name}")


def _tagged_of_athena(request: Request, _context: ResourceContext) -> Sequence[str]:
    return (canonical(request["ResourceARN"]),)


def _data_catalog(request: Request, context: ResourceContext) -> Sequence[str]:
    name = request.get("CatalogName") or request.get("Name") or "AwsDataCatalog"
    return (arn("athena", context.region, context.account, f"datacatalog/{name}"),)


def _secret(request: Request, context: ResourceContext) -> Sequence[str]:
    secret_id = request["SecretId"]
    found = context.lookup.secret_arn(secret_id)
    if found is None:
        found = secret_id if secret_id.startswith("arn:") else _secret_named(secret_id, context)
    return (found,)


def _new_secret(request: Request, context: ResourceContext) -> Sequence[str]:
    return (_secret_named(request["Name"], context),)


def _secret_named(name: str, context: ResourceContext) -> str:
    return arn("secretsmanager", context.region, context.account, f"secret:{name}")


def log_stream_resource(group: str | None, stream: str, context: ResourceContext) -> str:
    """Return the ARN of a log's stream; that of its group, as AWS's decisions name it, for an empty ``stream``."""
    return arn("logs", context.region, context.account, f"log-group:{group or '*'}:log-stream:{stream}")


def _log_groups(_request: Request, context: ResourceContext) -> Sequence[str]:
    # As AWS's decisions name it: a right to some groups alone does not list them.
    return (arn("logs", context.region, context.account, "log-group::log-stream:"),)


def _log_group(request: Request, context: ResourceContext) -> Sequence[str]:
    return (log_stream_resource(request.get("logGroupName"), "", context),)


def _tagged_log_group(request: Request, context: ResourceContext) -> Sequence[str]:
    named = str(request["resourceArn"]).split(":", 6)
    # The same resource as of operations that name the group.
    name = named[6].removesuffix(":*") if named[5:6] == ["log-group"] and len(named) == 7 else "*"
    return (log_stream_resource(name, "", context),)


def _log_stream(request: Request, context: ResourceContext) -> Sequence[str]:
    return (log_stream_resource(request.get("logGroupName"), request.get("logStreamName") or "*", context),)


def _log_search(request: Request, context: ResourceContext) -> Sequence[str]:
    """AWS authorizes a search on the group alone; here it is denied, too, for a stream that it names and that is denied."""
    names = ("", *(request.get("logStreamNames") or ()))
    return [log_stream_resource(request.get("logGroupName"), name, context) for name in names]


ATHENA: dict[str, Builder] = {
    **each_by(
        _work_groups_of, "BatchGetQueryExecution", "GetQueryExecution", "GetQueryResults", "GetQueryRuntimeStatistics"
    ),
    **each_by(_work_groups_of, "StopQueryExecution", "BatchGetNamedQuery", "GetNamedQuery", "UpdateNamedQuery"),
    **each_by(_work_groups_of, "DeleteNamedQuery"),
    **each_by(
        _work_group, "GetWorkGroup", "UpdateWorkGroup", "DeleteWorkGroup", "ListQueryExecutions", "StartQueryExecution"
    ),
    **each_by(_work_group, "CreateNamedQuery", "ListNamedQueries", "CreatePreparedStatement", "GetPreparedStatement"),
    **each_by(_work_group, "BatchGetPreparedStatement", "ListPreparedStatements", "UpdatePreparedStatement"),
    **each_by(_work_group, "DeletePreparedStatement"),
    **each_by(_tagged_of_athena, "ListTagsForResource", "TagResource", "UntagResource"),
    "CreateWorkGroup": _new_work_group,
    **each_by(_data_catalog, "CreateDataCatalog", "DeleteDataCatalog", "UpdateDataCatalog"),
    **each_by(_data_catalog, "GetDataCatalog", "GetDatabase", "GetTableMetadata", "ListDatabases", "ListTableMetadata"),
}
SECRETS: dict[str, Builder] = {
    "CreateSecret": _new_secret,
    **each_by(_secret, "DeleteSecret", "DescribeSecret", "GetSecretValue", "ListSecretVersionIds", "PutSecretValue"),
    **each_by(_secret, "RestoreSecret", "TagResource", "UntagResource", "UpdateSecret"),
    **each_by(_secret, "PutResourcePolicy", "DeleteResourcePolicy"),
    "ValidateResourcePolicy": lambda request, context: _secret(request, context) if "SecretId" in request else EVERYTHING,
    **each_by(_secret, "GetResourcePolicy", "UpdateSecretVersionStage", "RotateSecret", "CancelRotateSecret"),
}
LOGS: dict[str, Builder] = {
    "DescribeLogGroups": _log_groups,
    **each_by(_log_group, "DescribeLogStreams", "CreateLogGroup", "DeleteLogGroup", "PutRetentionPolicy"),
    **each_by(_log_group, "DeleteRetentionPolicy", "TagLogGroup", "UntagLogGroup", "ListTagsLogGroup"),
    **each_by(_tagged_log_group, "TagResource", "UntagResource", "ListTagsForResource"),
    "FilterLogEvents": _log_search,
    "GetLogEvents": _log_stream,
}
