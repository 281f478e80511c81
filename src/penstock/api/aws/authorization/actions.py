"""Which resources an action is authorized on: ARNs from a checked request.

Source: the service authorization reference, and "Overview of managing access permissions" in Glue's developer guide: an
action on a schema is also authorized on its registry, and an action on a table on its database and the catalog. Lists are
authorized on ``registry/*``, ``crawler/*`` and the like, so that a caller who may read one of them does not see the names
of all. Lists of databases and tables are authorized on their container, and then on each member (:mod:`.containers`).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Protocol

from penstock.api.aws.organizations.tree import ORGANIZATION
from penstock.api.aws.protocol.values import Request
from penstock.names import arn
from penstock.registry.identity import DEFAULT_REGISTRY, registry_resource, schema_resource
from penstock.registry.model import SchemaKey

__all__ = [
    "EVERYTHING",
    "Lookup",
    "Request",
    "ResourceContext",
    "account_of",
    "account_resource",
    "action_name",
    "canonical",
    "named_account",
    "resources_of",
]

# Services whose actions have another prefix than their name in botocore: service authorization reference.
_PREFIXES = {"resourcegroupstaggingapi": "tag"}

EVERYTHING = ("*",)
"""The resource of actions without resource types."""


class Lookup(Protocol):
    """Looks up what a request does not contain; each method may read the store of the account."""

    def schema_of_version(self, version_id: str) -> SchemaKey | None:
        """Return the schema of a version."""

    def secret_arn(self, secret_id: str) -> str | None:
        """Return the full ARN of a secret, which ends in six random characters."""

    def entity_arn(self, kind: str, name: str) -> str | None:
        """Return the ARN of a ``user``, ``group``, ``role``, ``policy`` or ``profile``, which includes its path."""

    def boundary_of(self, kind: str, name: str) -> str | None:
        """Return the permissions boundary of a ``user`` or ``role``; None if it has none."""

    def tables_of(self, database: str) -> Sequence[str]:
        """Return the names of a database's tables; none if the database does not exist."""

    def schemas_of(self, registry: str) -> Sequence[str]:
        """Return the names of a registry's schemas, including soft-deleted ones."""

    def work_group_of(self, any_id: str) -> str | None:
        """Return the work group of a statement or named query by its id; None if there is none."""

    def crawled_database(self, crawler: str) -> str | None:
        """Return the database that a crawler writes to; None if the crawler does not exist."""


class ResourceContext:
    """The account and region that a request is for, a lookup of its stored names, and the caller's name if it is a user."""

    __slots__ = ("account", "lookup", "region", "user")

    def __init__(self, region: str, account: str, lookup: Lookup, *, user: str | None = None) -> None:
        self.user = user
        self.region = region
        self.account = account
        self.lookup = lookup

    def glue(self, resource: str) -> str:
        """Return a Glue ARN."""
        return arn("glue", self.region, self.account, resource)


Builder = Callable[[Request, ResourceContext], Sequence[str]]


def named_account(service: str, request: Request) -> str | None:
    """Return the account that a request names by an ARN or a CatalogId; None if it names none."""
    if service == "glue":
        catalog = request.get("CatalogId")
        if catalog is not None and len(catalog) == 12 and catalog.isdigit():
            return str(catalog)
        for container, member in (("SchemaId", "SchemaArn"), ("RegistryId", "RegistryArn")):
            found = request.get(container)
            if found:
                text = found.get(member)
                return None if text is None else account_of(text)
        text = request.get("ResourceArn")
    else:
        text = request.get("SecretId") if service == "secretsmanager" else None
    return account_of(text) if text is not None else None


def action_name(service: str, operation: str) -> str:
    """Return the action of an operation, as policies write it."""
    return f"{_PREFIXES.get(service, service)}:{operation}"


def resources_of(service: str, operation: str, request: Request, context: ResourceContext) -> Sequence[str]:
    """Return the ARNs, or :data:`EVERYTHING`."""
    builders = _BUILDERS.get(service)
    if builders is None:
        return EVERYTHING
    builder = builders.get(operation)
    return EVERYTHING if builder is None else builder(request, context)


def canonical(text: str) -> str:
    """Return an ARN in the partition ``aws``: the registry accepts any partition, and a policy has to apply to all."""
    parts = text.split(":", 5)
    return ":".join(["arn", "aws", *parts[2:]]) if len(parts) == 6 else text


def account_of(text: str) -> str | None:
    """Return the account in an ARN; None if there is none."""
    parts = text.split(":", 5)
    return parts[4] if len(parts) == 6 and len(parts[4]) == 12 and parts[4].isdigit() else None


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


def _user(request: Request, context: ResourceContext) -> Sequence[str]:
    return (_entity("user", request.get("UserName"), request, context),)


def _user_or_caller(request: Request, context: ResourceContext) -> Sequence[str]:
    return (_entity("user", request.get("UserName") or context.user, request, context),)


def _role(request: Request, context: ResourceContext) -> Sequence[str]:
    return (_entity("role", request.get("RoleName"), request, context),)


def _linked_role(request: Request, context: ResourceContext) -> Sequence[str]:
    task = str(request.get("DeletionTaskId", "")).split("/")
    service = request.get("AWSServiceName") or (task[2] if len(task) > 2 else "*")
    return (arn("iam", "", context.account, f"role/aws-service-role/{service}/*"),)


def _group(request: Request, context: ResourceContext) -> Sequence[str]:
    return (_entity("group", request.get("GroupName"), request, context),)


def _profile(request: Request, context: ResourceContext) -> Sequence[str]:
    return (_entity("profile", request.get("InstanceProfileName"), request, context),)


def _oidc(request: Request, _resource_context: ResourceContext) -> Sequence[str]:
    return (request["OpenIDConnectProviderArn"],)


def _new_oidc(request: Request, context: ResourceContext) -> Sequence[str]:
    return (arn("iam", "", context.account, f"oidc-provider/{request['Url'].removeprefix('https://')}"),)


def _all_oidc(_request: Request, context: ResourceContext) -> Sequence[str]:
    return (arn("iam", "", context.account, "oidc-provider/*"),)


def _federated_user(request: Request, context: ResourceContext) -> Sequence[str]:
    return (arn("sts", "", context.account, f"federated-user/{request['Name']}"),)


def _new_policy(request: Request, context: ResourceContext) -> Sequence[str]:
    return (_entity("policy", request["PolicyName"], request, context),)


def _policy(request: Request, _resource_context: ResourceContext) -> Sequence[str]:
    return (request["PolicyArn"],)


def _entity(kind: str, name: str | None, request: Request, context: ResourceContext) -> str:
    shown = "instance-profile" if kind == "profile" else kind
    if name is None:
        return arn("iam", "", context.account, f"{shown}/*")
    found = context.lookup.entity_arn(kind, name)
    return found or arn("iam", "", context.account, f"{shown}{request.get('Path', '/')}{name}")


def account_resource(account: str, context: ResourceContext) -> str:
    """Return the ARN of an account of the organization that the caller's account manages."""
    return arn("organizations", "", context.account, f"account/{ORGANIZATION}/{account}")


def _organizations_account(request: Request, context: ResourceContext) -> Sequence[str]:
    named = next(filter(None, map(request.get, _NAMING_ACCOUNTS)))
    account = named.removeprefix("car-")
    # The root and units are named by the same members.
    return (account_resource(account, context),) if account.isdigit() else EVERYTHING


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


def _each(builder: Builder, *operations: str) -> dict[str, Builder]:
    return dict.fromkeys(operations, builder)


_GLUE: dict[str, Builder] = {
    **_each(_registry, "DeleteRegistry", "GetRegistry", "UpdateRegistry"),
    "CreateRegistry": _new_registry,
    "ListRegistries": _registries,
    "ListSchemas": _registry_or_all,
    "CreateSchema": _new_schema,
    **_each(_schema, "DeleteSchema", "DeleteSchemaVersions", "GetSchema", "GetSchemaByDefinition", "GetSchemaVersionsDiff"),
    **_each(_schema, "ListSchemaVersions", "RegisterSchemaVersion", "UpdateSchema"),
    **_each(_version, "GetSchemaVersion", "PutSchemaVersionMetadata", "QuerySchemaVersionMetadata"),
    "RemoveSchemaVersionMetadata": _version,
    **_each(_named_resource, "GetTags", "TagResource", "UntagResource"),
    **_each(_named_resource, "DeleteResourcePolicy", "GetResourcePolicy", "PutResourcePolicy"),
    "GetResourcePolicies": _catalog,
    **_each(_database, "CreateDatabase", "GetDatabase", "UpdateDatabase"),
    "DeleteDatabase": _database_and_all_in_it,
    **_each(_catalog, "GetCatalog", "GetDatabases", "SearchTables"),
    **_each(_table, "CreateTable", "DeleteTable", "GetTable", "UpdateTable"),
    **_each(_table, "BatchDeleteTableVersion", "DeleteTableVersion", "GetTableVersion", "GetTableVersions"),
    **_each(_table, "BatchCreatePartition", "BatchDeletePartition", "BatchGetPartition", "BatchUpdatePartition"),
    **_each(_table, "CreatePartition", "DeletePartition", "GetPartition", "GetPartitions", "UpdatePartition"),
    "BatchDeleteTable": _tables,
    "GetTables": _tables_container,
    **_each(_table, "CreatePartitionIndex", "DeletePartitionIndex", "GetPartitionIndexes"),
    **_each(_table, *(f"{verb}ColumnStatisticsForTable" for verb in ("Delete", "Get", "Update"))),
    **_each(_table, *(f"{verb}ColumnStatisticsForPartition" for verb in ("Delete", "Get", "Update"))),
    **_each(_function, *(f"{verb}UserDefinedFunction" for verb in ("Create", "Delete", "Get", "Update"))),
    "GetUserDefinedFunctions": _functions,
    **_each(_table, *(f"{verb}TableOptimizer" for verb in ("Create", "Delete", "Get", "Update")), "ListTableOptimizerRuns"),
    "BatchGetTableOptimizer": _optimizers,
    **_each(_catalog, "GetCatalog", "GetCatalogs", "GetCatalogImportStatus", "ImportCatalogToGlue"),
    **_each(_catalog, "GetDataCatalogEncryptionSettings", "PutDataCatalogEncryptionSettings"),
    **_each(_connection, "CreateConnection", "DeleteConnection", "GetConnection", "UpdateConnection"),
    **_each(_connections, "BatchDeleteConnection", "GetConnections"),
    **_each(_job, "CreateJob", "DeleteJob", "GetJob", "UpdateJob", "StartJobRun", "GetJobRun", "GetJobRuns"),
    **_each(_job, "BatchStopJobRun", "GetJobBookmark", "ResetJobBookmark"),
    **_each(_jobs, "BatchGetJobs", "GetJobs", "ListJobs"),
    **_each(_named("trigger"), "CreateTrigger", "DeleteTrigger", "GetTrigger", "UpdateTrigger"),
    **_each(_session, "CreateSession", "DeleteSession", "GetSession", "StopSession", "RunStatement", "GetStatement"),
    **_each(_session, "CancelStatement", "ListStatements", "ListSessions"),
    **_each(_named("trigger"), "StartTrigger", "StopTrigger"),
    **_each(_named("trigger", "TriggerNames"), "BatchGetTriggers", "GetTriggers", "ListTriggers"),
    **_each(_named("workflow"), "CreateWorkflow", "DeleteWorkflow", "GetWorkflow", "UpdateWorkflow"),
    **_each(_named("workflow"), "GetWorkflowRun", "GetWorkflowRuns", "GetWorkflowRunProperties"),
    **_each(_named("workflow"), "PutWorkflowRunProperties", "ResumeWorkflowRun", "StartWorkflowRun", "StopWorkflowRun"),
    **_each(_named("workflow", "Names"), "BatchGetWorkflows", "ListWorkflows"),
    **_each(_named("dataQualityRuleset"), *(f"{verb}DataQualityRuleset" for verb in ("Create", "Delete", "Get", "Update"))),
    "ListDataQualityRulesets": lambda _request, context: (context.glue("dataQualityRuleset/*"),),
    **_each(_crawler, "CreateCrawler", "DeleteCrawler", "GetCrawler", "StartCrawler", "StopCrawler", "UpdateCrawler"),
    **_each(_crawler, "ListCrawls", "StartCrawlerSchedule", "StopCrawlerSchedule", "UpdateCrawlerSchedule"),
    **_each(_crawlers, "BatchGetCrawlers", "GetCrawlers", "ListCrawlers", "GetCrawlerMetrics"),
}
_ATHENA: dict[str, Builder] = {
    **_each(_work_groups_of, "BatchGetQueryExecution", "GetQueryExecution", "GetQueryResults", "GetQueryRuntimeStatistics"),
    **_each(_work_groups_of, "StopQueryExecution", "BatchGetNamedQuery", "GetNamedQuery", "UpdateNamedQuery"),
    **_each(_work_groups_of, "DeleteNamedQuery"),
    **_each(_work_group, "GetWorkGroup", "UpdateWorkGroup", "DeleteWorkGroup", "ListQueryExecutions", "StartQueryExecution"),
    **_each(_work_group, "CreateNamedQuery", "ListNamedQueries", "CreatePreparedStatement", "GetPreparedStatement"),
    **_each(_work_group, "BatchGetPreparedStatement", "ListPreparedStatements", "UpdatePreparedStatement"),
    **_each(_work_group, "DeletePreparedStatement"),
    **_each(_tagged_of_athena, "ListTagsForResource", "TagResource", "UntagResource"),
    "CreateWorkGroup": _new_work_group,
    **_each(_data_catalog, "GetDataCatalog", "GetDatabase", "GetTableMetadata", "ListDatabases", "ListTableMetadata"),
}
_SECRETS: dict[str, Builder] = {
    "CreateSecret": _new_secret,
    **_each(_secret, "DeleteSecret", "DescribeSecret", "GetSecretValue", "ListSecretVersionIds", "PutSecretValue"),
    **_each(_secret, "RestoreSecret", "TagResource", "UntagResource", "UpdateSecret"),
    **_each(_secret, "PutResourcePolicy", "DeleteResourcePolicy"),
    "ValidateResourcePolicy": lambda request, context: _secret(request, context) if "SecretId" in request else EVERYTHING,
    **_each(_secret, "GetResourcePolicy", "UpdateSecretVersionStage", "RotateSecret", "CancelRotateSecret"),
}
_ON_USERS = ("PutUserPolicy", "GetUserPolicy", "ListUserPolicies", "DeleteUserPolicy", "AttachUserPolicy")
_ON_ROLES = ("PutRolePolicy", "GetRolePolicy", "ListRolePolicies", "DeleteRolePolicy", "AttachRolePolicy")
_IAM: dict[str, Builder] = {
    **_each(_user, *_ON_USERS, "DetachUserPolicy", "ListAttachedUserPolicies", "TagUser", "UntagUser", "ListUserTags"),
    **_each(_user, "CreateUser", "ListUsers", "DeleteUser", "ListGroupsForUser"),
    **_each(_user_or_caller, "GetLoginProfile", "DeleteLoginProfile", "ListServiceSpecificCredentials"),
    **_each(_user_or_caller, "ListMFADevices", "ListSigningCertificates", "ListSSHPublicKeys"),
    **_each(_user, "PutUserPermissionsBoundary", "DeleteUserPermissionsBoundary"),
    **_each(_group, "CreateGroup", "GetGroup", "ListGroups", "DeleteGroup", "AddUserToGroup", "RemoveUserFromGroup"),
    **_each(_group, "PutGroupPolicy", "GetGroupPolicy", "ListGroupPolicies", "DeleteGroupPolicy", "AttachGroupPolicy"),
    **_each(_group, "DetachGroupPolicy", "ListAttachedGroupPolicies"),
    **_each(_profile, "CreateInstanceProfile", "GetInstanceProfile", "ListInstanceProfiles", "DeleteInstanceProfile"),
    **_each(_profile, "AddRoleToInstanceProfile", "RemoveRoleFromInstanceProfile", "ListInstanceProfileTags"),
    **_each(_profile, "TagInstanceProfile", "UntagInstanceProfile"),
    **_each(_user_or_caller, "GetUser", "CreateAccessKey", "ListAccessKeys", "UpdateAccessKey", "DeleteAccessKey"),
    **_each(_role, *_ON_ROLES, "DetachRolePolicy", "ListAttachedRolePolicies", "TagRole", "UntagRole", "ListRoleTags"),
    **_each(_role, "CreateRole", "GetRole", "ListRoles", "UpdateRole", "UpdateAssumeRolePolicy", "DeleteRole"),
    **_each(_role, "PutRolePermissionsBoundary", "DeleteRolePermissionsBoundary", "ListInstanceProfilesForRole"),
    **_each(_role, "UpdateRoleDescription"),
    "CreatePolicy": _new_policy,
    **_each(_policy, "GetPolicy", "DeletePolicy", "CreatePolicyVersion", "GetPolicyVersion", "ListPolicyVersions"),
    **_each(_policy, "SetDefaultPolicyVersion", "DeletePolicyVersion", "ListEntitiesForPolicy"),
    **_each(_oidc, "GetOpenIDConnectProvider", "DeleteOpenIDConnectProvider", "UpdateOpenIDConnectProviderThumbprint"),
    **_each(_oidc, "AddClientIDToOpenIDConnectProvider", "RemoveClientIDFromOpenIDConnectProvider"),
    **_each(_oidc, "TagOpenIDConnectProvider", "UntagOpenIDConnectProvider", "ListOpenIDConnectProviderTags"),
    "CreateOpenIDConnectProvider": _new_oidc,
    "ListOpenIDConnectProviders": _all_oidc,
    **_each(_policy, "TagPolicy", "UntagPolicy", "ListPolicyTags"),
    **_each(_linked_role, "CreateServiceLinkedRole", "GetServiceLinkedRoleDeletionStatus"),
    "DeleteServiceLinkedRole": _role,
    "SimulatePrincipalPolicy": lambda request, _context: (request["PolicySourceArn"],),
}
_NAMING_ACCOUNTS = ("AccountId", "ChildId", "CreateAccountRequestId", "ResourceId", "TargetId")
_ORGANIZATIONS: dict[str, Builder] = {
    # A CreateAccount status is authorized as the account itself: it contains the same.
    **_each(_organizations_account, "DescribeAccount", "DescribeCreateAccountStatus", "ListParents"),
    **_each(_organizations_account, "ListPoliciesForTarget", "ListTagsForResource"),
}
_LOGS: dict[str, Builder] = {
    "DescribeLogGroups": _log_groups,
    **_each(_log_group, "DescribeLogStreams", "CreateLogGroup", "DeleteLogGroup", "PutRetentionPolicy"),
    **_each(_log_group, "DeleteRetentionPolicy", "TagLogGroup", "UntagLogGroup", "ListTagsLogGroup"),
    **_each(_tagged_log_group, "TagResource", "UntagResource", "ListTagsForResource"),
    "FilterLogEvents": _log_search,
    "GetLogEvents": _log_stream,
}
_STS: dict[str, Builder] = {"GetFederationToken": _federated_user}
_BUILDERS: Mapping[str, Mapping[str, Builder]] = {
    "athena": _ATHENA,
    "glue": _GLUE,
    "iam": _IAM,
    "logs": _LOGS,
    "organizations": _ORGANIZATIONS,
    "secretsmanager": _SECRETS,
    "sts": _STS,
}
