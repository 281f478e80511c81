"""Which resources Glue's operations are authorized on."""

from collections.abc import Sequence
from functools import lru_cache

from penstock.api.aws.authorization.resource_context import Builder, ResourceContext, each_by
from penstock.api.aws.protocol.values import Request
from penstock.names import arn, canonical
from penstock.registry.identity import DEFAULT_REGISTRY, registry_resource, schema_resource
from penstock.registry.model import SchemaKey

__all__ = ["GLUE"]


def _registry(request: Request, context: ResourceContext) -> Sequence[str]:
    return (_registry_arn(request.get("RegistryId") or {}, context),)


def _registry_arn(registry_id: Request, context: ResourceContext) -> str:
    text = registry_id.get("RegistryArn")
    if text:
        return canonical(text)
    return context.glue(registry_resource(registry_id.get("RegistryName") or DEFAULT_REGISTRY))


def _new_registry(request: Request, context: ResourceContext) -> Sequence[str]:
    return (context.glue(registry_resource(request["RegistryName"])),)


def _registries(_request: Request, context: ResourceContext) -> Sequence[str]:
    return (context.glue("registry/*"),)


def _registry_or_all(request: Request, context: ResourceContext) -> Sequence[str]:
    return _registry(request, context) if request.get("RegistryId") else _registries(request, context)


def _schema(request: Request, context: ResourceContext) -> Sequence[str]:
    schema_id = request.get("SchemaId") or {}
    text = schema_id.get("SchemaArn")
    if not text:
        return _schema_arns(SchemaKey(schema_id.get("RegistryName", ""), schema_id.get("SchemaName", "")), context)
    text = canonical(text)
    head, _, resource = text.rpartition(":")
    parts = resource.split("/")
    # The handler rejects an ARN that is not a schema's; here it is authorized as given.
    return (f"{head}:{registry_resource(parts[1])}", text) if len(parts) == 3 else (text,)


def _schema_arns(key: SchemaKey, context: ResourceContext) -> Sequence[str]:
    return _arns_of_schema(context.region, context.account, key)


@lru_cache(maxsize=4096)
def _arns_of_schema(region: str, account: str, key: SchemaKey) -> Sequence[str]:
    # Called for each read by id: to authorize it, and for its audit event.
    return tuple(
        arn("glue", region, account, resource) for resource in (registry_resource(key.registry), schema_resource(key))
    )


def _new_schema(request: Request, context: ResourceContext) -> Sequence[str]:
    registry = _registry_arn(request.get("RegistryId") or {}, context)
    head, _, resource = registry.rpartition(":")
    name = resource.partition("/")[2]
    return (registry, f"{head}:{schema_resource(SchemaKey(name, request['SchemaName']))}")


def _version(request: Request, context: ResourceContext) -> Sequence[str]:
    version_id = request.get("SchemaVersionId")
    if not version_id:
        return _schema(request, context)
    key = context.lookup.schema_of_version(version_id)
    # An unknown id is authorized on all schemas, so that a caller who may not read them all cannot find out which exist.
    return (context.glue("schema/*"),) if key is None else _schema_arns(key, context)


def _named_resource(request: Request, context: ResourceContext) -> Sequence[str]:
    text = request.get("ResourceArn")
    if not text:
        return (context.glue("catalog"),)
    text = canonical(text)
    head, _, resource = text.rpartition(":")
    parts = resource.split("/")
    # A schema is also authorized on its registry, whether it is named by ARN or by name.
    return (f"{head}:{registry_resource(parts[1])}", text) if parts[0] == "schema" and len(parts) == 3 else (text,)


def _catalog(_request: Request, context: ResourceContext) -> Sequence[str]:
    return (context.glue("catalog"),)


def _database(request: Request, context: ResourceContext) -> Sequence[str]:
    names = {request.get("Name"), request.get("DatabaseInput", {}).get("Name")} - {None}
    return (context.glue("catalog"), *(context.glue(f"database/{name}".lower()) for name in sorted(map(str, names))))


def _database_and_all_in_it(request: Request, context: ResourceContext) -> Sequence[str]:
    # The tables and functions that are deleted with a database are authorized, too.
    name = request["Name"].lower()
    return (*_database(request, context), context.glue(f"table/{name}/*"), context.glue(f"userDefinedFunction/{name}/*"))


def _table(request: Request, context: ResourceContext) -> Sequence[str]:
    names = {request.get("TableName"), request.get("Name"), request.get("TableInput", {}).get("Name")} - {None}
    return _tables_of(request, context, sorted(map(str, names)) or ["*"])


def _tables(request: Request, context: ResourceContext) -> Sequence[str]:
    return _tables_of(request, context, request.get("TablesToDelete") or ["*"])


def _tables_container(request: Request, context: ResourceContext) -> Sequence[str]:
    return _tables_of(request, context, ())


def _tables_of(request: Request, context: ResourceContext, names: Sequence[str]) -> Sequence[str]:
    database = request["DatabaseName"]
    tables = (context.glue(f"table/{database}/{name}".lower()) for name in names)
    return (context.glue("catalog"), context.glue(f"database/{database}".lower()), *tables)


def _optimizers(request: Request, context: ResourceContext) -> Sequence[str]:
    named = [
        _tables_of({"DatabaseName": entry.get("databaseName", "*")}, context, [entry.get("tableName", "*")])
        for entry in request.get("Entries") or ()
    ]
    return list(dict.fromkeys(each for resources in named for each in resources)) or (context.glue("catalog"),)


def _function(request: Request, context: ResourceContext) -> Sequence[str]:
    names = {request.get("FunctionName"), request.get("FunctionInput", {}).get("FunctionName")} - {None}
    return _functions_of(request, context, sorted(map(str, names)))


def _functions(request: Request, context: ResourceContext) -> Sequence[str]:
    return _functions_of(request, context, ["*"])


def _functions_of(request: Request, context: ResourceContext, names: Sequence[str]) -> Sequence[str]:
    database = request.get("DatabaseName") or "*"
    functions = (context.glue(f"userDefinedFunction/{f'{database}/{name}'.lower()}") for name in names)
    return (context.glue("catalog"), context.glue(f"database/{database}".lower()), *functions)


def _crawler(request: Request, context: ResourceContext) -> Sequence[str]:
    return (context.glue(f"crawler/{request.get('CrawlerName') or request['Name']}"),)


def _crawlers(request: Request, context: ResourceContext) -> Sequence[str]:
    names = request.get("CrawlerNames") or request.get("CrawlerNameList") or ["*"]
    return [context.glue(f"crawler/{name}") for name in names]


def _job(request: Request, context: ResourceContext) -> Sequence[str]:
    return (context.glue(f"job/{request.get('JobName') or request['Name']}"),)


def _jobs(request: Request, context: ResourceContext) -> Sequence[str]:
    return [context.glue(f"job/{name}") for name in request.get("JobNames") or ["*"]]


def _named(kind: str, member: str | None = None) -> Builder:
    """Return the builder for operations on the ``kind`` that they name, or on those in the list ``member``, or on all."""

    def builder(request: Request, context: ResourceContext) -> Sequence[str]:
        names = [request["Name"]] if member is None else request.get(member) or ["*"]
        return [context.glue(f"{kind}/{name}") for name in names]

    return builder


def _session(request: Request, context: ResourceContext) -> Sequence[str]:
    # The Id of a statement's request is the statement's number.
    return (context.glue(f"session/{request.get('SessionId') or request.get('Id') or '*'}"),)


def _connection(request: Request, context: ResourceContext) -> Sequence[str]:
    names = {request.get("ConnectionName"), request.get("Name"), request.get("ConnectionInput", {}).get("Name")} - {None}
    return _connections_of(context, sorted(map(str, names)))


def _connections(request: Request, context: ResourceContext) -> Sequence[str]:
    return _connections_of(context, request.get("ConnectionNameList") or ["*"])


def _connections_of(context: ResourceContext, names: Sequence[str]) -> Sequence[str]:
    return (context.glue("catalog"), *(context.glue(f"connection/{name}") for name in names))


GLUE: dict[str, Builder] = {
    **each_by(_registry, "DeleteRegistry", "GetRegistry", "UpdateRegistry"),
    "CreateRegistry": _new_registry,
    "ListRegistries": _registries,
    "ListSchemas": _registry_or_all,
    "CreateSchema": _new_schema,
    **each_by(
        _schema, "DeleteSchema", "DeleteSchemaVersions", "GetSchema", "GetSchemaByDefinition", "GetSchemaVersionsDiff"
    ),
    **each_by(_schema, "ListSchemaVersions", "RegisterSchemaVersion", "UpdateSchema"),
    **each_by(_version, "GetSchemaVersion", "PutSchemaVersionMetadata", "QuerySchemaVersionMetadata"),
    "RemoveSchemaVersionMetadata": _version,
    **each_by(_named_resource, "GetTags", "TagResource", "UntagResource"),
    **each_by(_named_resource, "DeleteResourcePolicy", "GetResourcePolicy", "PutResourcePolicy"),
    "GetResourcePolicies": _catalog,
    **each_by(_database, "CreateDatabase", "GetDatabase", "UpdateDatabase"),
    "DeleteDatabase": _database_and_all_in_it,
    **each_by(_catalog, "GetCatalog", "GetDatabases", "SearchTables"),
    **each_by(_table, "CreateTable", "DeleteTable", "GetTable", "UpdateTable"),
    **each_by(_table, "BatchDeleteTableVersion", "DeleteTableVersion", "GetTableVersion", "GetTableVersions"),
    **each_by(_table, "BatchCreatePartition", "BatchDeletePartition", "BatchGetPartition", "BatchUpdatePartition"),
    **each_by(_table, "CreatePartition", "DeletePartition", "GetPartition", "GetPartitions", "UpdatePartition"),
    "BatchDeleteTable": _tables,
    "GetTables": _tables_container,
    **each_by(_table, "CreatePartitionIndex", "DeletePartitionIndex", "GetPartitionIndexes"),
    **each_by(_table, *(f"{verb}ColumnStatisticsForTable" for verb in ("Delete", "Get", "Update"))),
    **each_by(_table, *(f"{verb}ColumnStatisticsForPartition" for verb in ("Delete", "Get", "Update"))),
    **each_by(_function, *(f"{verb}UserDefinedFunction" for verb in ("Create", "Delete", "Get", "Update"))),
    "GetUserDefinedFunctions": _functions,
    **each_by(
        _table, *(f"{verb}TableOptimizer" for verb in ("Create", "Delete", "Get", "Update")), "ListTableOptimizerRuns"
    ),
    "BatchGetTableOptimizer": _optimizers,
    **each_by(_catalog, "GetCatalog", "GetCatalogs", "GetCatalogImportStatus", "ImportCatalogToGlue"),
    **each_by(_catalog, "GetDataCatalogEncryptionSettings", "PutDataCatalogEncryptionSettings"),
    **each_by(_connection, "CreateConnection", "DeleteConnection", "GetConnection", "UpdateConnection"),
    **each_by(_connections, "BatchDeleteConnection", "GetConnections"),
    **each_by(_job, "CreateJob", "DeleteJob", "GetJob", "UpdateJob", "StartJobRun", "GetJobRun", "GetJobRuns"),
    **each_by(_job, "BatchStopJobRun", "GetJobBookmark", "ResetJobBookmark"),
    **each_by(_jobs, "BatchGetJobs", "GetJobs", "ListJobs"),
    **each_by(_named("trigger"), "CreateTrigger", "DeleteTrigger", "GetTrigger", "UpdateTrigger"),
    **each_by(_session, "CreateSession", "DeleteSession", "GetSession", "StopSession", "RunStatement", "GetStatement"),
    **each_by(_session, "CancelStatement", "ListStatements", "ListSessions"),
    **each_by(_named("trigger"), "StartTrigger", "StopTrigger"),
    **each_by(_named("trigger", "TriggerNames"), "BatchGetTriggers", "GetTriggers", "ListTriggers"),
    **each_by(_named("workflow"), "CreateWorkflow", "DeleteWorkflow", "GetWorkflow", "UpdateWorkflow"),
    **each_by(_named("workflow"), "GetWorkflowRun", "GetWorkflowRuns", "GetWorkflowRunProperties"),
    **each_by(_named("workflow"), "PutWorkflowRunProperties", "ResumeWorkflowRun", "StartWorkflowRun", "StopWorkflowRun"),
    **each_by(_named("workflow", "Names"), "BatchGetWorkflows", "ListWorkflows"),
    **each_by(
        _named("dataQualityRuleset"), *(f"{verb}DataQualityRuleset" for verb in ("Create", "Delete", "Get", "Update"))
    ),
    "ListDataQualityRulesets": lambda _request, context: (context.glue("dataQualityRuleset/*"),),
    **each_by(_crawler, "CreateCrawler", "DeleteCrawler", "GetCrawler", "StartCrawler", "StopCrawler", "UpdateCrawler"),
    **each_by(_crawler, "ListCrawls", "StartCrawlerSchedule", "StopCrawlerSchedule", "UpdateCrawlerSchedule"),
    **each_by(_crawlers, "BatchGetCrawlers", "GetCrawlers", "ListCrawlers", "GetCrawlerMetrics"),
}
