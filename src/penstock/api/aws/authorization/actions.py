"""Which resources an action is authorized on: ARNs from a checked request.

Source: the service authorization reference, and "Overview of managing access permissions" in Glue's developer guide: an
action on a schema is also authorized on its registry, and an action on a table on its database and the catalog. Lists are
authorized on ``registry/*``, ``crawler/*`` and the like, so that a caller who may read one of them does not see the names
of all. Lists of databases and tables are authorized on their container, and then on each member (:mod:`.containers`).
"""

from collections.abc import Mapping, Sequence

from penstock.api.aws.authorization import resource_lookups as lookups
from penstock.api.aws.authorization.resource_context import EVERYTHING, Builder, ResourceContext
from penstock.api.aws.authorization.resource_rows import ArnIn, Entity, rows
from penstock.api.aws.protocol.values import Request
from penstock.names import account_of

__all__ = ["action_name", "named_account", "resources_of"]

# Services whose actions have another prefix than their name in botocore: service authorization reference.
_PREFIXES = {"resourcegroupstaggingapi": "tag"}
_USER = "PutUserPolicy GetUserPolicy ListUserPolicies DeleteUserPolicy AttachUserPolicy DetachUserPolicy"
_GROUP = "PutGroupPolicy GetGroupPolicy ListGroupPolicies DeleteGroupPolicy AttachGroupPolicy DetachGroupPolicy"
_ROLE = "PutRolePolicy GetRolePolicy ListRolePolicies DeleteRolePolicy AttachRolePolicy DetachRolePolicy"
_OIDC = "OpenIDConnectProvider"
_CATALOG_TABLE = ("catalog", "database/{DatabaseName}", "table/{DatabaseName}/{TableName+Name+TableInput.Name:*}")
_CATALOG_DATABASE = ("catalog", "database/{Name+DatabaseInput.Name}")

_RESOURCES: Mapping[str, Mapping[str, Builder]] = {
    "athena": rows(
        "athena",
        {
            lookups.work_groups_of: "BatchGetQueryExecution GetQueryExecution GetQueryResults GetQueryRuntimeStatistics "
            "StopQueryExecution BatchGetNamedQuery GetNamedQuery UpdateNamedQuery DeleteNamedQuery",
            "workgroup/{Name}": "CreateWorkGroup",
            "workgroup/{WorkGroup:primary}": "GetWorkGroup UpdateWorkGroup DeleteWorkGroup ListQueryExecutions "
            "StartQueryExecution CreateNamedQuery ListNamedQueries CreatePreparedStatement GetPreparedStatement "
            "BatchGetPreparedStatement ListPreparedStatements UpdatePreparedStatement DeletePreparedStatement",
            "datacatalog/{CatalogName|Name:AwsDataCatalog}": "CreateDataCatalog DeleteDataCatalog UpdateDataCatalog "
            "GetDataCatalog GetDatabase GetTableMetadata ListDatabases ListTableMetadata",
            lookups.athena_tagged: "ListTagsForResource TagResource UntagResource",
        },
    ),
    "glue": rows(
        "glue",
        {
            "registry/*": "ListRegistries",
            "registry/{RegistryName}": "CreateRegistry",
            lookups.registry: "DeleteRegistry GetRegistry UpdateRegistry",
            lookups.registry_or_all: "ListSchemas",
            lookups.new_schema: "CreateSchema",
            lookups.schema: "DeleteSchema DeleteSchemaVersions GetSchema GetSchemaByDefinition GetSchemaVersionsDiff "
            "ListSchemaVersions RegisterSchemaVersion UpdateSchema",
            lookups.schema_version: "GetSchemaVersion PutSchemaVersionMetadata QuerySchemaVersionMetadata "
            "RemoveSchemaVersionMetadata",
            lookups.glue_named: "GetTags TagResource UntagResource DeleteResourcePolicy GetResourcePolicy PutResourcePolicy",
            "catalog": "GetResourcePolicies GetDatabases SearchTables GetCatalog GetCatalogs GetCatalogImportStatus "
            "ImportCatalogToGlue GetDataCatalogEncryptionSettings PutDataCatalogEncryptionSettings",
            _CATALOG_DATABASE: "CreateDatabase GetDatabase UpdateDatabase",
            # The tables and functions that are deleted with a database are authorized, too.
            (*_CATALOG_DATABASE, "table/{Name}/*", "userDefinedFunction/{Name}/*"): "DeleteDatabase",
            ("catalog", "database/{DatabaseName}"): "GetTables",
            ("catalog", "database/{DatabaseName}", "table/{DatabaseName}/{TablesToDelete:*}"): "BatchDeleteTable",
            _CATALOG_TABLE: "CreateTable DeleteTable GetTable UpdateTable BatchDeleteTableVersion DeleteTableVersion "
            "GetTableVersion GetTableVersions BatchCreatePartition BatchDeletePartition BatchGetPartition "
            "BatchUpdatePartition CreatePartition DeletePartition GetPartition GetPartitions UpdatePartition "
            "CreatePartitionIndex DeletePartitionIndex GetPartitionIndexes CreateTableOptimizer DeleteTableOptimizer "
            "GetTableOptimizer UpdateTableOptimizer ListTableOptimizerRuns DeleteColumnStatisticsForTable "
            "GetColumnStatisticsForTable UpdateColumnStatisticsForTable DeleteColumnStatisticsForPartition "
            "GetColumnStatisticsForPartition UpdateColumnStatisticsForPartition",
            lookups.optimized_tables: "BatchGetTableOptimizer",
            (
                "catalog",
                "database/{DatabaseName:*}",
                "userDefinedFunction/{DatabaseName:*}/{FunctionName+FunctionInput.FunctionName}",
            ): "CreateUserDefinedFunction DeleteUserDefinedFunction GetUserDefinedFunction UpdateUserDefinedFunction",
            ("catalog", "database/{DatabaseName:*}", "userDefinedFunction/{DatabaseName:*}/*"): "GetUserDefinedFunctions",
            ("catalog", "connection/{ConnectionName+Name+ConnectionInput.Name}"): "CreateConnection DeleteConnection "
            "GetConnection UpdateConnection",
            ("catalog", "connection/{ConnectionNameList:*}"): "BatchDeleteConnection GetConnections",
            "crawler/{CrawlerName|Name}": "CreateCrawler DeleteCrawler GetCrawler StartCrawler StopCrawler UpdateCrawler "
            "ListCrawls StartCrawlerSchedule StopCrawlerSchedule UpdateCrawlerSchedule",
            "crawler/{CrawlerNames|CrawlerNameList:*}": "BatchGetCrawlers GetCrawlers ListCrawlers GetCrawlerMetrics",
            "job/{JobName|Name}": "CreateJob DeleteJob GetJob UpdateJob StartJobRun GetJobRun GetJobRuns BatchStopJobRun "
            "GetJobBookmark ResetJobBookmark",
            "job/{JobNames:*}": "BatchGetJobs GetJobs ListJobs",
            # The Id of a statement's request is the statement's number.
            "session/{SessionId|Id:*}": "CreateSession DeleteSession GetSession StopSession RunStatement GetStatement "
            "CancelStatement ListStatements ListSessions",
            "trigger/{Name}": "CreateTrigger DeleteTrigger GetTrigger UpdateTrigger StartTrigger StopTrigger",
            "trigger/{TriggerNames:*}": "BatchGetTriggers GetTriggers ListTriggers",
            "workflow/{Name}": "CreateWorkflow DeleteWorkflow GetWorkflow UpdateWorkflow GetWorkflowRun GetWorkflowRuns "
            "GetWorkflowRunProperties PutWorkflowRunProperties ResumeWorkflowRun StartWorkflowRun StopWorkflowRun",
            "workflow/{Names:*}": "BatchGetWorkflows ListWorkflows",
            "dataQualityRuleset/{Name}": "CreateDataQualityRuleset DeleteDataQualityRuleset GetDataQualityRuleset "
            "UpdateDataQualityRuleset",
            "dataQualityRuleset/*": "ListDataQualityRulesets",
        },
    ),
    "iam": rows(
        "iam",
        {
            Entity("user", "UserName"): f"{_USER} ListAttachedUserPolicies TagUser UntagUser ListUserTags CreateUser "
            "ListUsers DeleteUser ListGroupsForUser PutUserPermissionsBoundary DeleteUserPermissionsBoundary",
            Entity("user", "UserName", own=True): "GetUser CreateAccessKey ListAccessKeys UpdateAccessKey DeleteAccessKey "
            "GetLoginProfile DeleteLoginProfile ListServiceSpecificCredentials ListMFADevices ListSigningCertificates "
            "ListSSHPublicKeys",
            Entity("group", "GroupName"): f"{_GROUP} ListAttachedGroupPolicies CreateGroup GetGroup ListGroups DeleteGroup "
            "AddUserToGroup RemoveUserFromGroup",
            Entity("role", "RoleName"): f"{_ROLE} ListAttachedRolePolicies TagRole UntagRole ListRoleTags CreateRole "
            "GetRole ListRoles UpdateRole UpdateAssumeRolePolicy DeleteRole PutRolePermissionsBoundary "
            "DeleteRolePermissionsBoundary ListInstanceProfilesForRole UpdateRoleDescription DeleteServiceLinkedRole",
            Entity("profile", "InstanceProfileName"): "CreateInstanceProfile GetInstanceProfile ListInstanceProfiles "
            "DeleteInstanceProfile AddRoleToInstanceProfile RemoveRoleFromInstanceProfile ListInstanceProfileTags "
            "TagInstanceProfile UntagInstanceProfile",
            Entity("policy", "PolicyName"): "CreatePolicy",
            ArnIn("PolicyArn"): "GetPolicy DeletePolicy CreatePolicyVersion GetPolicyVersion ListPolicyVersions "
            "SetDefaultPolicyVersion DeletePolicyVersion ListEntitiesForPolicy TagPolicy UntagPolicy ListPolicyTags",
            ArnIn("PolicySourceArn"): "SimulatePrincipalPolicy",
            ArnIn(f"{_OIDC}Arn"): f"Get{_OIDC} Delete{_OIDC} Update{_OIDC}Thumbprint AddClientIDTo{_OIDC} "
            f"RemoveClientIDFrom{_OIDC} Tag{_OIDC} Untag{_OIDC} List{_OIDC}Tags",
            lookups.new_oidc_provider: f"Create{_OIDC}",
            "oidc-provider/*": f"List{_OIDC}s",
            lookups.linked_role: "CreateServiceLinkedRole GetServiceLinkedRoleDeletionStatus",
        },
    ),
    "logs": rows(
        "logs",
        {
            # As AWS's decisions name it: a right to some groups alone does not list them.
            "log-group::log-stream:": "DescribeLogGroups",
            "log-group:{logGroupName:*}:log-stream:": "DescribeLogStreams CreateLogGroup DeleteLogGroup PutRetentionPolicy "
            "DeleteRetentionPolicy TagLogGroup UntagLogGroup ListTagsLogGroup",
            "log-group:{logGroupName:*}:log-stream:{logStreamName:*}": "GetLogEvents",
            lookups.logs_tagged: "TagResource UntagResource ListTagsForResource",
            lookups.log_search: "FilterLogEvents",
        },
    ),
    "organizations": rows(
        "organizations",
        {
            # A CreateAccount status is authorized as the account itself: it contains the same.
            lookups.account: "DescribeAccount DescribeCreateAccountStatus ListParents ListPoliciesForTarget "
            "ListTagsForResource",
        },
    ),
    "secretsmanager": rows(
        "secretsmanager",
        {
            "secret:{Name}": "CreateSecret",
            lookups.secret: "DeleteSecret DescribeSecret GetSecretValue ListSecretVersionIds PutSecretValue RestoreSecret "
            "TagResource UntagResource UpdateSecret PutResourcePolicy DeleteResourcePolicy GetResourcePolicy "
            "UpdateSecretVersionStage RotateSecret CancelRotateSecret",
            lookups.secret_or_all: "ValidateResourcePolicy",
        },
    ),
    "sts": rows("sts", {"federated-user/{Name}": "GetFederationToken"}),
}


def named_account(service: str, request: Request) -> str | None:
    """Return the account that a request names by an ARN or a CatalogId; None if it names none."""
    if service == "glue":
        catalog = request.get("CatalogId")
        if catalog is not None and len(catalog) == 12 and catalog.isdigit():
            return str(catalog)
        for container, member in (("SchemaId", "SchemaArn"), ("RegistryId", "RegistryArn")):
            identifier = request.get(container)
            if identifier:
                text = identifier.get(member)
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
    builder = _RESOURCES.get(service, {}).get(operation)
    return EVERYTHING if builder is None else builder(request, context)
