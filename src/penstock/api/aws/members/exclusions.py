"""The members of served requests that no handler reads, written by hand: refused by name, or harmless and ignored.

All other members of botocore's models, as ``tools/aws-members`` has recorded them, are served.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["EXCLUSIONS", "Exclusions", "Harmless"]


@dataclass(frozen=True, slots=True)
class Harmless:
    """A member that no handler acts on, and that may be ignored; ``reason`` says why.

    ``values`` are those that may be ignored, None for all values; every other value is rejected.
    """

    reason: str
    values: frozenset[str] | None = None


@dataclass(frozen=True, kw_only=True)
class Exclusions:
    """The members of a service's requests that no handler reads, by shape.

    ``refused`` has their names, with spaces between them. ``harmless`` has those that may be ignored. ``remedies`` has, by
    the name of a refused member, what to do instead.
    """

    refused: Mapping[str, str] = field(default_factory=dict)
    harmless: Mapping[str, Mapping[str, Harmless]] = field(default_factory=dict)
    remedies: Mapping[str, str] = field(default_factory=dict)

    def excludes(self, shape: str, member: str) -> bool:
        """Return whether no handler reads the member."""
        return member in self.refused.get(shape, "").split() or member in self.harmless.get(shape, ())


_ONE_PAGE = Harmless("Everything fits into one page, which is the answer; there is never a token to go on from.")
_WHOLE = Harmless("It makes answers smaller or says more: the whole answer includes what is asked for.")
_EFFECTIVE = Harmless("Athena decides it from the selected version; Terraform sends back what it has read.")
_ENGINE_LOG = Harmless("It is for an engine's own audit log; it does not change answers.")
_STATUS = Harmless("It asks for the status of views that are being created: here they are stored at once.")
_ONE_CATALOG = Harmless("An account has one catalog, whatever is asked.")
_ORIGIN = {"RequestOrigin": Harmless("It says which program asks.")}
_SESSION_REQUESTS = (
    *("CancelStatementRequest", "DeleteSessionRequest", "GetSessionRequest", "GetStatementRequest", "ListSessionsRequest"),
    *("ListStatementsRequest", "RunStatementRequest", "StopSessionRequest"),
)
_WHOLE_TABLES = Harmless("There are credentials for tables of which the caller may read all, which each type supports.")
_AUDIT = Harmless("The audit log has the whole request.")
_PAGED = {"MaxResults": _ONE_PAGE, "NextToken": _ONE_PAGE}
_FIRST_PAGE = "Leave it out: the first page is the whole answer."
_PROPERTIES = "Put them into ConnectionProperties."

EXCLUSIONS: Mapping[str, Exclusions] = {
    "athena": Exclusions(
        refused={
            "ListEngineVersionsInput": "NextToken",
            "ListTagsForResourceInput": "NextToken",
            "StartQueryExecutionInput": "EngineConfiguration",
            "WorkGroupConfiguration": "AdditionalConfiguration CustomerContentEncryptionConfiguration EngineConfiguration "
            "ExecutionRole IdentityCenterConfiguration MonitoringConfiguration "
            "QueryResultsS3AccessGrantsConfiguration SystemTableStatuses",
            "WorkGroupConfigurationUpdates": "AdditionalConfiguration CustomerContentEncryptionConfiguration "
            "EngineConfiguration ExecutionRole MonitoringConfiguration QueryResultsS3AccessGrantsConfiguration "
            "RemoveCustomerContentEncryptionConfiguration",
        },
        harmless={
            "DeleteDataCatalogInput": {
                "DeleteCatalogOnly": Harmless("A data catalog of type GLUE has nothing beside itself.")
            },
            "EngineVersion": {"EffectiveEngineVersion": _EFFECTIVE},
            "ListDatabasesInput": {"AttributesToGet": _WHOLE},
            "ListEngineVersionsInput": {"MaxResults": _ONE_PAGE},
            "ListTableMetadataInput": {"AttributesToGet": _WHOLE},
            "ListTagsForResourceInput": {"MaxResults": _ONE_PAGE},
        },
        remedies={
            "EngineConfiguration": "Leave it out: there is one engine, which sizes itself.",
            "NextToken": _FIRST_PAGE,
        },
    ),
    "cloudtrail": Exclusions(
        refused={
            "LookupEventsRequest": "EventCategory",
        },
        remedies={
            "EventCategory": "Leave it out: only management events are recorded.",
        },
    ),
    "glue": Exclusions(
        refused={
            "BatchDeleteTableRequest": "TransactionId",
            "CatalogTarget": "ConnectionName DlqEventQueueArn EventQueueArn",
            "ConnectionInput": "AthenaProperties AuthenticationConfiguration PythonProperties SparkProperties "
            "ValidateCredentials ValidateForComputeEnvironments",
            "ConnectionPasswordEncryption": "AwsKmsKeyId",
            "CrawlerTargets": "HudiTargets MongoDBTargets",
            "CreateCrawlerRequest": "CrawlerSecurityConfiguration LakeFormationConfiguration",
            "CreateJobRequest": "CodeGenConfigurationNodes MaintenanceWindow SourceControlDetails",
            "CreateTableRequest": "TransactionId",
            "CreateTriggerRequest": "EventBatchingCondition",
            "DatabaseInput": "FederatedDatabase",
            "DeleteTableRequest": "TransactionId",
            "DeltaTarget": "ConnectionName",
            "EncryptionAtRest": "CatalogEncryptionServiceRole SseAwsKmsKeyId",
            "EncryptionConfiguration": "DataQualityEncryption",
            "GetCatalogsRequest": "NextToken",
            "GetConnectionRequest": "ApplyOverrideForComputeEnvironment",
            "GetPartitionIndexesRequest": "NextToken",
            "GetPartitionsRequest": "QueryAsOfTime TransactionId",
            "GetTableRequest": "QueryAsOfTime TransactionId",
            "GetTablesRequest": "QueryAsOfTime TransactionId",
            "IcebergTarget": "ConnectionName",
            "JobCommand": "Runtime",
            "JobUpdate": "CodeGenConfigurationNodes MaintenanceWindow SourceControlDetails",
            "ListCrawlsRequest": "NextToken",
            "ListTableOptimizerRunsRequest": "NextToken",
            "S3Target": "ConnectionName DlqEventQueueArn EventQueueArn",
            "StartJobRunRequest": "ExecutionRoleSessionPolicy",
            "TableInput": "FederatedTable ViewDefinition",
            "TableOptimizerConfiguration": "vpcConfiguration",
            "TriggerUpdate": "EventBatchingCondition Name",
            "UpdateCrawlerRequest": "CrawlerSecurityConfiguration LakeFormationConfiguration",
            "UpdateTableRequest": "TransactionId UpdateOpenTableFormatInput ViewUpdateAction",
        },
        harmless={
            "BatchGetPartitionRequest": {"AuditContext": _ENGINE_LOG, "QuerySessionContext": _ENGINE_LOG},
            "CreateSessionRequest": {
                **_ORIGIN,
                "SessionType": Harmless("There are statements, and no Spark Connect.", frozenset({"LIVY"})),
            },
            "GetCatalogsRequest": dict.fromkeys(("HasDatabases", "MaxResults", "Recursive"), _ONE_CATALOG),
            "GetPartitionRequest": {"AuditContext": _ENGINE_LOG},
            "GetPartitionsRequest": {"AuditContext": _ENGINE_LOG},
            "GetSchemaVersionsDiffInput": {"SchemaDiffType": Harmless("AWS has one kind of diff.")},
            "GetTableRequest": {"AuditContext": _ENGINE_LOG, "IncludeStatusDetails": _STATUS},
            "GetTableVersionRequest": {"AuditContext": _ENGINE_LOG},
            "GetTableVersionsRequest": {"AuditContext": _ENGINE_LOG},
            "GetTablesRequest": {"AuditContext": _ENGINE_LOG, "IncludeStatusDetails": _STATUS},
            "LineageConfiguration": {
                "CrawlerLineageSettings": Harmless("No lineage is recorded.", frozenset({"DISABLE"})),
            },
            "ListCrawlsRequest": {"MaxResults": Harmless("A crawler keeps its latest 50 crawls, which are one page.")},
            "ListTableOptimizerRunsRequest": {"MaxResults": Harmless("There are no runs to page through.")},
            "PutResourcePolicyRequest": {
                "EnableHybrid": Harmless("It allows a policy beside grants of Lake Formation, of which there are none."),
            },
            "SearchTablesRequest": {"IncludeStatusDetails": _STATUS},
            "UpdateTableRequest": {"Force": Harmless("It waives rules on views, which are not checked here.")},
            "UserDefinedFunctionInput": {
                "GovernanceMode": Harmless("IAM policies control access.", frozenset({"IAM_ONLY"})),
            },
            **dict.fromkeys(_SESSION_REQUESTS, _ORIGIN),
        },
        remedies={
            "ApplyOverrideForComputeEnvironment": "Leave it out: connections have one set of properties.",
            "AthenaProperties": _PROPERTIES,
            "AuthenticationConfiguration": "Put the login into ConnectionProperties, such as KAFKA_SASL_SCRAM_SECRETS_ARN.",
            "AwsKmsKeyId": "Leave it out: the master key seals what is sealed.",
            "CodeGenConfigurationNodes": "Leave it out, and give the script: jobs are not generated from a drawing.",
            "DataQualityEncryption": "Leave it out, and encrypt the disks of the lake and of the server's home.",
            "EventBatchingCondition": "Leave it out: triggers of the type EVENT are not served.",
            "ExecutionRoleSessionPolicy": "Leave it out: a run has all rights of its job's role.",
            "HudiTargets": "S3Targets are served.",
            "MaintenanceWindow": "Leave it out: jobs are not restarted for maintenance.",
            "MongoDBTargets": "S3Targets are served.",
            "NextToken": _FIRST_PAGE,
            "PythonProperties": _PROPERTIES,
            "QueryAsOfTime": "Leave it out: GetTableVersions lists the earlier states of a table.",
            "Runtime": "Leave it out: it is Ray's.",
            "SourceControlDetails": "Leave it out: scripts are in the lake.",
            "SparkProperties": _PROPERTIES,
            "SseAwsKmsKeyId": "Leave it out: the master key seals what is sealed.",
            "TransactionId": "Leave it out: governed tables are not served, and AWS has ended them.",
            "UpdateOpenTableFormatInput": "Write the table's metadata with the client (Iceberg, Spark) instead.",
            "ValidateCredentials": "Leave it out: the first job that uses the connection fails if they are wrong.",
            "vpcConfiguration": "Leave it out: there is no VPC.",
        },
    ),
    "iam": Exclusions(
        refused={
            "ListServiceSpecificCredentialsRequest": "AllUsers ServiceName",
            "SimulateCustomPolicyRequest": "OrderedOrganizationPolicyInputList ResourceHandlingOption",
            "SimulatePrincipalPolicyRequest": "PolicyExclusionList ResourceHandlingOption",
        },
        harmless={
            "ContextEntry": {"ContextKeyType": Harmless("A key's values are compared as the condition's operator says.")},
        },
    ),
    "lakeformation": Exclusions(
        refused={
            "BatchPermissionsRequestEntry": "Condition",
            "GetTemporaryGlueTableCredentialsRequest": "QuerySessionContext",
            "GrantPermissionsRequest": "Condition",
            "ListResourcesRequest": "FilterConditionList",
            "RegisterResourceRequest": "ExpectedResourceOwnerAccount WithPrivilegedAccess",
            "Resource": "AnyResource RLSPolicy UserDefinedFunction",
            "RevokePermissionsRequest": "Condition",
            "UpdateResourceRequest": "ExpectedResourceOwnerAccount",
        },
        harmless={
            "BatchPermissionsRequestEntry": {"Id": Harmless("It comes back with the entry if that fails.")},
            "GetResourceLFTagsRequest": {"ShowAssignedLFTags": _WHOLE},
            "GetTemporaryGluePartitionCredentialsRequest": {
                "SupportedPermissionTypes": _WHOLE_TABLES,
                "AuditContext": _AUDIT,
            },
            "GetTemporaryGlueTableCredentialsRequest": {"SupportedPermissionTypes": _WHOLE_TABLES, "AuditContext": _AUDIT},
            "ListDataCellsFilterRequest": _PAGED,
            "ListLFTagExpressionsRequest": _PAGED,
            "ListLFTagsRequest": {**_PAGED, "ResourceShareType": _WHOLE},
            "ListPermissionsRequest": {"IncludeRelated": _WHOLE},
            "ListResourcesRequest": _PAGED,
            "SearchDatabasesByLFTagsRequest": _PAGED,
            "SearchTablesByLFTagsRequest": _PAGED,
        },
    ),
    "logs": Exclusions(
        refused={
            "CreateLogGroupRequest": "deletionProtectionEnabled",
            "DescribeLogGroupsRequest": "accountIdentifiers includeLinkedAccounts logGroupClass logGroupIdentifiers "
            "logGroupNamePattern",
            "DescribeLogStreamsRequest": "logGroupIdentifier",
            "FilterLogEventsRequest": "filterPattern logGroupIdentifier startFromHead unmask",
            "GetLogEventsRequest": "logGroupIdentifier unmask",
        },
        harmless={"FilterLogEventsRequest": {"interleaved": Harmless("Events of all streams are interleaved, as in AWS.")}},
        remedies={
            "filterPattern": "Leave it out, and search the events that are returned.",
            "logGroupIdentifier": "Give logGroupName.",
            "logGroupIdentifiers": "Give logGroupNamePrefix.",
            "logGroupNamePattern": "Give logGroupNamePrefix.",
        },
    ),
    "organizations": Exclusions(
        refused={
            "ListTagsForResourceRequest": "NextToken",
        },
        harmless={"CreateAccountRequest": {"IamUserAccessToBilling": Harmless("There are no bills.")}},
        remedies={
            "NextToken": _FIRST_PAGE,
        },
    ),
    "resourcegroupstaggingapi": Exclusions(
        refused={
            "GetResourcesInput": "ExcludeCompliantResources IncludeComplianceDetails TagsPerPage",
        },
        remedies={
            "TagsPerPage": "Give ResourcesPerPage.",
        },
    ),
    "secretsmanager": Exclusions(
        refused={
            "CreateSecretRequest": "AddReplicaRegions CrossAccountPrimaryARN ForceOverwriteReplicaSecret Type",
            "PutSecretValueRequest": "RotationToken",
            "RotateSecretRequest": "ExternalSecretRotationMetadata ExternalSecretRotationRoleArn",
            "UpdateSecretRequest": "Type",
        },
        remedies={
            "AddReplicaRegions": "Leave it out: a server is one region; use its backups for copies.",
            "RotationToken": "Leave it out: a rotation function signs with credentials of its own.",
            "Type": "Leave it out: secrets of other services are stored like any other.",
        },
    ),
    "sts": Exclusions(
        refused={
            "AssumeRoleRequest": "MinimumSessionTokenSize ProvidedContexts SerialNumber SourceIdentity Tags TokenCode "
            "TransitiveTagKeys",
            "AssumeRoleWithWebIdentityRequest": "MinimumSessionTokenSize ProviderId",
            "GetFederationTokenRequest": "MinimumSessionTokenSize Tags",
            "GetSessionTokenRequest": "MinimumSessionTokenSize SerialNumber TokenCode",
        },
    ),
}
