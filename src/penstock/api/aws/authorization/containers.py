"""Members that operations on a container list or delete: each member is authorized, too.

The rules are AWS's as far as it documents them. Glue's developer guide, "Filter tables by GetTables permission": GetTables
returns the tables that the caller has the permission for, and leaves the others out. "Specifying AWS Glue resource ARNs":
deleting a database requires the permission on all tables in it. Elsewhere a member is left out, or the deletion rejected,
if a policy explicitly denies the operation, or the operation on a single member.
"""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedMembers:
    """The members in one list of an answer. ``resources`` returns the ARNs that a member is authorized on."""

    member: str
    """The list's name; with dots if it is within a structure, or within each member of another list."""
    resources: Callable[[Item, Request, ResourceContext], Sequence[str]]
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


def _database(item: Item, _request: Request, context: ResourceContext) -> Sequence[str]:
    return (context.glue(f"database/{item['Name']}".lower()),)


def _table(item: Item, request: Request, context: ResourceContext) -> Sequence[str]:
    # Athena's shape of a table lacks the database, which the request names.
    database = item.get("DatabaseName") or request["DatabaseName"]
    return (context.glue(f"database/{database}".lower()), context.glue(f"table/{database}/{item['Name']}".lower()))


def _function(item: Item, _request: Request, context: ResourceContext) -> Sequence[str]:
    database = f"database/{item['DatabaseName']}"
    return (context.glue(database), context.glue(f"userDefinedFunction/{item['DatabaseName']}/{item['FunctionName']}"))


def _of_kind(resource_type: str, key: str) -> Callable[[Item, Request, ResourceContext], Sequence[str]]:
    return lambda item, _request, context: (context.glue(f"{resource_type}/{item if isinstance(item, str) else item[key]}"),)


def _schema(item: Item, _request: Request, context: ResourceContext) -> Sequence[str]:
    key = SchemaKey(item["RegistryName"], item["SchemaName"])
    return (context.glue(registry_resource(key.registry)), context.glue(schema_resource(key)))


def _by(key: str) -> Callable[[Item, Request, ResourceContext], Sequence[str]]:
    return lambda item, _request, _resource_context: (item[key],)


def _work_group(item: Item, _request: Request, context: ResourceContext) -> Sequence[str]:
    return (arn("athena", context.region, context.account, f"workgroup/{item['Name']}"),)


def _data_catalog(item: Item, _request: Request, context: ResourceContext) -> Sequence[str]:
    return (arn("athena", context.region, context.account, f"datacatalog/{item['CatalogName']}"),)


def _secret_found(item: Item, request: Request, _resource_context: ResourceContext) -> Sequence[str]:
    # A caller who names a secret gets the reason why it cannot be read.
    return (item["SecretId"],) if request.get("Filters") is not None else ()


def _identity(entity_type: str) -> Callable[[Item, Request, ResourceContext], Sequence[str]]:
    def resources(item: Item, _request: Request, context: ResourceContext) -> Sequence[str]:
        name = item[f"{entity_type.capitalize()}Name"]
        return (context.lookup.entity_arn(entity_type, name) or arn("iam", "", context.account, f"{entity_type}/{name}"),)

    return resources


def _group_named(item: Item, _request: Request, context: ResourceContext) -> Sequence[str]:
    return (context.lookup.entity_arn("group", item) or arn("iam", "", context.account, f"group/{item}"),)


def _account(key: str) -> Callable[[Item, Request, ResourceContext], Sequence[str]]:
    return lambda item, _request, context: (account_arn(item[key], context.account),)


def _log_group(item: Item, _request: Request, context: ResourceContext) -> Sequence[str]:
    return (log_stream_resource(item["logGroupName"], "", context),)


def _log_event(item: Item, request: Request, context: ResourceContext) -> Sequence[str]:
    return (log_stream_resource(request.get("logGroupName"), item["logStreamName"], context),)


def _tables_in(request: Request, context: ResourceContext) -> Sequence[str]:
    database = request["Name"].lower()
    return [context.glue(f"table/{database}/{name}") for name in context.lookup.tables_of(database)]


def _schemas_in(request: Request, context: ResourceContext) -> Sequence[str]:
    registry_id = request.get("RegistryId") or {}
    name = registry_id.get("RegistryName") or (registry_id.get("RegistryArn") or "").rpartition("/")[2]
    return [context.glue(schema_resource(SchemaKey(name, item))) for item in context.lookup.schemas_of(name)]


def _glue(operation: str, member: str, resources: Any, single: str, *, allowed: bool = False) -> ListedMembers:
    action = f"glue:{operation}"
    return ListedMembers(member=member, resources=resources, action=action, single=f"glue:{single}", allowed=allowed)


def _iam(operation: str, member: str, resources: Any, single: str) -> ListedMembers:
    return ListedMembers(member=member, resources=resources, action=f"iam:{operation}", single=f"iam:{single}")


def _details(member: str, resources: Any, single: str) -> ListedMembers:
    return _iam("GetAccountAuthorizationDetails", member, resources, single)


def _accounts(operation: str, member: str, key: str = "Id") -> ListedMembers:
    action = f"organizations:{operation}"
    return ListedMembers(member=member, resources=_account(key), action=action, single="organizations:DescribeAccount")


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


LISTED: Mapping[tuple[str, str], Sequence[ListedMembers]] = {
    ("lakeformation", "SearchDatabasesByLFTags"): [
        ListedMembers(
            member="DatabaseList",
            resources=lambda item, request, context: _database(item["Database"], request, context),
            action="lakeformation:SearchDatabasesByLFTags",
            single="glue:GetDatabase",
        )
    ],
    ("lakeformation", "SearchTablesByLFTags"): [
        ListedMembers(
            member="TableList",
            resources=lambda item, request, context: _table(item["Table"], request, context),
            action="lakeformation:SearchTablesByLFTags",
            single="glue:GetTable",
        )
    ],
    ("glue", "GetTables"): [_glue("GetTables", "TableList", _table, "GetTable", allowed=True)],
    ("glue", "SearchTables"): [_glue("SearchTables", "TableList", _table, "GetTable", allowed=True)],
    ("glue", "GetDatabases"): [_glue("GetDatabases", "DatabaseList", _database, "GetDatabase", allowed=True)],
    ("glue", "GetConnections"): [_glue("GetConnections", "ConnectionList", _of_kind("connection", "Name"), "GetConnection")],
    ("glue", "GetCrawlers"): [_glue("GetCrawlers", "Crawlers", _of_kind("crawler", "Name"), "GetCrawler")],
    ("glue", "BatchGetCrawlers"): [_glue("BatchGetCrawlers", "Crawlers", _of_kind("crawler", "Name"), "GetCrawler")],
    ("glue", "ListCrawlers"): [_glue("ListCrawlers", "CrawlerNames", _of_kind("crawler", "Name"), "GetCrawler")],
    ("glue", "GetCrawlerMetrics"): [
        _glue("GetCrawlerMetrics", "CrawlerMetricsList", _of_kind("crawler", "CrawlerName"), "GetCrawler")
    ],
    **{
        ("glue", operation): [_glue(operation, member, _of_kind("trigger", "Name"), "GetTrigger")]
        for operation, member in (
            *(("GetTriggers", "Triggers"), ("BatchGetTriggers", "Triggers"), ("ListTriggers", "TriggerNames")),
        )
    },
    ("glue", "ListSessions"): [
        _glue("ListSessions", "Ids", _of_kind("session", "Id"), "GetSession"),
        _glue("ListSessions", "Sessions", _of_kind("session", "Id"), "GetSession"),
    ],
    ("glue", "ListWorkflows"): [_glue("ListWorkflows", "Workflows", _of_kind("workflow", "Name"), "GetWorkflow")],
    ("glue", "ListDataQualityRulesets"): [
        _glue("ListDataQualityRulesets", "Rulesets", _of_kind("dataQualityRuleset", "Name"), "GetDataQualityRuleset")
    ],
    ("glue", "GetJobs"): [_glue("GetJobs", "Jobs", _of_kind("job", "Name"), "GetJob")],
    ("glue", "BatchGetJobs"): [_glue("BatchGetJobs", "Jobs", _of_kind("job", "Name"), "GetJob")],
    ("glue", "ListJobs"): [_glue("ListJobs", "JobNames", _of_kind("job", "Name"), "GetJob")],
    ("glue", "GetUserDefinedFunctions"): [
        _glue("GetUserDefinedFunctions", "UserDefinedFunctions", _function, "GetUserDefinedFunction")
    ],
    ("glue", "ListRegistries"): [
        _glue("ListRegistries", "Registries", _of_kind("registry", "RegistryName"), "GetRegistry"),
    ],
    ("glue", "ListSchemas"): [_glue("ListSchemas", "Schemas", _schema, "GetSchema")],
    ("athena", "ListWorkGroups"): [
        ListedMembers(
            member="WorkGroups",
            resources=_work_group,
            action="athena:ListWorkGroups",
            single="athena:GetWorkGroup",
        )
    ],
    ("athena", "ListDataCatalogs"): [
        ListedMembers(
            member="DataCatalogsSummary",
            resources=_data_catalog,
            action="athena:ListDataCatalogs",
            single="athena:GetDataCatalog",
        )
    ],
    ("athena", "ListDatabases"): [_glue("GetDatabases", "DatabaseList", _database, "GetDatabase", allowed=True)],
    ("athena", "ListTableMetadata"): [_glue("GetTables", "TableMetadataList", _table, "GetTable", allowed=True)],
    ("secretsmanager", "ListSecrets"): [
        ListedMembers(
            member="SecretList",
            resources=_by("ARN"),
            action="secretsmanager:ListSecrets",
            single="secretsmanager:DescribeSecret",
        )
    ],
    ("secretsmanager", "BatchGetSecretValue"): [
        ListedMembers(
            member="Errors",
            resources=_secret_found,
            action="secretsmanager:ListSecrets",
            single="secretsmanager:DescribeSecret",
        )
    ],
    ("resourcegroupstaggingapi", "GetResources"): [
        ListedMembers(
            member="ResourceTagMappingList",
            resources=_by("ResourceARN"),
            action="tag:GetResources",
            single="tag:GetResources",
        )
    ],
    ("logs", "DescribeLogGroups"): [
        ListedMembers(
            member="logGroups", resources=_log_group, action="logs:DescribeLogGroups", single="logs:DescribeLogStreams"
        )
    ],
    ("logs", "DescribeLogStreams"): [
        ListedMembers(
            member="logStreams", resources=_by("arn"), action="logs:DescribeLogStreams", single="logs:GetLogEvents"
        )
    ],
    ("logs", "FilterLogEvents"): [
        ListedMembers(member="events", resources=_log_event, action="logs:FilterLogEvents", single="logs:GetLogEvents")
    ],
    ("iam", "GetAccountAuthorizationDetails"): [
        _details("UserDetailList", _by("Arn"), "GetUser"),
        _details("GroupDetailList", _by("Arn"), "GetGroup"),
        _details("RoleDetailList", _by("Arn"), "GetRole"),
        _details("Policies", _by("Arn"), "GetPolicy"),
        _details("UserDetailList.GroupList", _group_named, "GetGroup"),
        _details("RoleDetailList.InstanceProfileList", _by("Arn"), "GetInstanceProfile"),
        *(
            _iam(
                "GetAccountAuthorizationDetails", f"{kind}DetailList.AttachedManagedPolicies", _by("PolicyArn"), "GetPolicy"
            )
            for kind in ("User", "Group", "Role")
        ),
    ],
    ("iam", "ListUsers"): [_iam("ListUsers", "Users", _by("Arn"), "GetUser")],
    ("iam", "ListRoles"): [_iam("ListRoles", "Roles", _by("Arn"), "GetRole")],
    ("iam", "ListPolicies"): [_iam("ListPolicies", "Policies", _by("Arn"), "GetPolicy")],
    ("iam", "ListAttachedUserPolicies"): [
        _iam("ListAttachedUserPolicies", "AttachedPolicies", _by("PolicyArn"), "GetPolicy"),
    ],
    ("iam", "ListAttachedRolePolicies"): [
        _iam("ListAttachedRolePolicies", "AttachedPolicies", _by("PolicyArn"), "GetPolicy"),
    ],
    ("iam", "ListAttachedGroupPolicies"): [
        _iam("ListAttachedGroupPolicies", "AttachedPolicies", _by("PolicyArn"), "GetPolicy"),
    ],
    ("iam", "ListGroups"): [_iam("ListGroups", "Groups", _by("Arn"), "GetGroup")],
    ("iam", "ListGroupsForUser"): [_iam("ListGroupsForUser", "Groups", _by("Arn"), "GetGroup")],
    ("iam", "GetGroup"): [_iam("GetGroup", "Users", _by("Arn"), "GetUser")],
    ("iam", "ListInstanceProfiles"): [
        _iam("ListInstanceProfiles", "InstanceProfiles", _by("Arn"), "GetInstanceProfile"),
        _iam("ListInstanceProfiles", "InstanceProfiles.Roles", _by("Arn"), "GetRole"),
    ],
    ("iam", "GetInstanceProfile"): [_iam("GetInstanceProfile", "InstanceProfile.Roles", _by("Arn"), "GetRole")],
    ("iam", "ListInstanceProfilesForRole"): [
        _iam("ListInstanceProfilesForRole", "InstanceProfiles", _by("Arn"), "GetInstanceProfile"),
    ],
    ("iam", "ListOpenIDConnectProviders"): [
        _iam("ListOpenIDConnectProviders", "OpenIDConnectProviderList", _by("Arn"), "GetOpenIDConnectProvider"),
    ],
    ("iam", "ListEntitiesForPolicy"): [
        _iam("ListEntitiesForPolicy", "PolicyGroups", _identity("group"), "GetGroup"),
        _iam("ListEntitiesForPolicy", "PolicyUsers", _identity("user"), "GetUser"),
        _iam("ListEntitiesForPolicy", "PolicyRoles", _identity("role"), "GetRole"),
    ],
    ("organizations", "ListAccounts"): [_accounts("ListAccounts", "Accounts")],
    ("organizations", "ListAccountsForParent"): [_accounts("ListAccountsForParent", "Accounts")],
    ("organizations", "ListChildren"): [_accounts("ListChildren", "Children")],
    ("organizations", "ListCreateAccountStatus"): [
        _accounts("ListCreateAccountStatus", "CreateAccountStatuses", "AccountId")
    ],
}
"""By service and operation."""

DELETED: Mapping[tuple[str, str], DeletedMembers] = {
    ("glue", "DeleteDatabase"): DeletedMembers(resources=_tables_in, single="glue:DeleteTable", allowed=True),
    ("glue", "DeleteRegistry"): DeletedMembers(resources=_schemas_in, single="glue:DeleteSchema"),
}
"""By service and operation."""
