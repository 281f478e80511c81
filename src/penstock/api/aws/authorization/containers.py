"""Members that operations on a container list or delete: each member is authorized, too.

The rules are AWS's as far as it documents them. Glue's developer guide, "Filter tables by GetTables permission": GetTables
returns the tables that the caller has the permission for, and leaves the others out. "Specifying AWS Glue resource ARNs":
deleting a database requires the permission on all tables in it. Elsewhere a member is left out, or the deletion rejected,
if a policy explicitly denies the operation, or the operation on a single member.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.access.identities.accounts import account_arn
from penstock.api.aws.authorization.resource_context import ResourceContext
from penstock.api.aws.authorization.resource_lookups import log_stream_resource
from penstock.api.aws.protocol.values import Request
from penstock.names import arn
from penstock.registry.identity import registry_resource, schema_resource
from penstock.registry.model import SchemaKey

__all__ = ["DELETED", "LISTED", "DeletedMembers", "ListedMembers", "filter_members"]

Item = Any
Resources = Callable[[Item, Request, ResourceContext], Sequence[str]]
"""Returns the ARNs that a member of a list is authorized on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedMembers:
    """The members in one list of an answer."""

    member: str
    """The list's name; with dots if it is within a structure, or within each member of another list."""
    resources: Resources
    action: str
    """The listing's own action."""
    single: str
    """The action that reads one member: a caller who is denied it does not see the member in the list either."""
    allowed: bool = False
    """Whether a policy has to allow ``action`` on each member."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedMembers:
    """The members that are deleted with a container; the fields are as in :class:`ListedMembers`."""

    resources: Callable[[Request, ResourceContext], Sequence[str]]
    single: str
    allowed: bool = False


def _database(database: Item, _request: Request, context: ResourceContext) -> Sequence[str]:
    return (context.glue(f"database/{database['Name']}".lower()),)


def _table(table: Item, request: Request, context: ResourceContext) -> Sequence[str]:
    # Athena's shape of a table lacks the database, which the request names.
    database = table.get("DatabaseName") or request["DatabaseName"]
    return (context.glue(f"database/{database}".lower()), context.glue(f"table/{database}/{table['Name']}".lower()))


def _function(function: Item, _request: Request, context: ResourceContext) -> Sequence[str]:
    database = function["DatabaseName"]
    name = f"userDefinedFunction/{database}/{function['FunctionName']}"
    return (context.glue(f"database/{database}"), context.glue(name))


def _schema(schema: Item, _request: Request, context: ResourceContext) -> Sequence[str]:
    key = SchemaKey(schema["RegistryName"], schema["SchemaName"])
    return (context.glue(registry_resource(key.registry)), context.glue(schema_resource(key)))


def _named(resource_type: str, key: str = "Name", *, service: str = "glue") -> Resources:
    """Return the ARN of a resource that a list has by its name, or as a structure with the name at ``key``."""

    def resources(item: Item, _request: Request, context: ResourceContext) -> Sequence[str]:
        name = item if isinstance(item, str) else item[key]
        return (arn(service, context.region, context.account, f"{resource_type}/{name}"),)

    return resources


def _arn_at(key: str) -> Resources:
    return lambda item, _request, _context: (item[key],)


def _within(key: str, resources: Resources) -> Resources:
    return lambda item, request, context: resources(item[key], request, context)


def _unreadable_secret(error: Item, request: Request, _context: ResourceContext) -> Sequence[str]:
    # A caller who names a secret gets the reason why it cannot be read.
    return (error["SecretId"],) if request.get("Filters") is not None else ()


def _identity(entity_type: str) -> Resources:
    def resources(item: Item, _request: Request, context: ResourceContext) -> Sequence[str]:
        name = item if isinstance(item, str) else item[f"{entity_type.capitalize()}Name"]
        return (context.lookup.entity_arn(entity_type, name) or arn("iam", "", context.account, f"{entity_type}/{name}"),)

    return resources


def _account(key: str = "Id") -> Resources:
    return lambda item, _request, context: (account_arn(item[key], context.account),)


def _log_group(group: Item, _request: Request, context: ResourceContext) -> Sequence[str]:
    return (log_stream_resource(group["logGroupName"], "", context),)


def _log_event(event: Item, request: Request, context: ResourceContext) -> Sequence[str]:
    return (log_stream_resource(request.get("logGroupName"), event["logStreamName"], context),)


def _tables_in(request: Request, context: ResourceContext) -> Sequence[str]:
    database = request["Name"].lower()
    return [context.glue(f"table/{database}/{name}") for name in context.lookup.tables_of(database)]


def _schemas_in(request: Request, context: ResourceContext) -> Sequence[str]:
    registry_id = request.get("RegistryId") or {}
    registry = registry_id.get("RegistryName") or (registry_id.get("RegistryArn") or "").rpartition("/")[2]
    return [context.glue(schema_resource(SchemaKey(registry, name))) for name in context.lookup.schemas_of(registry)]


def filter_members(answer: Mapping[str, Any], member: str, keep: Callable[[Item], bool]) -> Mapping[str, Any]:
    """Return ``answer`` with the items of the list ``member`` (:attr:`ListedMembers.member`) that ``keep`` accepts."""
    name, _, within = member.partition(".")
    value = answer.get(name)
    if value is None:
        return answer
    if not within:
        return {**answer, name: [item for item in value if keep(item)]}
    if isinstance(value, Mapping):
        return {**answer, name: filter_members(value, within, keep)}
    return {**answer, name: [filter_members(item, within, keep) for item in value]}


@dataclass(frozen=True, slots=True)
class _Row:
    """Lists of one type of resource; ``lists`` has, with spaces between, ``OPERATION:MEMBER`` of each."""

    lists: str
    resources: Resources
    single: str
    service: str = ""
    """The service of the operations; empty for that of ``single``."""
    action: str = ""
    """The action of the listing where it is not the operation's own."""
    allowed: bool = False


_ATTACHED = ".AttachedManagedPolicies"
_DETAILS = "GetAccountAuthorizationDetails"
_BY_ARN = _arn_at("Arn")
_ROWS = (
    _Row("GetTables:TableList SearchTables:TableList", _table, "glue:GetTable", allowed=True),
    _Row("GetDatabases:DatabaseList", _database, "glue:GetDatabase", allowed=True),
    _Row("GetConnections:ConnectionList", _named("connection"), "glue:GetConnection"),
    _Row("GetCrawlers:Crawlers BatchGetCrawlers:Crawlers ListCrawlers:CrawlerNames", _named("crawler"), "glue:GetCrawler"),
    _Row("GetCrawlerMetrics:CrawlerMetricsList", _named("crawler", "CrawlerName"), "glue:GetCrawler"),
    _Row("GetTriggers:Triggers BatchGetTriggers:Triggers ListTriggers:TriggerNames", _named("trigger"), "glue:GetTrigger"),
    _Row("ListSessions:Ids ListSessions:Sessions", _named("session", "Id"), "glue:GetSession"),
    _Row("ListWorkflows:Workflows", _named("workflow"), "glue:GetWorkflow"),
    _Row("ListDataQualityRulesets:Rulesets", _named("dataQualityRuleset"), "glue:GetDataQualityRuleset"),
    _Row("GetJobs:Jobs BatchGetJobs:Jobs ListJobs:JobNames", _named("job"), "glue:GetJob"),
    _Row("GetUserDefinedFunctions:UserDefinedFunctions", _function, "glue:GetUserDefinedFunction"),
    _Row("ListRegistries:Registries", _named("registry", "RegistryName"), "glue:GetRegistry"),
    _Row("ListSchemas:Schemas", _schema, "glue:GetSchema"),
    _Row(
        "SearchDatabasesByLFTags:DatabaseList",
        _within("Database", _database),
        "glue:GetDatabase",
        service="lakeformation",
        action="lakeformation:SearchDatabasesByLFTags",
    ),
    _Row(
        "SearchTablesByLFTags:TableList",
        _within("Table", _table),
        "glue:GetTable",
        service="lakeformation",
        action="lakeformation:SearchTablesByLFTags",
    ),
    _Row(
        "ListDatabases:DatabaseList",
        _database,
        "glue:GetDatabase",
        service="athena",
        action="glue:GetDatabases",
        allowed=True,
    ),
    _Row(
        "ListTableMetadata:TableMetadataList",
        _table,
        "glue:GetTable",
        service="athena",
        action="glue:GetTables",
        allowed=True,
    ),
    _Row("ListWorkGroups:WorkGroups", _named("workgroup", service="athena"), "athena:GetWorkGroup"),
    _Row(
        "ListDataCatalogs:DataCatalogsSummary",
        _named("datacatalog", "CatalogName", service="athena"),
        "athena:GetDataCatalog",
    ),
    _Row("ListSecrets:SecretList", _arn_at("ARN"), "secretsmanager:DescribeSecret"),
    _Row(
        "BatchGetSecretValue:Errors",
        _unreadable_secret,
        "secretsmanager:DescribeSecret",
        action="secretsmanager:ListSecrets",
    ),
    _Row(
        "GetResources:ResourceTagMappingList", _arn_at("ResourceARN"), "tag:GetResources", service="resourcegroupstaggingapi"
    ),
    _Row("DescribeLogGroups:logGroups", _log_group, "logs:DescribeLogStreams"),
    _Row("DescribeLogStreams:logStreams", _arn_at("arn"), "logs:GetLogEvents"),
    _Row("FilterLogEvents:events", _log_event, "logs:GetLogEvents"),
    _Row(f"{_DETAILS}:UserDetailList ListUsers:Users GetGroup:Users", _BY_ARN, "iam:GetUser"),
    _Row(f"{_DETAILS}:GroupDetailList ListGroups:Groups ListGroupsForUser:Groups", _BY_ARN, "iam:GetGroup"),
    _Row(f"{_DETAILS}:RoleDetailList ListRoles:Roles", _BY_ARN, "iam:GetRole"),
    _Row(f"{_DETAILS}:Policies ListPolicies:Policies", _BY_ARN, "iam:GetPolicy"),
    _Row(f"{_DETAILS}:UserDetailList.GroupList", _identity("group"), "iam:GetGroup"),
    _Row(
        f"{_DETAILS}:RoleDetailList.InstanceProfileList ListInstanceProfiles:InstanceProfiles "
        "ListInstanceProfilesForRole:InstanceProfiles",
        _BY_ARN,
        "iam:GetInstanceProfile",
    ),
    _Row("ListInstanceProfiles:InstanceProfiles.Roles GetInstanceProfile:InstanceProfile.Roles", _BY_ARN, "iam:GetRole"),
    _Row(
        f"{_DETAILS}:UserDetailList{_ATTACHED} {_DETAILS}:GroupDetailList{_ATTACHED} "
        f"{_DETAILS}:RoleDetailList{_ATTACHED} ListAttachedUserPolicies:AttachedPolicies "
        "ListAttachedRolePolicies:AttachedPolicies ListAttachedGroupPolicies:AttachedPolicies",
        _arn_at("PolicyArn"),
        "iam:GetPolicy",
    ),
    _Row("ListOpenIDConnectProviders:OpenIDConnectProviderList", _BY_ARN, "iam:GetOpenIDConnectProvider"),
    _Row("ListEntitiesForPolicy:PolicyGroups", _identity("group"), "iam:GetGroup"),
    _Row("ListEntitiesForPolicy:PolicyUsers", _identity("user"), "iam:GetUser"),
    _Row("ListEntitiesForPolicy:PolicyRoles", _identity("role"), "iam:GetRole"),
    _Row(
        "ListAccounts:Accounts ListAccountsForParent:Accounts ListChildren:Children",
        _account(),
        "organizations:DescribeAccount",
    ),
    _Row("ListCreateAccountStatus:CreateAccountStatuses", _account("AccountId"), "organizations:DescribeAccount"),
)


def _listed() -> Mapping[tuple[str, str], Sequence[ListedMembers]]:
    listed: dict[tuple[str, str], list[ListedMembers]] = defaultdict(list)
    for row in _ROWS:
        prefix = row.single.partition(":")[0]
        for operation, member in (entry.split(":") for entry in row.lists.split()):
            listed[row.service or prefix, operation].append(
                ListedMembers(
                    member=member,
                    resources=row.resources,
                    action=row.action or f"{prefix}:{operation}",
                    single=row.single,
                    allowed=row.allowed,
                )
            )
    return dict(listed)


LISTED = _listed()
"""By service and operation."""

DELETED: Mapping[tuple[str, str], DeletedMembers] = {
    ("glue", "DeleteDatabase"): DeletedMembers(resources=_tables_in, single="glue:DeleteTable", allowed=True),
    ("glue", "DeleteRegistry"): DeletedMembers(resources=_schemas_in, single="glue:DeleteSchema"),
}
"""By service and operation."""
